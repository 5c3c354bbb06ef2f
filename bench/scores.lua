-- Random addresses of those that bench/scores.sh or bench/models.sh stored: 0x and the number in 40
-- hexadecimal digits. Arguments: how many there are, and the path before the address.
local addresses = 1
local path = "/v2/stamps/1/score/"
local id = 0

function setup(thread)
    thread:set("number", id)
    id = id + 1
end

function init(arguments)
    addresses = tonumber(arguments[1]) or 1
    path = arguments[2] or path
    math.randomseed(number * 7919 + os.time())
end

function request()
    return wrk.format("GET", string.format("%s0x%040x", path, math.random(addresses)))
end

-- As in forward.lua.
function done(summary, latency)
    local errors = summary.errors
    local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format("RESULT\t%d\t%d\t%d\t%d\t%d\n", summary.requests, summary.duration, failures,
        latency:percentile(50), latency:percentile(99)))
end
