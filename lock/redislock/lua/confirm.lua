-- KEYS: counter, run. ARGV: replication id of the server, high-water mark, jump.
-- Raises the counter above the mark and by the jump, once for each server that takes over, and confirms it for this server.
-- Returns 1, or 0 if the server has changed again.

local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if id ~= ARGV[1] then return 0 end
if redis.call('GET', KEYS[2]) == id then return 1 end
if greater(ARGV[2], redis.call('GET', KEYS[1]) or '0') then redis.call('SET', KEYS[1], ARGV[2]) end
redis.call('INCRBY', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], id)
return 1
