-- Read before each of the other scripts. KEYS[1] is the mark of the resource: a hash with source, number, grant, step and call. It has no
-- time to live and is never deleted. ARGV: source, number, grant, step.

-- greater compares decimal numbers without leading zeros. As Lua numbers they would lose digits above 2^53.
local function greater(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local stored = redis.call('HMGET', KEYS[1], 'source', 'number', 'grant', 'step', 'call')
local source, number, grant, step = stored[1] or '', stored[2] or '0', stored[3] or '', stored[4] or '0'

-- answer returns what was done, the mark as it was before, and what the commands have replied.
local function answer(what, replies)
  return {what, source, number, grant, step, replies or {}}
end

-- run runs the commands that begin at an index of ARGV: each is the number of its words, and the words. It stops at the first error.
local function run(at)
  local replies = {}
  while ARGV[at] do
    local words = {}
    for i = 1, tonumber(ARGV[at]) do words[i] = ARGV[at + i] end
    at = at + 1 + #words
    local reply = redis.pcall(unpack(words))
    if type(reply) == 'table' and reply.err then return replies, reply.err end
    if type(reply) == 'table' and reply.ok then reply = reply.ok end
    replies[#replies + 1] = reply
  end
  return replies, nil
end
