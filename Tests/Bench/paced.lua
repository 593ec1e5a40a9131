-- Requests at a fixed rate: wrk … -s paced.lua URL -- SCRIPT RATE. The script makes the requests, RATE is of all connections.
--
-- Each free connection takes the next moment that a request is due. If none is free in time, the request is late. What `done`
-- prints is the 99th percentile of the replies' times plus that of the lateness, so that a stall counts for all whom it delays.
local ffi = require("ffi")
ffi.cdef "typedef struct { long seconds, nanoseconds; } bench_time; int clock_gettime(int, bench_time *);"
local threads, time, monotonic = {}, ffi.new("bench_time"), 1

local function now() -- in ms
  ffi.C.clock_gettime(monotonic, time)
  return tonumber(time.seconds) * 1e3 + tonumber(time.nanoseconds) / 1e6
end

function setup(thread) table.insert(threads, thread) end

function init(args)
  dofile(args[1])
  rate, due, taken, lateness = tonumber(args[2]), now(), 0, {}
end

function delay()
  local at = now()
  due, taken = due + 1e3 / rate, taken + 1
  if due < at then table.insert(lateness, at - due) end
  return math.max(0, due - at)
end

function done(summary, latency)
  local late, taken = threads[1]:get("lateness"), threads[1]:get("taken")
  table.sort(late, function(a, b) return a > b end)
  local p99 = latency:percentile(99) / 1e3 + (late[math.floor(taken / 100) + 1] or 0)
  local achieved = summary.requests / summary.duration * 1e6
  print(string.format("paced %.0f of %.0f p99 %.3f", achieved, threads[1]:get("rate"), p99))
end
