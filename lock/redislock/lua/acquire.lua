-- KEYS: lock, counter, run. ARGV: grant id, holder, TTL in ms.
-- Returns {"granted", number}, {"held", number, holder, ms left}, {"retired", successor}, or {"promoted", replication id} if the
-- server is not the one that the counter was last confirmed for.
--
-- Scripts are not rolled back, so the lock is set last: a counter that cannot be raised leaves nothing behind.

local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if redis.call('GET', KEYS[3]) ~= id then return {'promoted', id} end

local grant, number, holder = parse(redis.call('GET', KEYS[1]))
if number == 'retired' then return {'retired', holder} end
if number ~= '' then
  if grant ~= ARGV[1] then return {'held', number, holder, redis.call('PTTL', KEYS[1])} end
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'granted', number}
end

redis.call('INCR', KEYS[2])
number = redis.call('GET', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1] .. '\n' .. number .. '\n' .. ARGV[2], 'PX', ARGV[3])
return {'granted', number}
