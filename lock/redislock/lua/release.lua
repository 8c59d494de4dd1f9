-- KEYS: lock, waiters. ARGV: grant id, channel prefix, resource, ms for which the release is remembered.
-- Returns 1 if the grant was current or was released and nobody followed, else 0.

local grant, number = parse(redis.call('GET', KEYS[1]))
if grant ~= ARGV[1] or number == 'retired' then return 0 end
if number ~= '' then
  redis.call('SET', KEYS[1], grant .. '\n\n', 'PX', ARGV[4])
  wake(KEYS[2], ARGV[2], ARGV[3])
end
return 1
