//! Receiver of audit records.

use std::str::FromStr;

use http::Uri;

/// Port of syslog over TLS (RFC 5425).
const SYSLOG_PORT: u16 = 6514;

/// Receiver of audit records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditDestination {
    /// Syslog messages over TLS.
    Syslog { host: String, port: u16 },
    /// OTLP logs over HTTP: URL of the endpoint.
    Otlp { url: String },
}

/// The text names no receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use syslog+tls://HOST[:PORT], otlp+https://HOST[:PORT] or otlp+http://HOST[:PORT]")]
pub struct AuditDestinationError;

impl FromStr for AuditDestination {
    type Err = AuditDestinationError;

    fn from_str(text: &str) -> Result<Self, AuditDestinationError> {
        let (protocol, rest) = text.split_once('+').ok_or(AuditDestinationError)?;
        let uri: Uri = rest.parse().map_err(|_| AuditDestinationError)?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(AuditDestinationError)?;
        let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        if has_user || uri.query().is_some() {
            return Err(AuditDestinationError);
        }
        match (protocol, uri.scheme_str()) {
            ("syslog", Some("tls")) if matches!(uri.path(), "" | "/") => {
                Ok(Self::Syslog { host: host.to_owned(), port: uri.port_u16().unwrap_or(SYSLOG_PORT) })
            }
            ("otlp", Some("http" | "https")) => {
                Ok(Self::Otlp { url: format!("{}/v1/logs", rest.trim_end_matches('/')) })
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
        let syslog = |host: &str, port| Ok(AuditDestination::Syslog { host: host.to_owned(), port });
        let otlp = |url: &str| Ok(AuditDestination::Otlp { url: url.to_owned() });
        for (text, expected) in [
            ("syslog+tls://logs.example.org", syslog("logs.example.org", 6514)),
            ("syslog+tls://10.0.0.1:7000/", syslog("10.0.0.1", 7000)),
            ("otlp+http://localhost:4318", otlp("http://localhost:4318/v1/logs")),
            ("otlp+https://o.example.org/base/", otlp("https://o.example.org/base/v1/logs")),
            ("syslog://logs.example.org", Err(AuditDestinationError)),
            ("syslog+tcp://logs.example.org", Err(AuditDestinationError)),
            ("syslog+tls://logs.example.org/path", Err(AuditDestinationError)),
            ("otlp+http://user:pw@localhost", Err(AuditDestinationError)),
            ("otlp+ftp://localhost", Err(AuditDestinationError)),
            ("syslog+tls://", Err(AuditDestinationError)),
        ] {
            assert_eq!(text.parse::<AuditDestination>(), expected, "{text}");
        }
    }
}
