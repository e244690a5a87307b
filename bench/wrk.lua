-- One body after the other, from a file with a body in each line. Arguments: the file, the method, the first line.
local requests = {}
local at = 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format(arguments[2], nil, { ["Content-Type"] = "application/json" }, line)
  end
  at = tonumber(arguments[3]) % #requests
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\n{"count":%d,"elapsedUs":%d,"p50Us":%d,"p99Us":%d,"errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
