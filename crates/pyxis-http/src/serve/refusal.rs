//! Reasons to refuse a request because of its head, before a handler sees it.

use axum::response::Response;
use http::StatusCode;
use http::header::{CONNECTION, HeaderValue};
use metrics::counter;
use pyxis_core::metric;

use super::{BODY_TIMEOUT, HEAD_TIMEOUT, SLOWEST_BODY};
use crate::{Problem, cors};

/// Maximum total size of a request's header fields, in bytes, including line ends.
pub const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Maximum number of header fields in a request.
pub const MAX_HEADER_FIELDS: usize = 100;

/// Maximum length of a request target, in bytes. The parsing library accepts no longer one.
pub const MAX_URI_BYTES: usize = 65_534;

/// Reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum MalformedRequest {
    RequestLine,
    Version,
    UriTooLong,
    BareLineFeed,
    FieldName,
    FieldValue,
    Folded,
    TooManyFields,
    FieldsTooLarge,
    NoHost,
    SeveralHosts,
    HostValue,
    HostDiffers,
    ContentLength,
    TransferEncoding,
    LengthAndEncoding,
    SlowHead,
    StalledBody,
    SlowBody,
}

impl MalformedRequest {
    /// All reasons, ordered by number.
    const ALL: [Self; 19] = [
        Self::RequestLine,
        Self::Version,
        Self::UriTooLong,
        Self::BareLineFeed,
        Self::FieldName,
        Self::FieldValue,
        Self::Folded,
        Self::TooManyFields,
        Self::FieldsTooLarge,
        Self::NoHost,
        Self::SeveralHosts,
        Self::HostValue,
        Self::HostDiffers,
        Self::ContentLength,
        Self::TransferEncoding,
        Self::LengthAndEncoding,
        Self::SlowHead,
        Self::StalledBody,
        Self::SlowBody,
    ];

    /// The reason with this number.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The response. Over HTTP/1 it closes the connection, because the start of the next request is unknown.
    pub(super) fn response(self) -> Response {
        let mut response = self.problem().render(None);
        tracing::debug!(status = response.status().as_u16(), reason = ?self, "request refused because of its head");
        counter!(metric::HTTP_HEADS_REFUSED.name).increment(1);
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        // The origin may be unknown, and the response is the same for everyone.
        cors::allow_any_origin(headers);
        response
    }

    fn problem(self) -> Problem {
        let (status, code) = match self {
            Self::UriTooLong => (StatusCode::URI_TOO_LONG, "uri_too_long"),
            Self::Version => (StatusCode::HTTP_VERSION_NOT_SUPPORTED, "http_version"),
            Self::TooManyFields | Self::FieldsTooLarge => {
                (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large")
            }
            Self::SlowHead | Self::StalledBody | Self::SlowBody => {
                (StatusCode::REQUEST_TIMEOUT, "request_timeout")
            }
            _ => (StatusCode::BAD_REQUEST, "malformed_request"),
        };
        Problem::new(status, code, self.detail())
    }

    fn detail(self) -> String {
        match self {
            Self::RequestLine => {
                "the request line cannot be read: write METHOD, target and version with one space between them"
                    .to_owned()
            }
            Self::Version => "this server speaks HTTP/1.1, HTTP/1.0 and HTTP/2".to_owned(),
            Self::UriTooLong => format!(
                "the request target is longer than {MAX_URI_BYTES} bytes: send long parameters in the body"
            ),
            Self::BareLineFeed => "a line ends without a carriage return: end each with CR LF".to_owned(),
            Self::FieldName => {
                "a header name has a character that is not allowed, such as a space before the colon".to_owned()
            }
            Self::FieldValue => "a header value has a control character".to_owned(),
            Self::Folded => "a header value is continued on a second line: write it on one".to_owned(),
            Self::TooManyFields => {
                format!("the request has more than {MAX_HEADER_FIELDS} header fields: send fewer")
            }
            Self::FieldsTooLarge => format!(
                "the header fields have more than {MAX_HEADER_BYTES} bytes together: send long values in the body"
            ),
            Self::NoHost => "the request has no Host header: send one".to_owned(),
            Self::SeveralHosts => "the request has several Host headers: send one".to_owned(),
            Self::HostValue => {
                "the Host header is not a host: write a name or address, with a port from 0 to 65535 or without".to_owned()
            }
            Self::HostDiffers => "the Host header and the host of the request target differ".to_owned(),
            Self::ContentLength => {
                "Content-Length must be one decimal number, sent once".to_owned()
            }
            Self::TransferEncoding => {
                "the only supported Transfer-Encoding is a single `chunked`, over HTTP/1.1".to_owned()
            }
            Self::LengthAndEncoding => {
                "Content-Length and Transfer-Encoding exclude each other: send one of them".to_owned()
            }
            Self::SlowHead => {
                format!("the head of the request took longer than {} seconds", HEAD_TIMEOUT.as_secs())
            }
            Self::StalledBody => format!(
                "the rest of the body did not arrive for {} seconds: send the request again",
                BODY_TIMEOUT.as_secs()
            ),
            Self::SlowBody => format!(
                "the body arrived too slowly: send the request again, with at least {SLOWEST_BODY} bytes a second"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_number() {
        for (number, reason) in MalformedRequest::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
            assert_eq!(MalformedRequest::from_number(u8::try_from(number).unwrap()), Some(reason));
        }
        assert_eq!(MalformedRequest::from_number(200), None);
    }
}
