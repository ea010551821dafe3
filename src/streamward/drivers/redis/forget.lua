-- Takes away batches that are written down; one that is not sealed here is left alone.
-- ARGV 2…: their names.

for position = 2, #ARGV do
  local id = ARGV[position]
  redis.call('ZREM', sealed_key, id)
  if redis.call('EXISTS', of(id, 'closed_at')) == 1 then
    local camera = redis.call('GET', of(id, 'camera_id'))
    local places_key = of(encoded(camera or ''), 'places')
    for _, detection in ipairs(redis.call('LRANGE', of(id, 'detections'), 0, -1)) do
      if redis.call('HGET', places_key, detection) == id then
        redis.call('HDEL', places_key, detection)
      end
    end
    delete(id)
  end
end
