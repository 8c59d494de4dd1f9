-- KEYS[2] is the list of overrides. ARGV 5: the record. An empty source leaves that which is stored.
if source == '' and ARGV[1] == '' then return answer('refused') end
redis.call('RPUSH', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], 'source', ARGV[1] ~= '' and ARGV[1] or source, 'number', ARGV[2], 'grant', ARGV[3], 'step', '0', 'call', '')
return answer('done')
