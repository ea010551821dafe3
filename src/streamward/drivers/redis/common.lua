-- What all scripts share: where things are, and how a batch is read, written and sealed. Rules: insight/batch.py.
-- Times are whole microseconds, which a double holds exactly; in keys that people read they are seconds.
-- KEYS 1: open batches by the end of their window. All other names follow from it, and have the same hash tag: all of a tenant is in one slot.
-- ARGV 1: now.

local window_key = KEYS[1]
local tag = string.sub(window_key, 1, -(#'batches:window' + 1)) -- `{tenant}:`
local idle_key = tag .. 'batches:idle'
local sealed_key = tag .. 'batches:sealed'
local prefix = tag .. 'batch:'
local now = tonumber(ARGV[1])
local KEY_TTL = 3600 -- seconds; S2-18
local CLOSING_TTL = 300 -- seconds; S2-19
local MANY = 1000 -- values in one command: the stack of Lua is short

local PARTS = {
  'camera_id', 'detections', 'started_at', 'last_activity', 'pipeline_start_time', 'first_made_at',
  'closing', 'closed_at', 'close_reason',
}

local function of(id, part)
  return prefix .. id .. ':' .. part
end

-- As `keys.encoded` does it.
local function encoded(text)
  if not string.find(text, '[^%w_.~-]') then
    return text
  end
  return (string.gsub(text, '[^%w_.~-]', function(sign) return string.format('%%%02X', string.byte(sign)) end))
end

local function seconds(micros)
  return string.format('%d.%06d', math.floor(micros / 1e6), micros % 1e6)
end

local function micros(text)
  local whole, fraction = string.match(text or '', '^(%d+)%.(%d%d%d%d%d%d)$')
  return whole and tonumber(whole) * 1e6 + tonumber(fraction)
end

-- In the form of RFC 3339; Redis has no calendar for scripts.
local function instant(moment)
  local whole = math.floor(moment / 1e6)
  local days, rest = math.floor(whole / 86400) + 719468, whole % 86400
  local era = math.floor(days / 146097)
  local day = days - era * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
  local of_year = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153)
  local date = string.format(
    '%04d-%02d-%02d',
    year + era * 400 + (month > 9 and 1 or 0),
    month > 9 and month - 9 or month + 3,
    of_year - math.floor((153 * month + 2) / 5) + 1
  )
  local clock = string.format('%02d:%02d:%02d', math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60)
  local fraction = moment % 1e6
  return date .. 'T' .. clock .. (fraction > 0 and string.format('.%06d', fraction) or '') .. 'Z'
end

-- One command for many values, in as few calls as it takes.
local function in_pieces(command, key, values)
  for first = 1, #values, MANY do
    redis.call(command, key, unpack(values, first, math.min(first + MANY - 1, #values)))
  end
end

-- A key lives as long as the longest-lived thing in it.
local function keep(key, ttl)
  if redis.call('TTL', key) < ttl then
    redis.call('EXPIRE', key, ttl)
  end
end

local function delete(id)
  local keys = {}
  for position, part in ipairs(PARTS) do
    keys[position] = of(id, part)
  end
  redis.call('DEL', unpack(keys))
end

-- What whoever closes a sealed batch is told; nil: it is gone.
local function record(id)
  local told = redis.call(
    'MGET', of(id, 'camera_id'), of(id, 'started_at'), of(id, 'first_made_at'), of(id, 'closed_at'), of(id, 'close_reason')
  )
  local ids = redis.call('LRANGE', of(id, 'detections'), 0, -1)
  for part = 1, 5 do
    if not told[part] then
      return nil
    end
  end
  if #ids == 0 then
    return nil
  end
  return { id, told[1], told[2], told[3], told[4], told[5], ids }
end

-- Whoever is told of a sealed batch has that long to close it.
local function give(id)
  redis.call('ZADD', sealed_key, now, id)
  redis.call('SET', of(id, 'closing'), seconds(now), 'EX', CLOSING_TTL)
  keep(sealed_key, KEY_TTL)
end

-- It grows no more: Active to Closing (S2-36). Whoever calls this tells somebody.
local function seal(id, reason)
  redis.call('ZREM', window_key, id)
  redis.call('ZREM', idle_key, id)
  redis.call('SET', of(id, 'closed_at'), seconds(now), 'EX', KEY_TTL)
  redis.call('SET', of(id, 'close_reason'), reason, 'EX', KEY_TTL)
  for _, part in ipairs({ 'camera_id', 'detections', 'started_at', 'first_made_at' }) do
    keep(of(id, part), KEY_TTL)
  end
end

-- Writes down a batch that is new, or whose earliest frame is earlier than it was (S2-22).
local function write(batch, camera, ttl)
  redis.call('SET', of(batch.id, 'camera_id'), camera, 'EX', ttl)
  redis.call('SET', of(batch.id, 'started_at'), seconds(batch.started), 'EX', ttl)
  redis.call('SET', of(batch.id, 'pipeline_start_time'), instant(batch.first), 'EX', ttl)
  redis.call('SET', of(batch.id, 'first_made_at'), seconds(batch.first), 'EX', ttl)
end

-- Appends what is new in it (S2-14, S2-16).
local function append(batch, ttl)
  in_pieces('RPUSH', of(batch.id, 'detections'), batch.new)
  redis.call('EXPIRE', of(batch.id, 'detections'), ttl)
  redis.call('SET', of(batch.id, 'last_activity'), seconds(batch.last), 'EX', ttl)
end

-- The batch that a camera's detection is in, if it is still there.
local function held(id)
  return id and redis.call('EXISTS', of(id, 'camera_id')) == 1 and id
end

-- Everything of a camera that is sealed and not forgotten, oldest first.
local function sealed_of(places_key)
  local seen, found = {}, {}
  for _, id in ipairs(redis.call('HVALS', places_key)) do
    if not seen[id] then
      seen[id] = true
      local closed_at = micros(redis.call('GET', of(id, 'closed_at')))
      if closed_at then
        found[#found + 1] = { closed_at, id }
      end
    end
  end
  table.sort(found, function(one, other)
    return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2])
  end)
  local ids = {}
  for position, each in ipairs(found) do
    ids[position] = each[2]
  end
  return ids
end

-- Tells of each once, in this order.
local function told(ids)
  local seen, records = {}, {}
  for _, id in ipairs(ids) do
    local found = not seen[id] and record(id)
    seen[id] = true
    if found then
      give(id)
      records[#records + 1] = found
    end
  end
  return records
end
