//! OpenTelemetry traces, for a collector that the operator configures.
//!
//! Spans of the target [`TARGET`] are traces and never log lines. They record metadata (route, method, host, rule,
//! status) and never content: no path, query, header, body, name or reason. Without a collector their level is off, and
//! a span costs one check of a number.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, KeyValue};
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;
use tracing::{Instrument, Span, field};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The target of every span that is a trace.
pub const TARGET: &str = "pyxis::trace";

/// Longest wait for the collector's answer.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest wait for the last spans when the process ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer of a collector that is read, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// The export of spans to the collector; ends with [`Traces::finish`].
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts sending to `endpoint` (an OTLP base URL) through `net`. Must be called on the runtime that `net` should
    /// use.
    pub fn start(endpoint: &str, net: pyxis_net::Client) -> Result<Self> {
        let outlet = Outlet { net, runtime: tokio::runtime::Handle::current(), failing: Arc::default() };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(outlet)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .build()
            .context("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource());
        Ok(Self(provider.build()))
    }

    /// The tracer that turns spans into traces.
    pub fn tracer(&self) -> SdkTracer {
        self.0.tracer("pyxis")
    }

    /// Sends the remaining spans, for a few seconds at most.
    pub async fn finish(self) {
        let done = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(CLOSE_TIMEOUT)).await;
        if let Ok(Err(error)) = done {
            tracing::warn!(%error, "cannot send the last traces to the collector");
        }
    }
}

/// The service name: as configured by the operator (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`), otherwise pyxis.
fn resource() -> Resource {
    let named = Resource::builder().build().get(&Key::new("service.name")).map(|name| name.to_string());
    let own = named.is_none_or(|name| name.starts_with("unknown_service"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    if own { builder.with_service_name("pyxis").build() } else { builder.build() }
}

/// Sends exports through the one HTTP client, like everything else. The exporter calls from its own thread, so the
/// request runs on the server's runtime.
#[derive(Clone)]
struct Outlet {
    net: pyxis_net::Client,
    runtime: tokio::runtime::Handle,
    /// True if the last export failed, so that a failure is logged once, not with every batch.
    failing: Arc<AtomicBool>,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outlet")
    }
}

impl Outlet {
    async fn send(self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, HttpError> {
        let answer = self.net.send(request.map(pyxis_net::body::full), ANSWER).await?;
        let (head, body) = answer.into_parts();
        let body = tokio::time::timeout(ANSWER, pyxis_net::body::read_capped(body, MAX_RESPONSE)).await??;
        if head.status.is_success() {
            Ok(http::Response::from_parts(head, body))
        } else {
            Err(format!("the collector responded with {}", head.status).into())
        }
    }

    fn record_outcome(&self, outcome: Result<(), &HttpError>) {
        let failed = self.failing.swap(outcome.is_err(), Ordering::Relaxed);
        if let Err(error) = outcome
            && !failed
        {
            tracing::warn!(%error, "cannot send traces to the collector; they are dropped");
        }
    }
}

impl HttpClient for Outlet {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        // Not traced itself, or each export would cause the next.
        let sending = self.clone().send(request).with_subscriber(NoSubscriber::default());
        let sending = self.runtime.spawn(sending);
        Box::pin(async move {
            let sent = sending.await?;
            self.record_outcome(sent.as_ref().map(drop));
            sent
        })
    }
}

/// A span for every request, below the caller's own if it names one (W3C Trace Context).
pub async fn request(request: Request, next: Next) -> Response {
    let span = of_request(&request);
    let response = next.run(request).instrument(span.clone()).await;
    record(&span, &response);
    response
}

fn of_request(request: &Request) -> Span {
    let route = request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str);
    let method = request.method().as_str();
    let span = tracing::trace_span!(
        target: TARGET,
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = field::Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = field::Empty,
        pyxis.error = field::Empty,
        pyxis.request_id = field::Empty,
        pyxis.txn = field::Empty,
    );
    let caller = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
    // It fails only if no one listens to the span.
    let _ = span.set_parent(caller);
    span
}

fn record(span: &Span, response: &Response) {
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    // An upstream's own headers of these names are removed, so these come from Pyxis.
    for (header, name) in
        [("px-error", "pyxis.error"), ("x-request-id", "pyxis.request_id"), ("px-txn", "pyxis.txn")]
    {
        if let Some(value) = text(response.headers(), header) {
            span.record(name, value);
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
