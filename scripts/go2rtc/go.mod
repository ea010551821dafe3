// What scripts/media_servers builds go2rtc from; go.sum says by what every module is known.
module streamward.test/go2rtc

go 1.24.0

require github.com/AlexxIT/go2rtc v1.9.14
