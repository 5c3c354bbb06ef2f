//! Responses to failures of the Stamps API, `{"detail": …}`, built from the errors that they answer.

use pyxis_http::openapi::{Id, text_enum};
use pyxis_store::StoreError;
use utoipa::openapi::{
    ContentBuilder, Header, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema,
};
use utoipa::{PartialSchema, ToResponse};

use crate::budget::Budget;
use crate::error::Error;
use crate::models::SourceError;
use crate::values::integer;
use crate::widget_error::WidgetError;

/// Declares responses with their names.
macro_rules! responses {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr $(, with $($headers:ident)+)?;)+) => {
        $($(#[doc = $doc])+
        pub(crate) enum $name {}

        impl<'r> ToResponse<'r> for $name {
            fn response() -> (&'r str, RefOr<Response>) {
                let content = ContentBuilder::new().schema(Some($schema)).build();
                let lines = [$($doc),+].map(str::trim).join(" ");
                let response = ResponseBuilder::new()
                    .description(lines)
                    .header("X-Request-Id", header("The request's id, as in the log.", Id::schema()))
                    .content("application/json", content);
                $($(let response = $headers(response);)+)?
                (stringify!($name), response.build().into())
            }
        })+

        pub(crate) fn all() -> Vec<(&'static str, RefOr<Response>)> {
            vec![$(<$name as ToResponse>::response()),+]
        }
    };
}

responses! {
    /// There is no key, or it is unknown or revoked. The request counts against no limit.
    InvalidApiKey = fixed(&[Error::InvalidKey]);
    /// The key lacks the permission: to read, to write Stamps, or to read history, which must be approved. Or it is a
    /// publishable key, which works only for the widget.
    NotPermitted = fixed(&[Error::Forbidden, Error::Widget(WidgetError::PublishableKey)]);
    /// The workspace of the key has no such scorer.
    NoScorer = fixed(&[Error::NoScorer]);
    /// The path does not accept this method; `Allow` lists those that it does. With a valid key the request counts.
    StampsMethodNotAllowed = fixed(&[Error::MethodNotAllowed]);
    /// An address is `0x` and 40 hexadecimal digits: in lower case, in upper case, or, with its checksum (ERC-55).
    BadAddress = fixed(&[Error::InvalidAddress]);
    /// The address is invalid, the limit is outside 1 to 1000, or the token is not one that this server issued for
    /// this address.
    BadPage = fixed(&[Error::InvalidAddress, Error::InvalidLimit, Error::InvalidToken]);
    /// An address is invalid; for several in one body, `invalid` lists up to 20 (`index`, `value`, `reason`). Or the
    /// body is not JSON, and `detail` says where.
    BadStampsBody = varied();
    /// The address is invalid; or `model` is not the name of one model, and `detail` lists them all: `Invalid model
    /// name(s): …. Must be one of …`.
    BadModelRequest = varied();
    /// The source of activity does not respond: there is no score, not even -1.
    SourceFails = fixed(&[Error::Source(SourceError::Store(StoreError::Text))]);
    /// The address is invalid, or the body is not JSON, and `detail` says where.
    BadSignedRequest = varied();
    /// The score could be computed only in part, and such a score is not signed; or it is larger than an attestation holds.
    PartialScore = fixed(&[Error::PartialScore, Error::ScoreTooLarge]);
    /// The key is unknown or revoked; or the session is missing or has ended (`code` is `session_needed`).
    WidgetUnauthorized = refusal_schema();
    /// The request has no `Origin`, or one that the key does not allow; the key is of another scorer; or it is a server
    /// key. `code` names the reason.
    WidgetForbidden = refusal_schema();
    /// The key is unknown or revoked, the nonce was used or has expired, or the signature is not by the address.
    /// In the last two cases `code` names the reason.
    SignInRefused = refusal_schema();
    /// The message is not that of a sign-in in this page, or the body has another form. `code` names the reason, unless
    /// it is the body.
    BadSignIn = refusal_schema();
    /// A review of the address is open, or was asked for within 24 hours, or too many are open. `code` names the reason.
    ReviewRefused = refusal_schema();
    /// The node that checks the contract wallet's signature does not answer.
    WalletNodeFails = refusal_schema();
    /// The body is longer than this operation accepts; `detail` says how long it may be.
    StampsBodyTooLarge = varied();
    /// A parameter is missing or invalid: a list of the parameters, with the expected values.
    MalformedParameter = varied();
    /// The body is JSON of another form, or a parameter is invalid: a list of places and reasons. Or the body has too
    /// many items: a sentence.
    MalformedStampsBody = varied();
    /// The key's requests of this window are used up. Windows start at :00, :15, :30 and :45 UTC. A request refused
    /// for this reason does not count.
    StampsRateLimited = fixed(&[Error::RateLimited(Budget::default())]), with budget retry_after;
    /// A fault of the server. The log has the cause, under the request's id.
    StampsInternal = fixed(&[Error::Internal("".into())]);
    /// The database does not respond, was busy for five seconds, or too many requests change the same rows.
    StampsUnavailable = fixed(&[Error::Busy]), with retry_after;
    /// The request took more than 60 seconds and was canceled. Try again after a short delay, and increase the delay
    ///, with each retry.
    StampsTimeout = fixed(&[Error::TimedOut]);
}

/// One of the texts of these errors.
fn fixed(errors: &[Error]) -> RefOr<Schema> {
    let details: Vec<_> = errors.iter().map(Error::detail).collect();
    let detail = text_enum(details.iter().filter_map(serde_json::Value::as_str));
    ObjectBuilder::new().property("detail", detail).required("detail").into()
}

/// A text or a list that depends on the request.
fn varied() -> RefOr<Schema> {
    Ref::from_schema_name("Detail").into()
}

/// A text or a list, and the reason's name for programs.
fn refusal_schema() -> RefOr<Schema> {
    Ref::from_schema_name("WidgetRefusal").into()
}

fn retry_after(response: ResponseBuilder) -> ResponseBuilder {
    response.header("Retry-After", pyxis_http::openapi::retry_after())
}

fn budget(response: ResponseBuilder) -> ResponseBuilder {
    let number = |words, least| header(words, integer().minimum(Some(least)).into());
    response
        .header("RateLimit-Limit", number("Requests in a window.", 1))
        .header("RateLimit-Remaining", number("Always 0 here.", 0))
        .header("RateLimit-Reset", number("Seconds until the next window.", 0))
}

fn header(words: &str, schema: RefOr<Schema>) -> Header {
    HeaderBuilder::new().schema(Some(schema)).description(Some(words)).build()
}
