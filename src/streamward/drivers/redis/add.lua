-- Puts detections where they belong, as `insight.batch.add` does: of one camera after the other.
-- ARGV 2…: of each camera its id, lane, window, idle, reach, most, and how many; and of each detection its id, when it was
-- made, and a name for a batch that opens for it.

local Camera = {}
Camera.__index = Camera

local function camera_of(id, limits)
  local at = encoded(id)
  return setmetatable({
    id = id,
    limits = limits,
    keys = { current = of(at, 'current'), aside = of(at, 'aside'), places = of(at, 'places') },
    batches = {}, -- by lane; false: none
    placed = {}, -- pairs of detection and batch
    over = {}, -- what is sealed by this, in order
    kept_for = KEY_TTL,
  }, Camera)
end

function Camera:on(lane)
  if self.batches[lane] ~= nil then
    return self.batches[lane]
  end
  self.batches[lane] = false
  local id = redis.call('GET', self.keys[lane])
  local times = id and redis.call('MGET', of(id, 'started_at'), of(id, 'first_made_at'), of(id, 'last_activity'))
  local started, first, last = times and micros(times[1]), times and micros(times[2]), times and micros(times[3])
  if started and first and last then -- otherwise it expired, or was thrown out by a server that is short of memory
    local count = redis.call('LLEN', of(id, 'detections'))
    self.batches[lane] = { id = id, started = started, first = first, last = last, count = count, new = {} }
  end
  return self.batches[lane]
end

-- Why a batch must have been over when a detection was made.
function Camera:ended_before(batch, made_at)
  if made_at >= batch.first + self.limits.window then
    return 'window_timeout'
  elseif made_at > batch.last + self.limits.reach then
    return 'idle_timeout'
  end
end

function Camera:fit(batch, made_at)
  if not batch then
    return nil
  elseif self:ended_before(batch, made_at) then
    return 'after'
  end
  local is_near = batch.first - made_at <= self.limits.reach and batch.last - made_at < self.limits.window
  return is_near and 'joins' or 'before'
end

-- Writes a lane's batch down, when its window ends and after which moment it is idle. What does not change is refreshed before half of its
-- life is over, and always lives until its batch is due.
function Camera:flush(lane)
  local batch = self.batches[lane]
  if not batch or #batch.new == 0 then
    return
  end
  local lag = math.max(0, now - batch.last)
  local window_ends_at = batch.first + self.limits.window + lag
  local closed_by = math.min(window_ends_at, batch.last + self.limits.reach + lag)
  local needed = math.ceil((closed_by - now) / 1e6) + CLOSING_TTL
  local ttl = math.max(KEY_TTL, needed)
  append(batch, ttl)
  if batch.is_moved or redis.call('TTL', self.keys[lane]) < math.max(KEY_TTL / 2, needed) then
    write(batch, self.id, ttl)
    redis.call('SET', self.keys[lane], batch.id, 'EX', ttl)
    self.kept_for = math.max(self.kept_for, ttl)
    self.is_refreshed = true
  end
  redis.call('ZADD', window_key, window_ends_at, batch.id)
  redis.call('ZADD', idle_key, batch.last + self.limits.idle + lag, batch.id)
  batch.new, batch.is_moved = {}, false
end

function Camera:close(lane, reason)
  self:flush(lane)
  local id = self.batches[lane].id
  seal(id, reason)
  redis.call('DEL', self.keys[lane])
  self.over[#self.over + 1] = id
  self.batches[lane] = false
end

function Camera:add(lane, id, made_at, name)
  local batch = self:on(lane)
  local fit = self:fit(batch, made_at)
  if lane == 'current' and fit == 'before' then
    return self:add('aside', id, made_at, name)
  end
  if batch and fit ~= 'joins' then
    self:close(lane, self:ended_before(batch, made_at) or 'out_of_order')
  end
  if not batch or fit ~= 'joins' then
    batch = { id = name, started = now, first = made_at, last = made_at, count = 0, new = {}, is_moved = true }
    self.batches[lane] = batch
  end
  if made_at < batch.first then
    batch.first, batch.is_moved = made_at, true
  end
  batch.last = math.max(batch.last, made_at)
  batch.count = batch.count + 1
  batch.new[#batch.new + 1] = id
  self.placed[#self.placed + 1], self.placed[#self.placed + 2] = id, batch.id
  if batch.count >= self.limits.most then
    self:close(lane, 'max_size')
  end
  return batch.id
end

-- Where each of these is already.
function Camera:known(ids)
  local known = {}
  for first = 1, #ids, MANY do
    local last = math.min(first + MANY - 1, #ids)
    for offset, batch_id in ipairs(redis.call('HMGET', self.keys.places, unpack(ids, first, last))) do
      known[ids[first + offset - 1]] = held(batch_id) or nil
    end
  end
  return known
end

-- Remembers where detections are, so that a repeat changes nothing.
function Camera:remember()
  if #self.placed > 0 then
    in_pieces('HSET', self.keys.places, self.placed)
    if self.is_refreshed then
      keep(self.keys.places, self.kept_for)
    end
  end
end

-- Adds `count` detections that stand in ARGV from `first` on.
local function add(camera, lane, first, count)
  local ids, answer, is_repeat = {}, {}, false
  for position = 1, count do
    ids[position] = ARGV[first + (position - 1) * 3]
  end
  local known = camera:known(ids)
  for position, id in ipairs(ids) do
    local at = first + (position - 1) * 3
    if known[id] then
      is_repeat = true
    else
      known[id] = camera:add(lane, id, tonumber(ARGV[at + 1]), ARGV[at + 2])
    end
    answer[position] = known[id]
  end
  camera:flush('current')
  camera:flush('aside')
  camera:remember()
  if is_repeat then
    for _, id in ipairs(sealed_of(camera.keys.places)) do
      camera.over[#camera.over + 1] = id
    end
  end
  return { answer, told(camera.over) }
end

local answers, at, longest = {}, 2, KEY_TTL
while at <= #ARGV do
  local limits = {
    window = tonumber(ARGV[at + 2]),
    idle = tonumber(ARGV[at + 3]),
    reach = tonumber(ARGV[at + 4]),
    most = tonumber(ARGV[at + 5]),
  }
  local camera, count = camera_of(ARGV[at], limits), tonumber(ARGV[at + 6])
  answers[#answers + 1] = add(camera, ARGV[at + 1], at + 7, count)
  longest = math.max(longest, camera.kept_for)
  at = at + 7 + count * 3
end
for _, key in ipairs({ window_key, idle_key }) do
  if redis.call('EXISTS', key) == 1 then
    keep(key, longest)
  end
end
return answers
