-- ARGV 5: the largest jump, or nothing. From ARGV 6 on: the commands that read.

-- digit returns the digit of a decimal number at a place, counted from its end.
local function digit(number, place)
  if place >= #number then return 0 end
  return tonumber(string.sub(number, #number - place, #number - place))
end

-- sum adds decimal numbers digit by digit.
local function sum(a, b)
  local text, carry = '', 0
  for place = 0, math.max(#a, #b) - 1 do
    local n = digit(a, place) + digit(b, place) + carry
    carry = n >= 10 and 1 or 0
    text = string.format('%d', n - 10 * carry) .. text
  end
  if carry == 1 then text = '1' .. text end
  return text
end

local own = source == ARGV[1] and number == ARGV[2] and grant == ARGV[3]
if not own and (source ~= '' and source ~= ARGV[1] or not greater(ARGV[2], number)) then return answer('refused') end
if not own and ARGV[5] ~= '' and number ~= '0' and greater(ARGV[2], sum(number, ARGV[5])) then return answer('refused') end
local replies, err = run(6)
if err then return {'failed', err, tostring(#replies)} end
if not own then redis.call('HSET', KEYS[1], 'source', ARGV[1], 'number', ARGV[2], 'grant', ARGV[3], 'step', '0', 'call', '') end
return answer('done', replies)
