-- KEYS: locks. ARGV: TTL in ms, then the grant id for each lock.
-- Returns 1 for each lock that was renewed and 0 for each whose grant is not current.

local answers = {}
for i, key in ipairs(KEYS) do
  local grant, number = parse(redis.call('GET', key))
  answers[i] = 0
  if grant == ARGV[i + 1] and number ~= '' and number ~= 'retired' then
    answers[i] = redis.call('PEXPIRE', key, ARGV[1])
  end
end
return answers
