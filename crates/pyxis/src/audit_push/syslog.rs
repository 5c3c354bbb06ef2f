//! Syslog messages (RFC 5424) over TLS (RFC 5425).
//!
//! The protocol has no acknowledgment. A batch counts as received once the receiver has closed the connection
//! after our end of it. An operating system that discards unread data resets the connection instead. A receiver
//! that closes before our end has read nothing for sure; a load balancer without a receiver behind it does that.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::Uri;
use pyxis_core::hex;
use pyxis_net::{Client, HostPort};
use pyxis_store::audit::AuditRow;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// Facility 13 (log audit), severity 6 (informational).
const PRIORITY: u8 = 13 * 8 + 6;
/// Id of the structured data. 32473 is the number for organizations that have none (RFC 5612).
const SD_ID: &str = "pyxis@32473";
/// Time for which our end is held back, so that an end of the receiver that came before it is seen.
pub(super) const EARLY: Duration = Duration::from_millis(250);
/// Longest message id that the protocol allows.
const MAX_MESSAGE_ID: usize = 32;

/// Sends a batch and waits for its end on the other side.
pub(super) async fn send(
    net: &Client,
    host: &str,
    port: u16,
    base_url: &str,
    page: &[AuditRow],
) -> Result<()> {
    let target = HostPort::new(host, port);
    let mut connection = net.tls_tunnel(&target).await.context("cannot connect to the syslog receiver")?;
    connection.write_all(batch(base_url, page).as_bytes()).await.context("cannot send")?;
    ensure!(
        !ends_within(&mut connection, EARLY).await,
        "the syslog receiver closed the connection too early"
    );
    connection.shutdown().await.context("cannot end the connection")?;
    until_closed(&mut connection).await.context("the syslog receiver did not take everything")
}

/// True if the receiver ends or breaks the connection within this time.
async fn ends_within(connection: &mut (impl AsyncRead + Unpin), time: Duration) -> bool {
    tokio::time::timeout(time, until_closed(connection)).await.is_ok()
}

/// Reads to the end. Receivers need not say goodbye in TLS.
async fn until_closed(connection: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut ignored = [0; 1024];
    loop {
        match connection.read(&mut ignored).await {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Messages with their lengths before them (RFC 5425, section 4.3).
fn batch(base_url: &str, page: &[AuditRow]) -> String {
    let uri: Option<Uri> = base_url.parse().ok();
    let origin = uri.as_ref().and_then(Uri::host).unwrap_or("-");
    let mut batch = String::new();
    for row in page {
        let message = message(origin, row);
        let _ = write!(batch, "{} {message}", message.len());
    }
    batch
}

fn message(origin: &str, row: &AuditRow) -> String {
    let record = &row.record;
    let id: String = printable(record.event.name()).take(MAX_MESSAGE_ID).collect();
    let origin: String = printable(origin).take(255).collect();
    let mut message = format!("<{PRIORITY}>1 {} {origin} pyxis - {id} [{SD_ID}", record.at.to_rfc3339());
    let mut parameter = |name: &str, value: &str| {
        let _ = write!(message, " {name}=\"{}\"", escaped(value));
    };
    parameter("seq", &row.seq.to_string());
    parameter("mac", &hex::encode(&row.mac));
    if let Some(seq) = record.ref_seq {
        parameter("ref_seq", &seq.to_string());
    }
    if let Some(workspace) = record.workspace_id {
        parameter("workspace", &workspace.to_string());
    }
    parameter("actor", &record.actor.to_string());
    let _ = write!(message, "] {}", super::to_json(row));
    message
}

/// Characters that names in the head of a message may have.
fn printable(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(char::is_ascii_graphic)
}

/// A value of structured data (RFC 5424, section 6.3.3).
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '"' | '\\' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use pyxis_core::audit_event::AuditEvent;
    use pyxis_core::clock::UnixMillis;
    use pyxis_store::audit::AuditRecord;

    use super::*;

    #[test]
    fn a_message_names_record_and_mac_and_is_preceded_by_its_length() {
        let mut record = AuditRecord::new(UnixMillis(1_769_850_000_123), AuditEvent::RequestCompleted);
        record.ref_seq = Some(6);
        record.detail = r#"{"text":"a \"quote\""}"#.to_owned();
        let row = AuditRow { seq: 7, record, mac: vec![0xab; 32] };
        let sent = batch("https://pyxis.example.org", std::slice::from_ref(&row));
        let (length, message) = sent.split_once(' ').unwrap();
        assert_eq!(length.parse(), Ok(message.len()));
        let head = format!(
            "<110>1 2026-01-31T09:00:00.123Z pyxis.example.org pyxis - request.completed [pyxis@32473 seq=\"7\" \
             mac=\"{}\" ref_seq=\"6\" ",
            "ab".repeat(32)
        );
        assert!(message.starts_with(&head), "{message}");
        let (_, body) = message.split_once("] ").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["seq"], &body["detail"]["text"]), (&7.into(), &"a \"quote\"".into()));
    }

    #[test]
    fn values_cannot_end_their_element() {
        assert_eq!(escaped(r#"a"b]c\d"#), r#"a\"b\]c\\d"#);
    }
}
