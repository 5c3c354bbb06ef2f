//! The server's own responses, for tools that know nothing of Pyxis.

use http::header::RETRY_AFTER;
use http::{HeaderMap, Response, StatusCode};
use hyper::body::Incoming;
use pyxis_net::body::{Body, boxed, read_capped};
use serde_json::Value;

use crate::headers::end_to_end;
use crate::refusal::ProxyRefusal;

/// Longest own response of the server, in bytes.
const MAX_OWN: usize = 1024 * 1024;

/// True if the server answered itself: it refused, or a person must decide.
pub(crate) fn is_own(headers: &HeaderMap) -> bool {
    headers.contains_key("px-error") || headers.contains_key("px-txn")
}

/// The server's response, for the command.
pub(crate) async fn to_response(response: Response<Incoming>) -> Result<Response<Body>, ProxyRefusal> {
    let (mut head, body) = response.into_parts();
    if is_own(&head.headers) {
        return Err(read(head.status, &head.headers, body).await);
    }
    head.headers = end_to_end(head.headers);
    head.version = http::Version::default();
    head.extensions.clear();
    Ok(Response::from_parts(head, boxed(body)))
}

/// An own response of the server, as a refusal. A tool would take a 202 for success, and a 401 for a question about its
/// own credentials; both become 403.
pub(crate) async fn read(status: StatusCode, headers: &HeaderMap, body: Incoming) -> ProxyRefusal {
    let body = read_capped(body, MAX_OWN).await.unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    if let Some(code) = header("px-error") {
        let status = if status == StatusCode::UNAUTHORIZED { StatusCode::FORBIDDEN } else { status };
        let mut refusal = ProxyRefusal::new(status, &code, explanation(&code, &value));
        refusal.txn = header("px-txn").or_else(|| value["txn_id"].as_str().map(str::to_owned));
        refusal.retry_after = headers.get(RETRY_AFTER).cloned();
        return refusal;
    }
    let hint = value["agent_hint"].as_str().unwrap_or("A person must approve this request");
    let txn = header("px-txn").unwrap_or_default();
    let until = value["expires_at"].as_str().map(|until| format!(", until {until}")).unwrap_or_default();
    let detail = format!(
        "{hint}. Then run the same command again: it gets the outcome of this request. (transaction {txn}{until})"
    );
    let mut refusal = ProxyRefusal::new(StatusCode::FORBIDDEN, "approval_pending", detail);
    refusal.txn = Some(txn);
    refusal.retry_after = headers.get(RETRY_AFTER).cloned();
    refusal
}

/// The problem in sentences: what is wrong, what to do, and where.
fn explanation(code: &str, problem: &Value) -> String {
    let detail = problem["detail"].as_str().or_else(|| problem["title"].as_str()).unwrap_or(code);
    let more = |member: &str, before: &str| {
        problem[member].as_str().map(|text| format!("{before}{text}.")).unwrap_or_default()
    };
    let (reason, action) = (more("reason", " Their reason: "), more("agent_action", " Next: "));
    let page = problem["url"].as_str().map(|url| format!(" See {url}")).unwrap_or_default();
    in_words_of_http(&format!("{detail} ({code}).{reason}{action}{page}"))
}

/// A message of the server without the headers that this proxy set. The tool sent a method and a URL.
fn in_words_of_http(message: &str) -> String {
    const TERMS: [(&str, &str); 7] = [
        ("X-PX-Method must be", "the method of the request must be"),
        ("header: X-PX-Target", "URL"),
        ("header X-PX-Target", "the URL"),
        ("header X-PX-Method", "the method"),
        ("X-PX-Method", "the method"),
        ("X-PX-Target", "the URL"),
        ("X-PX-Credential", "the credential"),
    ];
    TERMS.iter().fold(message.to_owned(), |message, (header, word)| message.replace(header, word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_names_no_header_that_the_tool_did_not_send() {
        let problem = json!({"detail": "X-PX-Method must be GET or POST"});
        let told = explanation("invalid_method", &problem);
        assert_eq!(told, "the method of the request must be GET or POST (invalid_method).");
        let reason = json!({"detail": "missing header: X-PX-Reason"});
        assert!(explanation("missing_header", &reason).contains("X-PX-Reason"), "the tool may send this one");
    }
}
