-- KEYS: lock, counter. ARGV: the successor's source.
-- Returns {"retired", highest number}, {"held", number, holder, ms left}, or {"other", successor}.

local grant, number, holder = parse(redis.call('GET', KEYS[1]))
if number == 'retired' then
  if holder ~= ARGV[1] then return {'other', holder} end
elseif number ~= '' then
  return {'held', number, holder, redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], '\nretired\n' .. ARGV[1])
return {'retired', redis.call('GET', KEYS[2]) or '0'}
