//! A request that waits for approval, as text for a terminal.

use std::fmt::Write;
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::preview::visible;
use serde_json::{Value, json};

use crate::commands::out;

/// Lines of a body that are shown.
const MAX_LINES: usize = 24;
/// Characters of a body that are shown.
const MAX_CHARS: usize = 2000;

/// Prints the pending requests and proposed tasks for a program.
pub(super) fn json_list(pending: &[Value], proposed: &[Value], now: UnixMillis) {
    out::json(&pending.iter().chain(proposed).map(|item| with_times(item, now)).collect());
}

/// Prints the pending requests.
pub(super) fn list(pending: &[Value], now: UnixMillis) {
    let rows: Vec<Value> = pending.iter().map(|request| row(request, now)).collect();
    let columns = ["txn", "method", "target", "agent", "credential", "age", "time_left", "approvals"];
    out::list(false, "pending requests", &columns, &rows);
}

/// The server's members, with the times that a person would work out.
fn with_times(request: &Value, now: UnixMillis) -> Value {
    let mut request = request.clone();
    let (age, left) = times(&request, now);
    request["age_secs"] = age.map(|age| age.as_secs()).into();
    request["secs_left"] = left.map(|left| left.as_secs()).into();
    request
}

fn row(request: &Value, now: UnixMillis) -> Value {
    let (age, left) = times(request, now);
    let needs = if request["passkey_required"] == true { " (passkey)" } else { "" };
    json!({
        "txn": request["txn_id"],
        "method": request["method"],
        "target": host_and_path(request),
        "agent": request["agent_name"],
        "credential": request["credential_name"],
        "age": age.map(short),
        "time_left": left.map(short),
        "approvals": format!("{} of {}{needs}", approvals(request), request["min_approvals"]),
    })
}

/// Time since the request came, and time until it expires.
pub(super) fn times(request: &Value, now: UnixMillis) -> (Option<Duration>, Option<Duration>) {
    let at = |member: &str| request[member].as_str().and_then(UnixMillis::parse_rfc3339);
    (at("created_at").map(|at| now.since(at)), at("expires_at").map(|at| at.since(now)))
}

/// Host and path of the target.
fn host_and_path(request: &Value) -> String {
    let target = request["target"].as_str().unwrap_or_default();
    let place = target.split_once("://").map_or(target, |(_, place)| place);
    place.split(['?', '#']).next().unwrap_or_default().to_owned()
}

fn approvals(request: &Value) -> usize {
    let votes = request["votes"].as_array();
    votes.map_or(0, |votes| votes.iter().filter(|vote| vote["verdict"] == "approve").count())
}

/// A duration in one or two units.
pub(super) fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m"),
        3600..86400 => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

/// The request that an approval would send, with its context.
pub(super) fn request(request: &Value, now: UnixMillis) -> String {
    let mut text = String::new();
    let mut field = |label: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{label:<12}{}", out::on_one_line(value));
    };
    let member = |name: &str| request[name].as_str().unwrap_or_default();
    field("request", &format!("{} {}", member("method"), member("target")));
    field("agent", member("agent_name"));
    field("credential", member("credential_name"));
    if let Some(reason) = request["reason"].as_str() {
        field("reason", reason);
    }
    let pattern = request["pattern"].as_str().map(|pattern| format!(" ({pattern})")).unwrap_or_default();
    field("rule", &format!("{}{pattern}", member("rule")));
    if let Some(content) = request["content"].as_str() {
        field("content", content);
    }
    for header in request["headers"].as_array().into_iter().flatten() {
        let part = |at: usize| header[at].as_str().unwrap_or_default();
        field("header", &format!("{}: {}", part(0), part(1)));
    }
    let (age, left) = times(request, now);
    if let (Some(age), Some(left)) = (age, left) {
        field("waiting", &format!("{}, {} left", short(age), short(left)));
    }
    if request["min_approvals"].as_u64() > Some(1) {
        field("approvals", &format!("{} of {}", approvals(request), request["min_approvals"]));
    }
    for name in request["exposes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        field("warning", &format!("the request contains the secret of the stored credential {name}"));
    }
    body(&mut text, request);
    text.trim_end().to_owned()
}

/// The start of the body, without characters that a terminal acts on.
fn body(text: &mut String, request: &Value) {
    let bytes = request["body_bytes"].as_u64().unwrap_or_default();
    if bytes == 0 {
        return;
    }
    let kind = out::on_one_line(request["content_type"].as_str().unwrap_or("no type"));
    let content = request["body"]["content"].as_str().unwrap_or_default();
    if request["body"]["encoding"] == "base64" {
        let _ = writeln!(text, "body        {bytes} bytes, {kind}; not text");
        return;
    }
    let start: String = content.chars().take(MAX_CHARS).collect();
    let lines: Vec<&str> = start.split('\n').collect();
    let whole = start.len() == content.len() && lines.len() <= MAX_LINES;
    let part = if whole { "" } else { ", shortened; the page shows all of it" };
    let _ = writeln!(text, "body        {bytes} bytes, {kind}{part}");
    for line in lines.into_iter().take(MAX_LINES) {
        let line: String = line.chars().map(visible).collect();
        let _ = writeln!(text, "  {}", line.trim_end());
    }
}

/// The requests that a grant would let through.
pub(super) fn grant(request: &Value, seconds: u64, agent_only: bool, max_uses: Option<i64>) -> String {
    let member = |name: &str| out::on_one_line(request[name].as_str().unwrap_or_default());
    let agent = if agent_only { format!(" of {}", member("agent_name")) } else { String::new() };
    let uses = max_uses.map(|uses| format!(", at most {}", out::count_noun(uses, "time")));
    let place = out::on_one_line(&host_and_path(request));
    let method = member("method");
    let time = short(Duration::from_secs(seconds));
    let coverage = &request["grant_coverage"];
    let covered = match (coverage["covered"].as_u64(), coverage["looked_at"].as_u64()) {
        (Some(covered), Some(looked)) => {
            format!(
                "\n            It would have covered {covered} of the last {}.",
                out::count_noun(looked, "request")
            )
        }
        _ => String::new(),
    };
    format!(
        "grant       every {method}{agent} to {place} for {time}{}, with any query and body{covered}",
        uses.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting() -> Value {
        json!({
            "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11", "method": "POST",
            "target": "https://api.example.com/pay?to=me", "agent_name": "bot", "credential_name": "bank",
            "reason": "pay\nthe \u{1b}[2Jbill", "rule": "default", "headers": [["x-account", "7"]],
            "body_bytes": 5000, "content_type": "text/plain",
            "body": {"encoding": "utf-8", "content": "a\u{1b}[31mb\n".repeat(40)},
            "exposes": ["github"], "min_approvals": 2, "votes": [{"verdict": "approve"}],
            "passkey_required": false,
            "created_at": "2026-01-31T09:00:00Z", "expires_at": "2026-01-31T10:30:00Z",
        })
    }

    fn now() -> UnixMillis {
        UnixMillis::parse_rfc3339("2026-01-31T09:05:00Z").unwrap()
    }

    #[test]
    fn a_request_is_shown_without_characters_that_a_terminal_acts_on_and_its_body_is_shortened() {
        let shown = request(&waiting(), now());
        assert!(!shown.contains('\u{1b}'), "{shown}");
        for line in [
            "request     POST https://api.example.com/pay?to=me",
            "header      x-account: 7",
            "waiting     5m, 1h 25m left",
            "approvals   1 of 2",
            "warning     the request contains the secret of the stored credential github",
            "body        5000 bytes, text/plain, shortened; the page shows all of it",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
        }
        assert!(shown.lines().any(|line| line.starts_with("reason      pay the ")), "{shown}");
        assert!(shown.lines().count() <= MAX_LINES + 12, "{shown}");
    }

    #[test]
    fn a_row_of_the_inbox_has_age_and_time_left_and_no_query() {
        let row = row(&waiting(), now());
        assert_eq!((&row["target"], &row["age"]), (&json!("api.example.com/pay"), &json!("5m")));
        assert_eq!((&row["time_left"], &row["approvals"]), (&json!("1h 25m"), &json!("1 of 2")));
        let times = with_times(&waiting(), now());
        assert_eq!((&times["age_secs"], &times["secs_left"]), (&json!(300), &json!(5100)));
    }

    #[test]
    fn durations_have_one_or_two_units() {
        let of = |seconds| short(Duration::from_secs(seconds));
        assert_eq!((of(0), of(59), of(60)), ("0s".to_owned(), "59s".to_owned(), "1m".to_owned()));
        assert_eq!((of(5400), of(90_000)), ("1h 30m".to_owned(), "1d 1h".to_owned()));
    }
}
