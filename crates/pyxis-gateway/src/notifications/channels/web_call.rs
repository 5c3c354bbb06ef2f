//! One HTTP request to a server that the operator's settings name.

use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Request, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::preview::visible;
use pyxis_net::body::read_capped;
use tokio::time::timeout;

use super::platform::{Delivery, DeliveryError};

/// Longest time for a call.
const CALL: Duration = Duration::from_secs(15);
/// Largest response, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;
/// Shortest and longest wait that a server can ask for.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_hours(1));
/// The wait where an endpoint limits and does not say for how long.
const LIMITED: Duration = Duration::from_secs(10);
/// Longest words of a server in a message about a problem, in characters.
const WORDS: usize = 200;

pub(super) struct WebResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Sends a request. The operator's own setting says where to, so it may be on a private network. Errors name the host
/// at most, never the rest of the address.
pub(super) async fn exchange(
    net_private: &pyxis_net::Client,
    request: Request<pyxis_net::Body>,
) -> Delivery<WebResponse> {
    let answering = async {
        let response = net_private.send(request, CALL).await?;
        let (head, body) = response.into_parts();
        let body = read_capped(body, MAX_RESPONSE).await?;
        Ok::<_, pyxis_net::Error>(WebResponse { status: head.status, headers: head.headers, body })
    };
    match timeout(CALL, answering).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(DeliveryError::Failed(error.to_string())),
        Err(_) => Err(DeliveryError::Failed("no response in time".to_owned())),
    }
}

/// The wait that a response asks for, in seconds or as a date; without one, `default`.
pub(super) fn wait_asked(headers: &HeaderMap, now: UnixMillis, default: Duration) -> Duration {
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::trim);
    let wait = asked.and_then(|text| {
        let seconds = text.parse().ok().map(Duration::from_secs);
        seconds.or_else(|| UnixMillis::parse_http_date(text).map(|at| at.since(now)))
    });
    wait.unwrap_or(default).clamp(WAITS.0, WAITS.1)
}

/// Outcome of a post to an endpoint. The response's words are left out, since they could repeat the URL.
pub(super) fn posted(answer: &WebResponse, now: UnixMillis) -> Delivery<()> {
    let status = answer.status.as_u16();
    match answer.status {
        found if found.is_success() => Ok(()),
        StatusCode::TOO_MANY_REQUESTS => Err(DeliveryError::Later(wait_asked(&answer.headers, now, LIMITED))),
        StatusCode::REQUEST_TIMEOUT => Err(DeliveryError::Failed(format!("it responded with {status}"))),
        found if found.is_server_error() => Err(DeliveryError::Failed(format!("it responded with {status}"))),
        found if found.is_redirection() => {
            Err(DeliveryError::Refused(format!("it responded with {status}; redirects are not followed")))
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::GONE => {
            let remedy = "check its URL in the settings";
            Err(DeliveryError::Refused(format!("it responded with {status}: {remedy}")))
        }
        _ => Err(DeliveryError::Refused(format!("it responded with {status}"))),
    }
}

/// Words of a server within a sentence.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(WORDS).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_when_to_come_again_within_reason() {
        let (now, default) = (UnixMillis(1_767_225_600_000), Duration::from_secs(10));
        let wait = |value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            wait_asked(&headers, now, default).as_secs()
        };
        for (value, seconds) in [
            ("7", 7),
            (" 30 ", 30),
            ("0", 1),
            ("99999999999999", 3600),
            ("Thu, 01 Jan 2026 00:01:00 GMT", 60),
            ("Thu, 01 Jan 2015 00:01:00 GMT", 1),
            ("soon", 10),
            ("-1", 10),
        ] {
            assert_eq!(wait(value), seconds, "{value}");
        }
        assert_eq!(wait_asked(&HeaderMap::new(), now, default), default);
    }
}
