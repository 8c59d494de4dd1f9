-- Read before each of the other scripts, which are functions of a lock's value.
--
-- A lock's value is three lines: grant id, number, holder. A released one has no number; it stays for a few seconds so that a
-- release that is sent twice is recognized. One that was handed over has the number "retired" and the successor as the holder.

local function parse(value)
  if not value then return nil, '', '' end
  return string.match(value, '^([^\n]*)\n([^\n]*)\n(.*)$')
end

-- greater compares decimal numbers without leading zeros. As Lua numbers they would lose digits above 2^53.
local function greater(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

-- wake tells the process that has waited longest. It is only told to try, so nothing depends on whether it hears it.
local function wake(waiters, channel, resource)
  for _ = 1, 8 do
    local first = redis.call('ZPOPMIN', waiters)[1]
    if not first or redis.call('PUBLISH', channel .. first, resource) > 0 then return end
  end
end
