//! Errors of outbound requests.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use rustls::AlertDescription;

use crate::guard::{Blocked, NotAnOrigin};

/// Phase in which time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Resolving, dialing or the TLS handshake.
    Connect,
    /// The head of the response.
    FirstByte,
    /// The next piece of a body.
    Idle,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::FirstByte => "waiting for the first byte",
            Self::Idle => "waiting for more of the body",
        })
    }
}

/// Reason that an upstream rejects the client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientCertificateRefusal {
    /// The upstream requires a certificate, and none was presented.
    #[error("it requires a client certificate")]
    Missing,
    /// The upstream does not accept the presented certificate.
    #[error("it does not accept the client certificate")]
    NotAccepted,
}

impl ClientCertificateRefusal {
    /// The upstream's TLS alert, if it concerns the client. In TLS 1.3 it can arrive after the client's handshake has
    /// finished, so it may be nested in a later failure.
    fn find_in(error: &(dyn StdError + 'static)) -> Option<Self> {
        let alert = tls_errors(error).find_map(|error| match error {
            rustls::Error::AlertReceived(alert) => Some(*alert),
            _ => None,
        });
        alert.and_then(Self::from_alert)
    }

    const fn from_alert(alert: AlertDescription) -> Option<Self> {
        use AlertDescription as A;
        match alert {
            A::CertificateRequired | A::NoCertificate => Some(Self::Missing),
            A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            // The signature is not from the named issuer.
            | A::DecryptError
            | A::AccessDenied => Some(Self::NotAccepted),
            _ => None,
        }
    }
}

/// The TLS errors among an error and its sources, outermost first.
fn tls_errors<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a rustls::Error> {
    // An I/O error reports the source of its inner error, not the inner error itself.
    fn inner<'a>(current: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
        let inside = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inside.map(|inside| inside as &(dyn StdError + 'static)).or_else(|| current.source())
    }
    std::iter::successors(Some(error), |current| inner(*current)).filter_map(|error| error.downcast_ref())
}

/// Reason of a failed handshake, for the requester.
fn handshake_message(error: &io::Error) -> &'static str {
    use rustls::CertificateError as C;
    let certificate = tls_errors(error).find_map(|error| match error {
        rustls::Error::InvalidCertificate(reason) => Some(reason),
        _ => None,
    });
    match certificate {
        Some(C::Expired | C::ExpiredContext { .. }) => {
            "no secure connection: the host's certificate has expired"
        }
        Some(C::NotValidYet | C::NotValidYetContext { .. }) => {
            "no secure connection: the host's certificate is not valid yet"
        }
        Some(C::NotValidForName | C::NotValidForNameContext { .. }) => {
            "no secure connection: the host's certificate is for another name"
        }
        Some(_) => "no secure connection: the host's certificate is not trusted",
        None => "no secure connection: the TLS handshake failed",
    }
}

/// Reason that a request cannot be sent as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    /// The URI is not an absolute http or https URI with a host.
    #[error(transparent)]
    Uri(#[from] NotAnOrigin),
    /// The URI has a user name or password.
    #[error("the URL has a user name or password")]
    UserInfo,
    /// CONNECT would turn the connection into a tunnel.
    #[error("method CONNECT")]
    Connect,
}

/// A failure of an outbound request. Cheap to clone; contains no header, path or address.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The egress guard refused the target.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// The name has no address, or the resolver failed.
    #[error("the name does not resolve")]
    Resolve(#[source] Arc<io::Error>),
    /// No address of the target accepted the connection.
    #[error("cannot connect")]
    Connect(#[source] Arc<io::Error>),
    /// The TLS handshake failed, for example because of the certificate.
    #[error("the tls handshake failed")]
    Tls(#[source] Arc<io::Error>),
    /// The upstream ended the TLS handshake because of the client's certificate.
    #[error("the handshake was refused: {0}")]
    Refused(ClientCertificateRefusal),
    /// Time ran out.
    #[error("timed out: {0}")]
    Timeout(Wait),
    /// The connection ended before the message was complete.
    #[error("the connection was closed early")]
    Closed {
        /// True if the upstream may have received any of the request.
        sent: bool,
        /// Underlying error.
        #[source]
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The host refused the request over HTTP/2 before processing any of it (RFC 9113, section 8.7).
    #[error("the stream was refused")]
    Unprocessed(#[source] Arc<dyn StdError + Send + Sync>),
    /// The host's response cannot be parsed, over HTTP/1 or HTTP/2.
    #[error("the response cannot be read")]
    Protocol(#[source] Arc<dyn StdError + Send + Sync>),
    /// The response head exceeds [`MAX_ANSWER_LINES`](crate::MAX_ANSWER_LINES) or
    /// [`MAX_ANSWER_HEAD`](crate::MAX_ANSWER_HEAD).
    #[error("the head of the response is too large")]
    HeadTooLarge,
    /// The caller's own request body failed.
    #[error("the request body failed")]
    RequestBody(#[source] Arc<dyn StdError + Send + Sync>),
    /// The body exceeds the caller's limit.
    #[error("the body is too large: over {max} bytes")]
    TooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// The request cannot be sent as it is.
    #[error(transparent)]
    Invalid(#[from] InvalidRequest),
}

impl Error {
    /// True if the upstream may have received and processed any of the request. `false` is a guarantee: sending the
    /// same request again cannot execute it twice.
    pub fn was_sent(&self) -> bool {
        match self {
            Self::Blocked(_)
            | Self::Resolve(_)
            | Self::Connect(_)
            | Self::Tls(_)
            | Self::Refused(_)
            | Self::Unprocessed(_)
            | Self::Invalid(_)
            | Self::Timeout(Wait::Connect) => false,
            Self::Closed { sent, .. } => *sent,
            Self::Timeout(Wait::FirstByte | Wait::Idle)
            | Self::Protocol(_)
            | Self::HeadTooLarge
            | Self::RequestBody(_)
            | Self::TooLarge { .. } => true,
        }
    }

    /// Message that is safe to show to the requester. Names neither address nor cause.
    pub fn public_message(&self) -> &'static str {
        match self {
            Self::Blocked(_) => "the egress guard refuses the host",
            Self::Resolve(_) => "the host name does not resolve",
            Self::Connect(_) => "cannot connect to the host",
            Self::Tls(error) => handshake_message(error),
            Self::Refused(ClientCertificateRefusal::Missing) => {
                "the host requires a client certificate, and none was sent"
            }
            Self::Refused(ClientCertificateRefusal::NotAccepted) => {
                "the host does not accept the client certificate"
            }
            Self::Timeout(_) => "the host did not respond in time",
            Self::Closed { .. } => "the host closed the connection early",
            Self::Unprocessed(_) => {
                "the host refused the request before processing any of it: it may be sent again"
            }
            Self::Protocol(_) => "the host answered, but its response is malformed",
            Self::HeadTooLarge => {
                "the host answered, but with more than the limit of 1000 header lines or 256 KiB of headers"
            }
            Self::RequestBody(_) => "the body of the request ended early",
            Self::TooLarge { .. } => "the host's response is too large",
            Self::Invalid(_) => "the request cannot be sent as it is",
        }
    }

    /// The guard's reason, if the egress guard refused.
    pub fn blocked(&self) -> Option<Blocked> {
        if let Self::Blocked(reason) = self { Some(*reason) } else { None }
    }

    /// Converts a failed handshake.
    pub(crate) fn from_handshake(error: io::Error) -> Self {
        match ClientCertificateRefusal::find_in(&error) {
            Some(refusal) => Self::Refused(refusal),
            None => Self::Tls(Arc::new(error)),
        }
    }

    /// Converts an error of hyper. `assigned` is true if a connection had taken the request.
    pub(crate) fn from_client(error: hyper_util::client::legacy::Error, assigned: bool) -> Self {
        let source = StdError::source(&error);
        if error.is_connect()
            && let Some(dial) = source.and_then(<dyn StdError>::downcast_ref::<Self>)
        {
            return dial.clone();
        }
        if let Some(refusal) = ClientCertificateRefusal::find_in(&error) {
            return Self::Refused(refusal);
        }
        match source.and_then(<dyn StdError>::downcast_ref::<hyper::Error>) {
            // hyper says "canceled" only when it returns the whole request, still queued and with nothing encoded.
            Some(cause) if cause.is_canceled() => Self::Closed { sent: false, source: Arc::new(error) },
            Some(cause) if is_refused_stream(cause) => Self::Unprocessed(Arc::new(error)),
            Some(cause) if cause.is_user() => Self::RequestBody(Arc::new(error)),
            Some(cause) if cause.is_parse_too_large() => Self::HeadTooLarge,
            Some(cause) if is_unreadable(cause) => Self::Protocol(Arc::new(error)),
            _ => Self::Closed { sent: assigned, source: Arc::new(error) },
        }
    }
}

/// True where the peer reset the stream without processing it.
fn is_refused_stream(error: &hyper::Error) -> bool {
    http2_cause(error).is_some_and(|cause| {
        cause.is_reset() && cause.is_remote() && cause.reason() == Some(h2::Reason::REFUSED_STREAM)
    })
}

/// True where the host sent bytes that are not a response. False where the connection ended or the host reset it.
fn is_unreadable(error: &hyper::Error) -> bool {
    // Over HTTP/2, the library itself ends a stream or a connection only for a violation by the host. That is a
    // bad frame, a bad header block, too many headers, bytes beyond the window.
    error.is_parse() || http2_cause(error).is_some_and(h2::Error::is_library)
}

fn http2_cause(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(<dyn StdError>::downcast_ref)
}

/// True for a malformed chunk of an HTTP/1 body. Ask only about errors of bodies. Before a body, the same kind of
/// I/O error is a bad TLS record, which HTTP/2 passes on without its type.
fn is_bad_chunk(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(<dyn StdError>::downcast_ref::<io::Error>);
    cause.is_some_and(|cause| {
        let is_tls = cause.get_ref().is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>);
        matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) && !is_tls
    })
}

/// Converts a failure while the response body streams.
impl From<hyper::Error> for Error {
    fn from(error: hyper::Error) -> Self {
        if is_unreadable(&error) || is_bad_chunk(&error) {
            Self::Protocol(Arc::new(error))
        } else {
            Self::Closed { sent: true, source: Arc::new(error) }
        }
    }
}

/// In-memory bodies cannot fail.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
