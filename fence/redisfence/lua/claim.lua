-- ARGV 5: the largest jump, or nothing. From ARGV 6 on: the commands that read.

-- sum adds decimal numbers digit by digit.
local function sum(a, b)
  local digits, carry = {}, 0
  for i = 0, math.max(#a, #b) - 1 do
    local n = (tonumber(string.sub(a, #a - i, #a - i)) or 0) + (tonumber(string.sub(b, #b - i, #b - i)) or 0) + carry
    table.insert(digits, 1, n % 10)
    carry = n >= 10 and 1 or 0
  end
  if carry == 1 then table.insert(digits, 1, 1) end
  return table.concat(digits)
end

local own = source == ARGV[1] and number == ARGV[2] and grant == ARGV[3]
if not own and (source ~= '' and source ~= ARGV[1] or not greater(ARGV[2], number)) then return answer('refused') end
if not own and ARGV[5] ~= '' and number ~= '0' and greater(ARGV[2], sum(number, ARGV[5])) then return answer('refused') end
local replies, err = run(6)
if err then return {'failed', err, tostring(#replies)} end
if not own then redis.call('HSET', KEYS[1], 'source', ARGV[1], 'number', ARGV[2], 'grant', ARGV[3], 'step', '0', 'call', '') end
return answer('done', replies)
