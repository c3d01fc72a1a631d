/**
 * Takes units of several allowances at once, or of none. Each is a sliding window: the count of this window and the rest of the one before.
 *   KEYS  for each: this window's counter, the one before.
 *   ARGV  for each: the limit, the share of the window before that still counts, its expiry in ms, units needed, units wanted, and what the
 *         instance owes in this window and in the one before (units that it let pass unasked, less those of an earlier lease that it gives back).
 *   Says  [1, units granted, …], or [0, what is left beyond the need, …] where a negative figure refuses.
 * A lease is at most an eighth of what is left, so that near the limit nobody sits on the rest.
 */
export const leaseUnits = `
local answer = { 1 }
local count = #KEYS / 2
for i = 1, count do
  local a = (i - 1) * 7
  local used = tonumber(redis.call("GET", KEYS[i * 2 - 1]) or "0") + tonumber(ARGV[a + 6])
  local before = tonumber(redis.call("GET", KEYS[i * 2]) or "0")
  if ARGV[a + 7] ~= "0" then
    before = math.max(0, before + tonumber(ARGV[a + 7]))
    redis.call("SET", KEYS[i * 2], before, "PX", ARGV[a + 3])
  end
  answer[i + 1] = tonumber(ARGV[a + 1]) - math.floor(before * tonumber(ARGV[a + 2])) - used
  if answer[i + 1] < tonumber(ARGV[a + 4]) then answer[1] = 0 end
end
for i = 1, count do
  local a = (i - 1) * 7
  local left, need, charge = answer[i + 1], tonumber(ARGV[a + 4]), tonumber(ARGV[a + 6])
  if answer[1] == 1 then
    answer[i + 1] = math.min(tonumber(ARGV[a + 5]), math.max(need, math.floor(left / 8)))
    charge = charge + answer[i + 1]
  else
    answer[i + 1] = left - need
  end
  if charge ~= 0 then
    redis.call("INCRBY", KEYS[i * 2 - 1], charge)
    redis.call("PEXPIRE", KEYS[i * 2 - 1], ARGV[a + 3])
  end
end
return { unpack(answer) } -- the in-process imitation of Redis cannot answer with a table that was filled by index
`;
