//! The decision to send a request again, as a function of what came of it.

use std::time::Duration;

use jiff::Timestamp;

use crate::message::{NoResponse, Response};
use crate::repeat::Repeat;

/// Share of a delay that is added at random, so that many clients do not come back together.
const SPREAD: f64 = 0.25;

/// Number and delays of repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts altogether; 0 and 1 repeat nothing.
    pub attempts: u32,
    /// Delay before the second attempt. Each delay is twice the one before.
    pub first_delay: Duration,
    /// Longest delay that grows this way.
    pub max_delay: Duration,
    /// Longest `Retry-After` that is waited for. If the server asks for more, the error is returned at once.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_mins(1),
        }
    }
}

/// The decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    Again(Duration),
    Final,
    /// Another attempt would be allowed, had there been fewer.
    Exhausted,
}

/// Decides after attempt number `attempt`, from 1. `jitter` is 0 to 1.
pub(crate) fn decide(
    policy: &RetryPolicy,
    repeat: Repeat,
    result: Result<&Response, &NoResponse>,
    attempt: u32,
    jitter: f64,
    now: Timestamp,
) -> RetryDecision {
    if !may_repeat(repeat, result) {
        return RetryDecision::Final;
    }
    if attempt >= policy.attempts {
        return RetryDecision::Exhausted;
    }
    let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
    let delay = policy.first_delay.saturating_mul(factor).min(policy.max_delay);
    let wanted = result.ok().and_then(|response| retry_after(response, now)).unwrap_or_default();
    if wanted > policy.max_retry_after {
        return RetryDecision::Final;
    }
    RetryDecision::Again(delay.max(wanted) + delay.mul_f64(SPREAD * jitter.clamp(0.0, 1.0)))
}

fn may_repeat(repeat: Repeat, result: Result<&Response, &NoResponse>) -> bool {
    match result {
        Err(lack) => !lack.permanent && (repeat.after_silence || !lack.may_have_arrived),
        Ok(response) => {
            let code = response.header("px-error");
            repeat.statuses.contains(&response.status)
                || code.is_some_and(|code| repeat.codes.contains(&code))
        }
    }
}

/// The time of `Retry-After`, which is a number of seconds or a date. `None` if it is missing or neither.
pub(crate) fn retry_after(response: &Response, now: Timestamp) -> Option<Duration> {
    let text = response.header("retry-after")?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(moment.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repeat::{CHANGE, FORWARD_ONCE, FORWARD_SAFE, POLL, READ};

    fn start() -> Timestamp {
        "2026-01-31T09:05:00Z".parse().unwrap()
    }

    fn status(status: u16, headers: &[(&str, &str)]) -> Response {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Response { status, headers, ..Response::default() }
    }

    fn lack(may_have_arrived: bool, permanent: bool) -> NoResponse {
        NoResponse { reason: String::new(), may_have_arrived, timed_out: false, permanent }
    }

    fn verdict(
        repeat: Repeat,
        result: Result<&Response, &NoResponse>,
        attempt: u32,
        jitter: f64,
    ) -> RetryDecision {
        decide(&RetryPolicy::default(), repeat, result, attempt, jitter, start())
    }

    fn retry_in(milliseconds: u64) -> RetryDecision {
        RetryDecision::Again(Duration::from_millis(milliseconds))
    }

    #[test]
    fn each_delay_is_twice_the_one_before_and_the_fifth_attempt_is_the_last() {
        let silence = lack(true, false);
        let verdicts: Vec<_> = (1..=5).map(|attempt| verdict(READ, Err(&silence), attempt, 0.0)).collect();
        assert_eq!(
            verdicts,
            [retry_in(500), retry_in(1000), retry_in(2000), retry_in(4000), RetryDecision::Exhausted]
        );
        let many = RetryPolicy { attempts: u32::MAX, ..RetryPolicy::default() };
        assert_eq!(decide(&many, READ, Err(&silence), 1000, 0.0, start()), retry_in(30_000));
    }

    #[test]
    fn jitter_adds_up_to_a_quarter() {
        assert_eq!(verdict(READ, Err(&lack(true, false)), 1, 1.0), retry_in(625));
        assert_eq!(
            verdict(READ, Err(&lack(true, false)), 1, 0.5),
            RetryDecision::Again(Duration::from_micros(562_500))
        );
    }

    #[test]
    fn only_what_is_safe_is_sent_again() {
        let error = |code: u16, name| status(code, &[("px-error", name)]);
        let responses = [
            (READ, status(429, &[]), true),
            (READ, status(502, &[]), true),
            (READ, status(503, &[]), true),
            (READ, status(504, &[]), true),
            (READ, status(500, &[]), false),
            (READ, status(404, &[]), false),
            (READ, status(200, &[]), false),
            (POLL, error(503, "busy"), true),
            (POLL, error(404, "not_found"), false),
            (CHANGE, status(503, &[]), false),
            (FORWARD_ONCE, error(429, "rate_limited"), true),
            (FORWARD_ONCE, error(503, "unavailable"), true),
            (FORWARD_ONCE, error(409, "idempotency_in_progress"), false),
            (FORWARD_SAFE, error(409, "idempotency_in_progress"), true),
            // The upstream's own, which are the result.
            (FORWARD_SAFE, status(429, &[]), false),
            (FORWARD_SAFE, status(503, &[]), false),
            // Executed, or perhaps executed.
            (FORWARD_SAFE, error(502, "outcome_unknown"), false),
            (FORWARD_SAFE, error(504, "upstream_timeout"), false),
            // Only a person ends these.
            (FORWARD_SAFE, error(429, "too_many_pending"), false),
        ];
        for (repeat, response, expected) in responses {
            let found = verdict(repeat, Ok(&response), 1, 0.0) != RetryDecision::Final;
            assert_eq!(found, expected, "{repeat:?} {response:?}");
        }
        let lacks = [
            (READ, lack(true, false), true),
            (READ, lack(false, true), false),
            (CHANGE, lack(true, false), false),
            (CHANGE, lack(false, false), true),
            (FORWARD_ONCE, lack(true, false), false),
            (FORWARD_ONCE, lack(false, false), true),
            (FORWARD_SAFE, lack(true, false), true),
        ];
        for (repeat, lack, expected) in lacks {
            let found = verdict(repeat, Err(&lack), 1, 0.0) != RetryDecision::Final;
            assert_eq!(found, expected, "{repeat:?} {lack:?}");
        }
    }

    #[test]
    fn retry_after_is_the_least_pause_and_a_long_one_is_left_to_the_caller() {
        for (text, expected) in [
            ("7", retry_in(7000)),
            ("0", retry_in(500)),
            ("60", retry_in(60_000)),
            ("61", RetryDecision::Final),
        ] {
            assert_eq!(verdict(READ, Ok(&status(429, &[("retry-after", text)])), 1, 0.0), expected, "{text}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let cases = [
            (" 12 ", Some(12)),
            ("Sat, 31 Jan 2026 09:06:30 GMT", Some(90)),
            ("Sat, 31 Jan 2026 09:03:30 GMT", Some(0)),
            ("99999999999999999999999", Some(u64::from(u32::MAX))),
            ("-5", None),
            ("soon", None),
            ("1e9", None),
            ("", None),
        ];
        for (text, seconds) in cases {
            let found = retry_after(&status(429, &[("retry-after", text)]), start());
            assert_eq!(found, seconds.map(Duration::from_secs), "{text}");
        }
    }
}
