-- Closing line of wrk for bench/forward.sh, separated by tabs:
-- requests, microseconds, failures, p50 and p99 in microseconds.
function done(summary, latency)
    local errors = summary.errors
    local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format("RESULT\t%d\t%d\t%d\t%d\t%d\n", summary.requests, summary.duration, failures,
        latency:percentile(50), latency:percentile(99)))
end
