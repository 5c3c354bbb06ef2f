//! Traces by OpenTelemetry, without secrets (`docs/reference/logging.md#traces`).

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use pyxis_testkit::upstream::{Received, Upstream};
use serde_json::json;

use crate::support::{SECRET, Site};

/// An OTLP receiver, and a site whose program sends to it.
async fn traced() -> (Upstream, Site) {
    let collector = Upstream::http().await;
    let site = Site::new_with_env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url("")).await;
    (collector, site)
}

fn spans(exports: &[Received]) -> Vec<Span> {
    let decode = |export: &Received| {
        assert_eq!(
            (export.target.as_str(), export.header("content-type")),
            ("/v1/traces", Some("application/x-protobuf"))
        );
        ExportTraceServiceRequest::decode(export.body.clone()).unwrap()
    };
    let scopes =
        exports.iter().map(decode).flat_map(|export| export.resource_spans).flat_map(|all| all.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => Some(text.clone()),
        Any::IntValue(number) => Some(number.to_string()),
        other => panic!("{key}: {other:?}"),
    }
}

#[track_caller]
fn find_span<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let all: Vec<_> = spans.iter().map(|span| &span.name).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name} among {all:?}"))
}

#[tokio::test]
async fn a_forwarded_request_is_one_trace_below_the_callers_without_anything_secret() {
    let (collector, mut site) = traced().await;
    site.policy(&json!({"auto_approve_methods": ["GET"]})).await;
    let caller = "4bf92f3577b34da6a3ce929d0e0e4736";
    let call = site.forward("GET", "/path-canary?token=query-canary").header("x-px-reason", "reason-canary");
    let call = call.header("traceparent", &format!("00-{caller}-00f067aa0ba902b7-01"));
    call.send().await.forwarded(200);
    assert!(site.app.stop().await.success());

    let exports = collector.requests();
    let spans = spans(&exports);
    let mine: Vec<Span> =
        spans.into_iter().filter(|span| pyxis_core::hex::encode(&span.trace_id) == caller).collect();
    let (request, judge, upstream) =
        (find_span(&mine, "POST /forward"), find_span(&mine, "judge"), find_span(&mine, "upstream"));
    assert_eq!(pyxis_core::hex::encode(&request.parent_span_id), "00f067aa0ba902b7");
    assert_eq!((&judge.parent_span_id, &upstream.parent_span_id), (&request.span_id, &request.span_id));
    assert_eq!(attribute(request, "http.response.status_code").as_deref(), Some("200"));
    assert_eq!(attribute(judge, "rule").as_deref(), Some("auto_method"));
    assert_eq!(attribute(upstream, "server.address").as_deref(), Some("127.0.0.1"));
    assert_eq!(attribute(upstream, "http.response.status_code").as_deref(), Some("200"));
    let sent: Vec<u8> = exports.iter().flat_map(|export| export.body.to_vec()).collect();
    let sent = String::from_utf8_lossy(&sent);
    for canary in [SECRET, &site.agent.key, "path-canary", "query-canary", "reason-canary", "owner@"] {
        assert!(!sent.contains(canary), "a trace shows {canary}");
    }
    // Not forwarded unless the credential says so.
    assert_eq!(site.upstream.requests()[0].header("traceparent"), None);
}

#[tokio::test]
async fn an_approved_request_is_traced_from_its_execution() {
    let (collector, mut site) = traced().await;
    let txn = site.pause("/x").await;
    site.owner.approve(&txn).await;
    site.agent.outcome(&txn).await;
    assert!(site.app.stop().await.success());
    let spans = spans(&collector.requests());
    let execute = spans
        .iter()
        .find(|span| span.name == "execute" && attribute(span, "pyxis.txn").as_ref() == Some(&txn))
        .expect("the execution");
    assert_eq!(find_span(&spans, "upstream").parent_span_id, execute.span_id);
    let paused =
        spans.iter().find(|span| attribute(span, "http.response.status_code").as_deref() == Some("202"));
    assert_eq!(attribute(paused.expect("the pause"), "pyxis.txn"), Some(txn));
    // An export is not traced, or each would cause the next.
    let collector = collector.port().to_string();
    assert!(spans.iter().all(|span| attribute(span, "server.port").as_ref() != Some(&collector)));
}

#[tokio::test]
async fn a_collector_that_is_gone_disturbs_nothing_and_is_told_once() {
    let (collector, mut site) = traced().await;
    drop(collector);
    site.pause("/x").await;
    assert!(site.app.stop().await.success());
    assert_eq!(site.app.logs().matches("cannot send traces").count(), 1, "{}", site.app.logs());
}
