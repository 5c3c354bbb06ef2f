//! OTLP logs over HTTP with protobuf.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::Request;
use http::header::CONTENT_TYPE;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use pyxis_core::hex;
use pyxis_net::{Client, body};
use pyxis_store::audit::AuditRow;

use crate::config::audit_destination::PushHeaders;

/// Longest wait for the receiver's answer.
const ANSWER: Duration = Duration::from_secs(8);
/// Largest answer that is read, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// Sends a batch. It counts as received with any status of success.
pub(super) async fn send(net: &Client, url: &str, headers: &PushHeaders, page: &[AuditRow]) -> Result<()> {
    let request = Request::post(url).header(CONTENT_TYPE, "application/x-protobuf");
    let mut request = request.body(body::full(export(page).encode_to_vec()))?;
    headers.add_to(request.headers_mut());
    let response = net.send(request, ANSWER).await.context("cannot reach the OTLP receiver")?;
    let status = response.status();
    let answer = body::read_capped(response.into_body(), MAX_RESPONSE).await.unwrap_or_default();
    if matches!(status.as_u16(), 401 | 403) {
        bail!("the OTLP receiver responded with {status}: check PX_AUDIT_PUSH_HEADERS");
    }
    if !status.is_success() {
        bail!("the OTLP receiver responded with {status}");
    }
    let refused = ExportLogsServiceResponse::decode(answer).ok().and_then(|answer| answer.partial_success);
    if let Some(refused) = refused.filter(|refused| refused.rejected_log_records > 0) {
        // To be sent again would change nothing, and hold up all others.
        let count = refused.rejected_log_records;
        tracing::error!(count, why = refused.error_message, "the OTLP receiver refused audit records");
    }
    Ok(())
}

fn export(page: &[AuditRow]) -> ExportLogsServiceRequest {
    let name = attribute("service.name", Any::StringValue("pyxis".to_owned()));
    let version = attribute("service.version", Any::StringValue(env!("CARGO_PKG_VERSION").to_owned()));
    let resource = Resource { attributes: vec![name, version], ..Resource::default() };
    let scope = ScopeLogs { log_records: page.iter().map(log).collect(), ..ScopeLogs::default() };
    let logs = ResourceLogs { resource: Some(resource), scope_logs: vec![scope], ..ResourceLogs::default() };
    ExportLogsServiceRequest { resource_logs: vec![logs] }
}

fn log(row: &AuditRow) -> LogRecord {
    let nanos = u64::try_from(row.record.at.0).unwrap_or(0).saturating_mul(1_000_000);
    LogRecord {
        time_unix_nano: nanos,
        observed_time_unix_nano: nanos,
        severity_number: SeverityNumber::Info.into(),
        severity_text: "INFO".to_owned(),
        body: Some(AnyValue { value: Some(Any::StringValue(super::to_json(row).to_string())) }),
        attributes: vec![
            attribute("pyxis.audit.seq", Any::IntValue(row.seq)),
            attribute("pyxis.audit.mac", Any::StringValue(hex::encode(&row.mac))),
            attribute("pyxis.audit.event", Any::StringValue(row.record.event.name().to_owned())),
        ],
        ..LogRecord::default()
    }
}

fn attribute(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
