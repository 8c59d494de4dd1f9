-- KEYS: lock, waiters. ARGV: process, ms after which the waiters are forgotten.
-- Returns 1 if the lock is free now, or 0 after it has noted that the process waits.

local _, number = parse(redis.call('GET', KEYS[1]))
if number == '' or number == 'retired' then return 1 end
local now = redis.call('TIME')
redis.call('ZADD', KEYS[2], 'NX', now[1] .. string.format('%06d', now[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 0
