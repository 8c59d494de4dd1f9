-- ARGV 5: the call, the same when it is sent again. From ARGV 6 on: the commands that write.
if source ~= ARGV[1] or number ~= ARGV[2] or grant ~= ARGV[3] then return answer('refused') end
if step == ARGV[4] and stored[5] == ARGV[5] then return answer('done before') end
if not greater(ARGV[4], step) then return answer('refused') end
local replies, err = run(6)
-- Redis undoes nothing: what ran before the error stands, and must not run again.
if err and #replies == 0 then return {'failed', err, '0'} end
redis.call('HSET', KEYS[1], 'step', ARGV[4], 'call', ARGV[5])
if err then return {'failed', err, tostring(#replies)} end
return answer('done', replies)
