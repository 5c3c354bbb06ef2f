//! Responses of the proxy as tool results.

use axum::body::Body;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::RETRY_AFTER;
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use pyxis_gateway::agent_tools::message;
use pyxis_gateway::approvals::announcement_record::AnnouncementRecord;
use pyxis_gateway::approvals::edit_record::EditedRecord;
use pyxis_gateway::entry_points::AgentIdentity;
use pyxis_gateway::{self as gateway, Config};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::{Value, json, to_value};

use crate::announcements::Announcements;
use crate::arguments::ArgumentError;
use crate::long_responses::{LongResponses, MAX_INLINE, Rest};
use crate::proxied;
use crate::target_response::TargetResponse;

/// Longest answer of the proxy itself, in bytes. A stored response of 10 MiB is longer in JSON.
const MAX_OWN: usize = 64 * 1024 * 1024;

/// An answer of the proxy.
pub(crate) enum ProxyResponse {
    /// Nothing more will happen.
    Final(CallToolResult),
    /// A person must decide, or the approved request is being sent.
    Pending(PendingApproval),
}

/// Outcome of a request right after it was forwarded.
pub(crate) enum ForwardOutcome {
    /// The target has answered.
    Sent(TargetResponse),
    /// It was not sent, or the result needs more than the response.
    Other(ProxyResponse),
}

impl From<ForwardOutcome> for ProxyResponse {
    fn from(outcome: ForwardOutcome) -> Self {
        match outcome {
            ForwardOutcome::Sent(response) => Self::Final(response.result()),
            ForwardOutcome::Other(answer) => answer,
        }
    }
}

/// A transaction that is not settled.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct PendingApproval {
    /// Transaction id.
    pub(crate) txn_id: String,
    /// `pending` or `approved`.
    pub(crate) status: String,
    /// End of the approval window, RFC 3339.
    pub(crate) expires_at: String,
    /// Rooms and people that were asked.
    #[serde(flatten)]
    pub(crate) announcements: Announcements,
}

impl PendingApproval {
    /// Page on which a person decides.
    pub(crate) fn page(&self, config: &Config) -> String {
        format!("{}/approve/{}", config.base_url, self.txn_id)
    }
}

/// The members of a stored outcome that results are made of.
#[derive(Deserialize)]
struct StoredOutcome {
    #[serde(flatten)]
    waiting: PendingApproval,
    reason: Option<String>,
    response: Option<StoredAnswer>,
    error: Option<String>,
    detail: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct StoredAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    body_encoding: String,
    truncated: bool,
}

/// Reads the response of `/forward`. If a person edited the request, the result says so.
pub(crate) async fn of_forward(
    response: Response<Body>,
    long: &LongResponses,
    agent: &AgentIdentity,
    is_tool: bool,
) -> ForwardOutcome {
    let edited = response.extensions().get::<EditedRecord>().and_then(|edited| to_value(edited).ok());
    let asked = response.extensions().get::<AnnouncementRecord>().and_then(|asked| to_value(asked).ok());
    let mut answer = read_forward(response, long, agent, is_tool).await;
    if let (ForwardOutcome::Other(ProxyResponse::Pending(waiting)), Some(asked)) = (&mut answer, &asked) {
        waiting.announcements = Announcements::read(asked);
    }
    match edited {
        None => answer,
        edited => ForwardOutcome::Other(with_edit(answer.into(), edited)),
    }
}

async fn read_forward(
    response: Response<Body>,
    long: &LongResponses,
    agent: &AgentIdentity,
    is_tool: bool,
) -> ForwardOutcome {
    let (head, body) = response.into_parts();
    if head.headers.contains_key("px-error") {
        return ForwardOutcome::Other(ProxyResponse::Final(refusal(&head, &read_json(body).await)));
    }
    if head.headers.contains_key("px-txn") {
        return ForwardOutcome::Other(match serde_json::from_value(read_json(body).await) {
            Ok(waiting) => ProxyResponse::Pending(waiting),
            Err(error) => {
                ProxyResponse::Final(failure(format!("the proxy's answer cannot be read: {error}")))
            }
        });
    }
    let read = long.read_body(body, is_tool).await;
    let mut body = read.bytes;
    let is_long = body.len() > MAX_INLINE;
    let rest = if is_long && read.is_whole {
        long.store_response(agent, (head.status, &head.headers), body.clone()).await
    } else {
        None
    };
    if is_tool && let Some(message) = message::answer(&body) {
        return ForwardOutcome::Other(ProxyResponse::Final(proxied::result(&message, rest.as_ref())));
    }
    truncate_body(&mut body);
    let truncated = is_long || !read.is_whole;
    ForwardOutcome::Sent(TargetResponse { status: head.status, headers: head.headers, body, truncated, rest })
}

/// Reads the response of `GET /agent/approvals/{txn_id}`. If a person edited the request, the result says so.
pub(crate) async fn of_poll(response: Response<Body>) -> ProxyResponse {
    let (head, body) = response.into_parts();
    let mut value = read_json(body).await;
    let edited = value.get_mut("edited").map(Value::take);
    with_edit(read_poll(&head, value), edited)
}

/// Adds what a person changed to a final result.
fn with_edit(answer: ProxyResponse, edited: Option<Value>) -> ProxyResponse {
    let Some(edited) = edited.filter(Value::is_object) else { return answer };
    let ProxyResponse::Final(mut result) = answer else { return answer };
    let said =
        "A person edited this request before it was decided. `edited` has the difference to what you sent.";
    result.content.push(ContentBlock::text(format!("{said}\n{}", edited["difference"])));
    let data = result.structured_content.get_or_insert_with(|| json!({}));
    if data.is_object() {
        data["edited"] = edited;
    }
    ProxyResponse::Final(result)
}

fn read_poll(head: &Parts, value: Value) -> ProxyResponse {
    if !head.status.is_success() {
        return ProxyResponse::Final(refusal(head, &value));
    }
    let outcome: StoredOutcome = match serde_json::from_value(value) {
        Ok(outcome) => outcome,
        Err(error) => {
            return ProxyResponse::Final(failure(format!("the stored outcome cannot be read: {error}")));
        }
    };
    match (outcome.waiting.status.as_str(), outcome.response, outcome.error) {
        ("denied", ..) => {
            let why = outcome.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let detail =
                format!("A person denied this request{why}. Do not send it again without asking your user.");
            ProxyResponse::Final(error_result("approval_denied", &detail, None))
        }
        ("expired", ..) => {
            let detail = "No one decided in time. Nothing was sent.";
            ProxyResponse::Final(error_result("approval_expired", detail, None))
        }
        (_, _, Some(code)) => {
            let detail = outcome.detail.unwrap_or_else(|| format!("the approved request failed: {code}"));
            ProxyResponse::Final(error_result(&code, &detail, outcome.url.as_deref()))
        }
        (_, Some(kept), None) => ProxyResponse::Final(kept.into_result(&outcome.waiting.txn_id)),
        _ => ProxyResponse::Pending(outcome.waiting),
    }
}

impl StoredAnswer {
    /// The response to the approved request `txn`.
    ///
    /// The answer of a tool is known by the id of its message. A server that copies it to another answer only changes
    /// how that one is shown.
    fn into_result(self, txn: &str) -> CallToolResult {
        let mut body = match self.body_encoding.as_str() {
            "base64" => STANDARD.decode(&self.body).unwrap_or_default(),
            _ => self.body.into_bytes(),
        };
        let rest = (body.len() > MAX_INLINE).then(|| Rest { id: txn.to_owned(), length: body.len() });
        if let Some(message) = message::answer(&body) {
            return proxied::result(&message, rest.as_ref());
        }
        truncate_body(&mut body);
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let truncated = self.truncated || rest.is_some();
        TargetResponse { status, headers: header_map(self.headers), body, truncated, rest }.result()
    }
}

/// Stored headers. Each was a header once, so none is left out.
fn header_map(stored: Vec<(String, String)>) -> HeaderMap {
    let parse = |(name, value): (String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    stored.into_iter().filter_map(parse).fold(HeaderMap::new(), |mut headers, (name, value)| {
        headers.append(name, value);
        headers
    })
}

/// Leaves the beginning that fits into a result. Text ends with a whole character.
fn truncate_body(body: &mut Vec<u8>) {
    if body.len() <= MAX_INLINE {
        return;
    }
    body.truncate(MAX_INLINE);
    if let Err(error) = std::str::from_utf8(body)
        && error.error_len().is_none()
    {
        body.truncate(error.valid_up_to());
    }
}

/// A failure that the agent should read.
pub(crate) fn failure(detail: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(detail)])
}

/// An argument that does not fit, with its name in the data.
pub(crate) fn bad_argument(error: &ArgumentError) -> CallToolResult {
    let ArgumentError { field, detail } = error;
    let mut result = error_result("invalid_field", &format!("{field} {detail}"), None);
    if let Some(data) = &mut result.structured_content {
        data["field"] = field.as_str().into();
    }
    result
}

/// A refusal of the gateway that came without a response.
pub(crate) async fn of_error(error: gateway::Error) -> CallToolResult {
    let (head, body) = error.into_response().into_parts();
    refusal(&head, &read_json(body).await)
}

/// The end of a request that its own agent withdrew.
pub(crate) fn withdrawn() -> CallToolResult {
    error_result("approval_expired", "You withdrew this request. Nothing was sent.", None)
}

/// True for the end of a request that no one decided.
pub(crate) fn is_expired(result: &CallToolResult) -> bool {
    result.structured_content.as_ref().is_some_and(|data| data["code"] == "approval_expired")
}

/// The proxy's own refusal: a problem body (RFC 9457), and the time after which the request may be sent again.
pub(crate) fn refusal(head: &Parts, problem: &Value) -> CallToolResult {
    let code = problem["code"].as_str().unwrap_or("unknown");
    let detail =
        problem["detail"].as_str().or_else(|| problem["title"].as_str()).unwrap_or(head.status.as_str());
    let action = problem["agent_action"].as_str().map(|action| format!(" {}.", sentence(action)));
    let action = action.unwrap_or_default();
    let seconds: Option<u64> =
        head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let again = seconds.map(|seconds| format!(" Try again in {seconds} seconds.")).unwrap_or_default();
    let detail = in_arguments(&format!("{detail}.{action}{again}"));
    let mut result = error_result(code, &detail, problem["url"].as_str());
    if let (Some(data), Some(seconds)) = (&mut result.structured_content, seconds) {
        data["retry_after"] = seconds.into();
    }
    result
}

/// Text with an upper-case beginning, for a place after a period.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// A message of the proxy, with the arguments of a tool in place of the headers and paths that they become.
fn in_arguments(message: &str) -> String {
    const TERMS: [(&str, &str); 8] = [
        ("header: X-PX-", "argument: X-PX-"),
        ("header X-PX-", "argument X-PX-"),
        ("X-PX-Credential", "`credential`"),
        ("X-PX-Target", "`url`"),
        ("X-PX-Method", "`method`"),
        ("X-PX-Reason", "`reason`"),
        ("GET /agent/services lists", "The tool services lists"),
        ("with DELETE on their poll_url", "with the tool withdraw"),
    ];
    TERMS.iter().fold(message.to_owned(), |message, (header, argument)| message.replace(header, argument))
}

fn error_result(code: &str, detail: &str, url: Option<&str>) -> CallToolResult {
    let page = url.map(|url| format!(" See {url}")).unwrap_or_default();
    let mut result = failure(format!("Pyxis: {code}: {detail}{page}"));
    result.structured_content =
        Some(json!({ "outcome": "error", "code": code, "detail": detail, "url": url }));
    result
}

/// A body of the proxy itself, as JSON.
pub(crate) async fn read_json(body: Body) -> Value {
    let bytes = axum::body::to_bytes(body, MAX_OWN).await.unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_arguments_of_the_tool_and_no_header() {
        for (detail, action, expected) in [
            (
                "missing header: X-PX-Reason (the policy asks for a reason)",
                None,
                "missing argument: `reason` (the policy asks for a reason).",
            ),
            ("X-PX-Method must be GET or POST", None, "`method` must be GET or POST."),
            ("bad value in header X-PX-Target: x", None, "bad value in argument `url`: x."),
            (
                "no such credential",
                Some("GET /agent/services lists the credentials of this key"),
                "no such credential. The tool services lists the credentials of this key.",
            ),
        ] {
            let problem = json!({"code": "c", "detail": detail, "agent_action": action});
            let (head, ()) = Response::builder().status(400).body(()).unwrap().into_parts();
            let told = refusal(&head, &problem).structured_content.unwrap();
            assert_eq!(told["detail"], expected);
        }
    }

    #[test]
    fn a_refusal_that_ends_by_itself_says_when() {
        let head = Response::builder().status(503).header("retry-after", "5").body(()).unwrap();
        let problem = json!({"code": "unavailable", "detail": "nothing was sent"});
        let told = refusal(&head.into_parts().0, &problem).structured_content.unwrap();
        assert_eq!(told["detail"], "nothing was sent. Try again in 5 seconds.");
        assert_eq!(told["retry_after"], 5);
    }
}
