-- Visits random slugs at a fixed rate, and prints percentiles. Arguments: number of slugs; requests a second; the
-- directory of slugs.lua, whose requests are sent with a browser's headers; round.
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds, nanoseconds; } timespec;
  int clock_gettime(int clock, timespec *time);
]]
local time, interval, due = ffi.new("timespec"), 0, 0

local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

function init(args)
  dofile(args[3] .. "/slugs.lua")
  init({ args[1], "browser", args[4], [0] = args[0] })
  interval = 1 / tonumber(args[2])
end

-- Milliseconds, in which wrk counts: at 10,000 requests a second, ten are sent together.
function delay()
  local at = now()
  due = math.max(due + interval, at - 0.01)
  return math.max(0, math.ceil((due - at) * 1000))
end

function done(summary, latency, requests)
  io.write(string.format("     99.9%%  %.2fus\n", latency:percentile(99.9)))
end
