-- A batch of one, sealed at once.
-- KEYS 3: where the camera's detections are. ARGV 5…: camera, and of the detection its id, when it was made, a name.

local camera, id, made_at, name = ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8]
local places_key = KEYS[3]

local known = held(redis.call('HGET', places_key, id))
if known then
  return { { known }, told(sealed_of(places_key)) }
end
write({ id = name, started = made_at, last = made_at, new = { id } }, camera, now, key_ttl)
seal(name, 'fast_path')
place(places_key, { id, name }, key_ttl)
return { { name }, told({ name }) }
