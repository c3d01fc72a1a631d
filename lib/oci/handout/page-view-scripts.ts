/**
 * What happens to page views in Redis, each in one step: a crash or a second script never finds a view half moved. Every key that a
 * script touches is named in KEYS, so that Upstash locks those alone. The queue and the processing set are ordered by when a view happened.
 * Ids are returned as one text with commas: the in-process fallback mixes up longer lists.
 */

/** Both were lists before. What an old list holds counts as seen now. Three days after the last list was written none is left to convert. */
const sorted = `#!lua flags=allow-key-locking
local function sorted(key, now)
  local kind = redis.call('TYPE', key)
  if (kind.ok or kind) ~= 'list' then return end -- the in-process fallback answers with bare text
  local ids = redis.call('LRANGE', key, 0, -1)
  redis.call('DEL', key)
  for _, id in ipairs(ids) do redis.call('ZADD', key, now, id) end
end
`;

/** KEYS queue, processing, data, visitor. ARGV id, viewed at, data, now, oldest, seconds kept, most waiting, most of one visitor. */
export const keepView = `${sorted}
sorted(KEYS[1], ARGV[4])
sorted(KEYS[2], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[5])
if redis.call('ZCARD', KEYS[1]) + redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[7]) then return 0 end
if redis.call('SCARD', KEYS[4]) >= tonumber(ARGV[8]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('SET', KEYS[3], ARGV[3], 'EX', ARGV[6])
redis.call('SADD', KEYS[4], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('EXPIRE', KEYS[4], ARGV[6])
return 1
`;

/** KEYS queue, processing, claims. ARGV site, viewed until, limit, now, oldest, seconds kept. Returns the ids. */
export const takeViews = `${sorted}
sorted(KEYS[1], ARGV[4])
sorted(KEYS[2], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[5])
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local ids = {}
for i = 1, #found, 2 do
  redis.call('ZREM', KEYS[1], found[i])
  redis.call('ZADD', KEYS[2], found[i + 1], found[i])
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1] .. '/' .. found[i])
  ids[#ids + 1] = found[i]
end
redis.call('EXPIRE', KEYS[2], ARGV[6])
return table.concat(ids, ',')
`;

/** KEYS queue, processing, claims, acknowledged, then the data of each id. ARGV site, now, oldest, seconds kept, then the ids. Returns those known. */
export const acknowledgeViews = `${sorted}
sorted(KEYS[1], ARGV[2])
sorted(KEYS[2], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[3])
local known = {}
for i = 5, #ARGV do
  local id = ARGV[i]
  if redis.call('ZREM', KEYS[2], id) + redis.call('ZREM', KEYS[1], id) > 0 then
    redis.call('ZREM', KEYS[3], ARGV[1] .. '/' .. id)
    redis.call('DEL', KEYS[i])
    redis.call('ZADD', KEYS[4], ARGV[2], id)
  end
  if redis.call('ZSCORE', KEYS[4], id) then known[#known + 1] = id end
end
redis.call('EXPIRE', KEYS[4], ARGV[4])
return table.concat(known, ',')
`;

/** KEYS queue, processing, claims. ARGV site, now, oldest, then the ids. Returns how many wait again. */
export const returnViews = `${sorted}
sorted(KEYS[1], ARGV[2])
sorted(KEYS[2], ARGV[2])
local returned = 0
for i = 4, #ARGV do
  local viewed = redis.call('ZSCORE', KEYS[2], ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
  redis.call('ZREM', KEYS[3], ARGV[1] .. '/' .. ARGV[i])
  if viewed and tonumber(viewed) > tonumber(ARGV[3]) then
    redis.call('ZADD', KEYS[1], viewed, ARGV[i])
    returned = returned + 1
  end
end
return returned
`;
