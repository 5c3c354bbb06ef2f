//! Responses that several operations share, built from the errors that they answer.

use std::collections::BTreeMap;

use pyxis_http::openapi::{retry_after, text, text_enum};
use pyxis_store::proofs::Ended;
use utoipa::openapi::schema::{ArrayBuilder, Type};
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema};
use utoipa::{IntoResponses, ToResponse};

use crate::error::Error;
use crate::registry::StatementRejection;

/// Responses that every open operation can give.
pub(crate) enum OpenResponses {}

impl IntoResponses for OpenResponses {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let named = [
            ("401", VerificationKey::response().0),
            ("429", TooManyQuestions::response().0),
            ("500", VerificationInternal::response().0),
            ("503", SourceUnavailable::response().0),
        ];
        let response =
            |(status, name): (&str, &str)| (status.to_owned(), RefOr::Ref(Ref::from_response_name(name)));
        named.into_iter().map(response).collect()
    }
}

/// Declares responses with their names.
macro_rules! responses {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr $(, $header:literal => $value:expr)?;)+) => {
        $($(#[doc = $doc])+
        pub(crate) enum $name {}

        impl<'r> ToResponse<'r> for $name {
            fn response() -> (&'r str, RefOr<Response>) {
                let content = ContentBuilder::new().schema(Some($schema)).build();
                let lines = [$($doc),+].map(str::trim).join(" ");
                let response = ResponseBuilder::new().description(lines).content("application/json", content);
                (stringify!($name), response$(.header($header, $value))?.build().into())
            }
        })+

        pub(crate) fn all() -> Vec<(&'static str, RefOr<Response>)> {
            vec![$(<$name as ToResponse>::response()),+]
        }
    };
}

responses! {
    /// A parameter is missing or invalid. They are checked in this order: presence, form, network.
    BadQuestion = bad_question();
    /// There is no such credential type or country.
    UnknownCheck = errors(&[Error::UnknownKind(Vec::new()), Error::UnknownCountry]).property("known", known());
    /// There is no such scorer that is open to votes.
    UnknownScorer = errors(&[Error::UnknownScorer(Vec::new())]).property("known", known());
    /// The score of an address at that time is not on record, so there is no answer. `invalid` lists up to 20 of them.
    ScoreNotRecorded = bad_question();
    /// A fault of the server. The log has the cause, under the request's id.
    VerificationInternal = error(text());
    /// A source of proofs does not respond, so there is no answer. Try again later. If a contract gave no answer for an
    /// address, `error` names both.
    SourceUnavailable = error(text());
    /// The external index does not respond, so there is no answer. Try again later.
    IndexUnavailable = error(text());
    /// This installation requires a key in `X-API-KEY`.
    VerificationKey = errors(&[Error::InvalidKey]);
    /// This installation limits the requests of one client address per minute.
    TooManyQuestions = errors(&[Error::RateLimited { wait: 1 }]), "Retry-After" => retry_after();
    /// The statement is not JSON.
    StatementNotJson = rejected(["invalid_json"]);
    /// The issuer is not listed for this kind, or the signature does not fit.
    StatementForbidden =
        rejected([StatementRejection::IssuerNotAllowed, StatementRejection::BadSignature].map(|one| one.code()));
    /// There is no live proof like that.
    NoLiveProof = rejected([StatementRejection::NotFound.code()]);
    /// Another address has the nullifier, a later statement about the address took effect already, or the proof of this
    /// statement has ended.
    StatementConflict = rejected(
        [StatementRejection::AlreadyRegistered, StatementRejection::Superseded]
            .map(|one| one.code())
            .into_iter()
            .chain(Ended::ALL.iter().map(|one| one.as_str()))
    );
    /// A field is missing, unknown or invalid.
    InvalidStatementField = rejected(["invalid_field"]);
}

/// Values that the parameter may have.
fn known() -> Schema {
    let description = "The values that the parameter may have here, if it had an unknown one.";
    ArrayBuilder::new().items(text()).description(Some(description)).into()
}

/// `{"error": …}` with this schema.
fn error(schema: ObjectBuilder) -> ObjectBuilder {
    ObjectBuilder::new().property("error", schema).required("error")
}

/// With one of the messages of these errors.
fn errors(errors: &[Error]) -> ObjectBuilder {
    let messages: Vec<_> = errors.iter().map(Error::public_message).collect();
    error(text_enum(messages.iter().map(|message| &**message)))
}

/// With one of these codes, and a sentence.
fn rejected(codes: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    error(text_enum(codes)).property("detail", text())
}

fn bad_question() -> ObjectBuilder {
    let number =
        |description: &str| ObjectBuilder::new().schema_type(Type::Integer).description(Some(description));
    let entry = ObjectBuilder::new()
        .property("index", number("From 0."))
        .property("value", text())
        .property("reason", text());
    let entries: Schema = ArrayBuilder::new()
        .items(entry)
        .description(Some("The invalid entries among several addresses, up to 20."))
        .into();
    let count = number("Number of invalid entries.");
    error(text()).property("invalid", entries).property("invalid_count", count).property("known", known())
}
