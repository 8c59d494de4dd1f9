-- KEYS: counter. ARGV: a number that later grants must exceed.
-- Only ever raises.

local counter = redis.call('GET', KEYS[1]) or '0'
if greater(ARGV[1], counter) then redis.call('SET', KEYS[1], ARGV[1]) end
return 1
