-- Puts detections of one camera where they belong, as `insight.batch.add` does.
-- KEYS 3…5: the camera's two lanes, and where its detections are.
-- ARGV 5…: camera, lane, window, idle, most; then of each detection its id, when it was made, and a name.

local camera, lane = ARGV[5], ARGV[6]
local window, idle, most = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local lane_keys, places_key = { current = KEYS[3], aside = KEYS[4] }, KEYS[5]
local FIRST, EACH = 10, 3

local batches, placed, over = {}, {}, {} -- by lane; pairs of detection and batch; what is sealed by this, in order
local longest = key_ttl

local function read(on)
  local id = redis.call('GET', lane_keys[on])
  if not id then
    return nil
  end
  local times = redis.call('MGET', of(id, 'started_at'), of(id, 'last_activity'))
  local started, last = micros(times[1]), micros(times[2])
  if not (started and last) then
    return nil -- it expired, or was thrown out by a server that is short of memory
  end
  return { id = id, started = started, last = last, count = redis.call('LLEN', of(id, 'detections')), new = {} }
end

local function on_lane(on)
  if batches[on] == nil then
    batches[on] = read(on) or false
  end
  return batches[on]
end

-- Why a batch is over at that moment of the camera's time.
local function over_at(batch, moment)
  if moment >= batch.started + window then
    return 'window_timeout'
  elseif moment >= batch.last + idle then
    return 'idle_timeout'
  end
end

local function fits(batch, made_at)
  if over_at(batch, made_at) then
    return 'after'
  end
  local is_near = batch.started - made_at < idle and batch.last - made_at < window
  return is_near and 'joins' or 'before'
end

-- Writes a lane's batch down, and when a timer is to close it.
local function flush(on)
  local batch = batches[on]
  if not batch or #batch.new == 0 then
    return
  end
  local lag = math.max(0, now - batch.last)
  local window_at = batch.started + window + lag
  local due_at = math.min(window_at, batch.last + idle + lag)
  local ttl = math.max(key_ttl, math.ceil((due_at - now) / 1e6) + closing_ttl)
  write(batch, camera, window_at, ttl)
  redis.call('SET', lane_keys[on], batch.id, 'EX', ttl)
  redis.call('ZADD', due_key, string.format('%.0f', due_at), batch.id)
  keep(due_key, ttl)
  batch.new, longest = {}, math.max(longest, ttl)
end

local function close(on, reason)
  flush(on)
  local batch = batches[on]
  seal(batch.id, reason)
  redis.call('DEL', lane_keys[on])
  over[#over + 1] = batch.id
  batches[on] = false
end

local function add(id, made_at, name)
  local on = lane
  local batch = on_lane(on)
  local fit = batch and fits(batch, made_at)
  if on == 'current' and fit == 'before' then
    on = 'aside'
    batch = on_lane(on)
    fit = batch and fits(batch, made_at)
  end
  if batch and fit ~= 'joins' then
    close(on, over_at(batch, made_at) or 'out_of_order')
    batch = false
  end
  if not batch then
    batch = { id = name, started = made_at, last = made_at, count = 0, new = {} }
    batches[on] = batch
  end
  batch.started, batch.last = math.min(batch.started, made_at), math.max(batch.last, made_at)
  batch.count = batch.count + 1
  batch.new[#batch.new + 1] = id
  placed[#placed + 1], placed[#placed + 2] = id, batch.id
  if batch.count >= most then
    close(on, 'max_size')
  end
  return batch.id
end

local ids = {}
for first = FIRST, #ARGV, EACH do
  ids[#ids + 1] = ARGV[first]
end
local known, is_repeat, answer = {}, false, {}
for first = 1, #ids, MANY do
  local last = math.min(first + MANY - 1, #ids)
  for offset, id in ipairs(redis.call('HMGET', places_key, unpack(ids, first, last))) do
    known[ids[first + offset - 1]] = held(id) or nil
  end
end
for position, id in ipairs(ids) do
  local at = FIRST + (position - 1) * EACH
  if known[id] then
    is_repeat = true
  else
    known[id] = add(id, tonumber(ARGV[at + 1]), ARGV[at + 2])
  end
  answer[position] = known[id]
end
flush('current')
flush('aside')
place(places_key, placed, longest)
if is_repeat then
  for _, id in ipairs(sealed_of(places_key)) do
    over[#over + 1] = id
  end
end
return { answer, told(over) }
