//! The `Keep-Alive` header of HTTP/1.1 hosts: retires an idle connection before its host closes it.
//!
//! If a host closes an idle connection just as a request arrives, it is unclear whether the host read the request.
//! Hosts that announce their idle time (`Keep-Alive: timeout=5`) make that avoidable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderMap, Response, Version};
use hyper_util::client::legacy::connect::{CaptureConnection, Connected};
use tokio::time::{Instant, sleep_until};

/// Safety margin subtracted from the announced time, for the travel time of a request.
const MARGIN: Duration = Duration::from_secs(1);

/// Announced idle time of one connection.
#[derive(Clone)]
pub(crate) struct KeepAlive(Arc<Announced>);

struct Announced {
    start: Instant,
    /// Time at which the connection expires, in milliseconds after `start`.
    end_millis: AtomicU64,
    /// True once a task is waiting for `end_millis`.
    is_watched: AtomicBool,
}

impl KeepAlive {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Announced {
            start: Instant::now(),
            end_millis: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
        }))
    }

    fn end(&self) -> Instant {
        self.0.start + Duration::from_millis(self.0.end_millis.load(Ordering::Relaxed))
    }
}

/// Reads the host's announcement in `answer`, and retires the connection in time. Retiring a connection in use only
/// keeps later requests away from it.
pub(crate) fn schedule_retirement<B>(
    answer: &Response<B>,
    connection: CaptureConnection,
    pool_idle: Duration,
) {
    if answer.version() > Version::HTTP_11 {
        return;
    }
    let Some(announced) = timeout(answer.headers()) else { return };
    let usable = announced.saturating_sub(MARGIN);
    // The pool drops the connection before the host does.
    if usable >= pool_idle {
        return;
    }
    if usable.is_zero() {
        retire(&connection);
        return;
    }
    let Some(state) = answer.extensions().get::<KeepAlive>().cloned() else { return };
    let end = state.0.start.elapsed() + usable;
    state.0.end_millis.store(u64::try_from(end.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    if !state.0.is_watched.swap(true, Ordering::Relaxed) {
        drop(tokio::spawn(watch(state, connection)));
    }
}

async fn watch(state: KeepAlive, connection: CaptureConnection) {
    loop {
        let end = state.end();
        sleep_until(end).await;
        if state.end() <= end {
            return retire(&connection);
        }
    }
}

fn retire(connection: &CaptureConnection) {
    if let Some(connected) = connection.connection_metadata().as_ref() {
        Connected::poison(connected);
    }
}

/// The shortest `timeout` in any line of the header, in whole seconds.
fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all("keep-alive").iter().filter_map(|line| line.to_str().ok());
    let parameters = lines.flat_map(|line| line.split([',', ';']));
    let seconds = parameters.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("timeout").then(|| value.parse().ok()).flatten()
    });
    seconds.min().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(lines: &[&'static str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("keep-alive", HeaderValue::from_static(line));
        }
        timeout(&headers).map(|timeout| timeout.as_secs())
    }

    #[test]
    fn the_idle_time_is_read_in_every_usual_spelling() {
        assert_eq!(read(&["timeout=5"]), Some(5));
        assert_eq!(read(&["timeout=5, max=100"]), Some(5));
        assert_eq!(read(&["max=100; Timeout = \"15\""]), Some(15));
        assert_eq!(read(&["timeout=60", "timeout=5"]), Some(5));
    }

    #[test]
    fn what_is_no_idle_time_changes_nothing() {
        for line in ["", "max=100", "timeout", "timeout=", "timeout=-1", "timeout=soon", "300"] {
            assert_eq!(read(&[line]), None, "{line}");
        }
        assert_eq!(read(&[]), None);
    }
}
