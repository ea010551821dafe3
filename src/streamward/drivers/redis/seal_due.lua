-- Adopts what was sealed long ago and never forgotten, then seals batches whose window has ended and, in a check, those
-- that are idle; of each the most overdue first.
-- ARGV 2…: how many at most, the moment before which who sealed one had to be done, and 1 for a check.

local limit, left_before, is_check = tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local records = {}

-- Takes from a sorted set until there is nothing more, or enough; each turn takes some out of the range.
local function each(key, until_score, visit)
  while #records < limit do
    local ids = redis.call('ZRANGEBYSCORE', key, '-inf', until_score, 'LIMIT', 0, limit - #records)
    if #ids == 0 then
      return
    end
    for _, id in ipairs(ids) do
      records[#records + 1] = visit(id)
    end
  end
end

-- Taking away comes first: a server that is out of memory lets all the rest of a script pass then.
each(sealed_key, left_before, function(id)
  redis.call('ZREM', sealed_key, id)
  return told({ id })[1]
end)

local function close(id, reason)
  redis.call('ZREM', window_key, id)
  redis.call('ZREM', idle_key, id)
  local camera = redis.call('GET', of(id, 'camera_id'))
  if not camera or redis.call('LLEN', of(id, 'detections')) == 0 then
    delete(id)
    return nil
  end
  for _, lane in ipairs({ 'current', 'aside' }) do
    local key = of(encoded(camera), lane)
    if redis.call('GET', key) == id then
      redis.call('DEL', key)
    end
  end
  seal(id, reason)
  return told({ id })[1]
end

each(window_key, now, function(id) return close(id, 'window_timeout') end)
if is_check then
  each(idle_key, '(' .. ARGV[1], function(id) return close(id, 'idle_timeout') end) -- strictly after it
end

return records
