//! Receiver of audit records.

use std::borrow::Cow;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;
use pyxis_core::secret::SecretString;
use pyxis_core::target::{Host, Scheme, Target};

use super::SettingSources;
use super::env::Env;

/// Port of syslog over TLS (RFC 5425).
const SYSLOG_PORT: u16 = 6514;

/// Receiver of audit records.
#[derive(Clone, Debug)]
pub enum AuditDestination {
    /// Syslog messages over TLS.
    Syslog { host: String, port: u16 },
    /// OTLP logs over HTTP: URL of the endpoint, and headers of every request.
    Otlp { url: String, headers: PushHeaders },
}

impl AuditDestination {
    /// `None` unless a receiver is configured.
    pub(super) fn read(source: &SettingSources<'_, impl Env>) -> Result<Option<Self>> {
        let written = source.secret("audit_push_headers")?;
        let read = written.map(|text| PushHeaders::parse(text.expose()).context("PX_AUDIT_PUSH_HEADERS"));
        let given = read.transpose()?.filter(|headers| !headers.0.is_empty());
        let destination = source.optional("audit_push")?;
        let Some(given) = given else { return Ok(destination) };
        let Some(Self::Otlp { url, .. }) = destination else {
            bail!(
                "PX_AUDIT_PUSH_HEADERS is for OTLP; set PX_AUDIT_PUSH to otlp+https://HOST[:PORT] or unset the headers"
            );
        };
        if !is_encrypted_or_local(&url) {
            bail!(
                "PX_AUDIT_PUSH_HEADERS would be sent unencrypted; set PX_AUDIT_PUSH to otlp+https://HOST[:PORT]"
            );
        }
        Ok(Some(Self::Otlp { url, headers: given }))
    }
}

/// True unless the URL leads over plain http to another machine.
fn is_encrypted_or_local(url: &str) -> bool {
    let Ok(target) = Target::parse(url) else { return false };
    let is_loopback = match target.host() {
        Host::Name(name) => name == "localhost",
        Host::V4(address) => address.is_loopback(),
        Host::V6(address) => address.is_loopback(),
    };
    target.scheme() == Scheme::Https || is_loopback
}

/// Headers with secret values, such as those that authenticate to a receiver.
#[derive(Clone, Debug, Default)]
pub struct PushHeaders(Vec<(HeaderName, SecretString)>);

impl PushHeaders {
    /// Parses `NAME=VALUE,NAME=VALUE`, the form of `OTEL_EXPORTER_OTLP_HEADERS`. `%2C` is a comma in a value, and so on.
    ///
    /// # Errors
    /// They name a header, or the position of an entry, and never a value.
    fn parse(text: &str) -> Result<Self> {
        let mut headers: Vec<(HeaderName, SecretString)> = Vec::new();
        for (at, entry) in (1..).zip(text.split(',')) {
            if entry.trim().is_empty() {
                continue;
            }
            let pair = entry.split_once('=');
            let (name, value) = pair.with_context(|| format!("entry {at} is not NAME=VALUE"))?;
            let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| {
                anyhow::anyhow!("the name of entry {at} is not a header name; write NAME=VALUE")
            })?;
            if [CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING].contains(&name) {
                bail!("{name} is set by Pyxis; remove it");
            }
            if headers.iter().any(|(other, _)| *other == name) {
                bail!("{name} is there twice; keep one");
            }
            let value = percent_decode_str(value.trim()).decode_utf8().map(Cow::into_owned);
            let value = value.map(SecretString::new).ok().filter(|value| header_value(value).is_some());
            let value = value.with_context(|| {
                format!("the value of {name} is not a header value: printable characters, at least one")
            })?;
            headers.push((name, value));
        }
        Ok(Self(headers))
    }

    /// Adds them to a request. Their values are marked as sensitive, so that no one prints them.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            if let Some(value) = header_value(value) {
                headers.insert(name, value);
            }
        }
    }
}

fn header_value(value: &SecretString) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value.expose()).ok().filter(|value| !value.is_empty())?;
    value.set_sensitive(true);
    Some(value)
}

/// The text names no receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "use syslog+tls://HOST[:PORT], otlp+https://HOST[:PORT] or otlp+http://HOST[:PORT]; a port is 1 to 65535"
)]
pub struct AuditDestinationError;

impl FromStr for AuditDestination {
    type Err = AuditDestinationError;

    fn from_str(text: &str) -> std::result::Result<Self, AuditDestinationError> {
        let (protocol, rest) = text.split_once('+').ok_or(AuditDestinationError)?;
        let uri: Uri = rest.parse().map_err(|_| AuditDestinationError)?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(AuditDestinationError)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        // A port that is not a number up to 65535 reads as none.
        let has_good_port = uri.port_u16().map_or_else(|| authority.ends_with(host), |port| port > 0);
        if !has_good_port || authority.contains('@') || uri.query().is_some() {
            return Err(AuditDestinationError);
        }
        match (protocol, uri.scheme_str()) {
            ("syslog", Some("tls")) if matches!(uri.path(), "" | "/") => {
                Ok(Self::Syslog { host: host.to_owned(), port: uri.port_u16().unwrap_or(SYSLOG_PORT) })
            }
            ("otlp", Some("http" | "https")) => {
                let base = rest.trim_end_matches('/');
                // Some write the endpoint of logs, as other exporters want it.
                let url = format!("{}/v1/logs", base.strip_suffix("/v1/logs").unwrap_or(base));
                Ok(Self::Otlp { url, headers: PushHeaders::default() })
            }
            _ => Err(AuditDestinationError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_a_protocol_and_a_host() {
        let read = |text: &str| {
            text.parse::<AuditDestination>().map(|destination| match destination {
                AuditDestination::Syslog { host, port } => format!("{host} {port}"),
                AuditDestination::Otlp { url, .. } => url,
            })
        };
        for (text, expected) in [
            ("syslog+tls://logs.example.org", Some("logs.example.org 6514")),
            ("syslog+tls://10.0.0.1:7000/", Some("10.0.0.1 7000")),
            ("otlp+http://localhost:4318", Some("http://localhost:4318/v1/logs")),
            ("otlp+http://localhost:4318/v1/logs", Some("http://localhost:4318/v1/logs")),
            ("syslog+tls://localhost:0", None),
            ("syslog+tls://localhost:70000", None),
            ("syslog+tls://localhost:", None),
            ("syslog+tls://[::1]:7000", Some("[::1] 7000")),
            ("otlp+http://localhost:0", None),
            ("otlp+https://o.example.org/base/", Some("https://o.example.org/base/v1/logs")),
            ("syslog://logs.example.org", None),
            ("syslog+tcp://logs.example.org", None),
            ("syslog+tls://logs.example.org/path", None),
            ("otlp+http://user:pw@localhost", None),
            ("otlp+ftp://localhost", None),
            ("syslog+tls://", None),
        ] {
            let expected = expected.map(str::to_owned).ok_or(AuditDestinationError);
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn headers_are_pairs_whose_values_no_one_sees() {
        let headers = PushHeaders::parse("Authorization=Basic%20c2VjcmV0, x-tenant=a%2Cb=,").unwrap();
        let mut sent = HeaderMap::new();
        headers.add_to(&mut sent);
        assert_eq!(sent["authorization"], "Basic c2VjcmV0");
        assert_eq!(sent["x-tenant"], "a,b=");
        let shown = format!("{headers:?} {sent:?}");
        assert!(!shown.contains("c2VjcmV0") && !shown.contains("a,b"), "{shown}");
        for (text, why) in [
            ("x-a=1,very-secret", "entry 2 is not NAME=VALUE"),
            ("very secret=1", "the name of entry 1"),
            ("content-type=very-secret", "content-type is set by Pyxis"),
            ("x-a=1,X-A=very-secret", "x-a is there twice"),
            ("x-a=very-secret%0Ax", "the value of x-a"),
            ("x-a=", "the value of x-a"),
        ] {
            let error = PushHeaders::parse(text).map(drop).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("very"), "{error}");
        }
    }
}
