-- A batch of one, sealed at once.
-- ARGV 2…: camera, and of the detection its id, when it was made, and a name.

local camera, id, made_at, name = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local places_key = of(encoded(camera), 'places')

local known = held(redis.call('HGET', places_key, id))
if known then
  return { { known }, told(sealed_of(places_key)) }
end
local batch = { id = name, started = now, first = made_at, last = made_at, new = { id } }
write(batch, camera, KEY_TTL)
append(batch, KEY_TTL)
seal(name, 'fast_path')
redis.call('HSET', places_key, id, name)
keep(places_key, KEY_TTL)
return { { name }, told({ name }) }
