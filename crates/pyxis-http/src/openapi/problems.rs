//! Responses for problems, built from the same kinds as the problems themselves.

use http::StatusCode;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AllOfBuilder, Type};
use utoipa::openapi::{
    ContentBuilder, Header, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder,
};

use super::values::{Id, Time, Uri, joined, text_enum};
use crate::problem::ProblemKind;

/// Declares responses, each for problems that share a status. A doc comment becomes the description.
#[macro_export]
macro_rules! problem_responses {
    ($($(#[doc = $doc:literal])+ $name:ident = [$($kind:expr),+] $(with $header:ident)*;)+) => {
        $($(#[doc = $doc])+
        pub enum $name {}

        impl<'r> utoipa::ToResponse<'r> for $name {
            fn response() -> (&'r str, utoipa::openapi::RefOr<utoipa::openapi::Response>) {
                let response = $crate::openapi::ProblemResponse::new(&[$($doc),+], &[$($kind),+]);
                (stringify!($name), response $(.$header())* .build())
            }
        })+

        /// Every response of this list, by name.
        pub fn all() -> Vec<(&'static str, utoipa::openapi::RefOr<utoipa::openapi::Response>)> {
            vec![$(<$name as utoipa::ToResponse>::response()),+]
        }
    };
}

/// A response under construction.
pub struct ProblemResponse(ResponseBuilder);

impl ProblemResponse {
    /// The response to any of `kinds`, which share a status.
    pub fn new(lines: &[&str], kinds: &[ProblemKind]) -> Self {
        let description = joined(lines).unwrap_or_default();
        let status = kinds.first().map_or(StatusCode::INTERNAL_SERVER_ERROR, |kind| kind.status);
        debug_assert!(kinds.iter().all(|kind| kind.status == status), "{description}");
        let one = |value: serde_json::Value| ObjectBuilder::new().enum_values(Some([value]));
        let codes = ObjectBuilder::new().enum_values(Some(kinds.iter().map(|kind| kind.code)));
        let particular = ObjectBuilder::new()
            .property("status", one(status.as_u16().into()).schema_type(Type::Integer))
            .property("title", one(status.canonical_reason().into()).schema_type(Type::String))
            .property("code", codes.schema_type(Type::String));
        let schema = AllOfBuilder::new().item(Ref::from_schema_name("Problem")).item(particular);
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response =
            ResponseBuilder::new().description(description).content("application/problem+json", content);
        let error = text("The `code` of the body. Only responses that Pyxis itself made have it.");
        Self(response.header("PX-Error", error)).header("X-Request-Id", request_id())
    }

    /// With `Retry-After`.
    #[must_use]
    pub fn retry_after(self) -> Self {
        self.header("Retry-After", retry_after())
    }

    /// With what is left of the agent's hour.
    #[must_use]
    pub fn rate_limit(self) -> Self {
        self.header("RateLimit-Limit", number("Requests per hour.", 1))
            .header("RateLimit-Remaining", number("Always 0 here.", 0))
            .header("RateLimit-Reset", number("Seconds until the next hour.", 1))
    }

    /// With `Location`.
    #[must_use]
    pub fn location(self) -> Self {
        let schema = <Uri as utoipa::PartialSchema>::schema();
        self.header(
            "Location",
            HeaderBuilder::new().schema(Some(schema)).description(Some("Page of the ceremony.")).build(),
        )
    }

    fn header(self, name: &str, header: Header) -> Self {
        Self(self.0.header(name, header))
    }

    /// The finished response.
    pub fn build(self) -> RefOr<Response> {
        self.0.build().into()
    }
}

/// The header of every response.
fn request_id() -> Header {
    let schema = <Id as utoipa::PartialSchema>::schema();
    HeaderBuilder::new()
        .schema(Some(schema))
        .description(Some("The request's id, as in the body and in the log."))
        .build()
}

/// `Retry-After`.
pub fn retry_after() -> Header {
    number("Seconds to wait before the next attempt.", 0)
}

fn text(description: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

fn number(description: &str, least: usize) -> Header {
    let schema = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least));
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

crate::value_schemas! {
    AboutBlank = text_enum(["about:blank"]);
}

/// The body of a problem, RFC 9457. Match on `code`; `detail` is for people and may change.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "Problem writes its members one by one; this is their description")]
struct ProblemBody {
    #[schema(value_type = AboutBlank)]
    r#type: String,
    /// The status in words.
    title: String,
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// Stable; the same as in the header `PX-Error`.
    code: String,
    /// The fault, in one sentence.
    detail: String,
    #[schema(value_type = Id, required = false)]
    request_id: String,
    /// What an agent should do next, in words that it can show.
    #[schema(nullable = false)]
    agent_action: Option<String>,
    /// With `invalid_field`: the place of the invalid value.
    #[schema(nullable = false)]
    field: Option<String>,
    /// With a refused header: the headers that exist.
    #[schema(nullable = false)]
    supported: Option<String>,
    /// With `approval_denied` and `approval_expired`.
    #[schema(value_type = Option<Id>, nullable = false)]
    txn_id: Option<String>,
    /// With `approval_denied`: the approver's reason.
    reason: Option<String>,
    /// With `denied_by_policy`: the matching pattern.
    pattern: Option<String>,
    /// With `already_decided`: the transaction's state.
    #[schema(nullable = false)]
    state: Option<String>,
    /// With `passkey_required`: the page of the ceremony. With `reauthorization_required`: where to connect the account.
    #[schema(value_type = Option<Uri>, nullable = false)]
    url: Option<String>,
    /// With `changed`: the revision in force.
    #[schema(nullable = false)]
    revision: Option<i64>,
    /// With `locked`.
    #[schema(value_type = Option<Time>, nullable = false)]
    locked_until: Option<String>,
}

/// A reference to the schema of a problem, for a field that holds one.
pub fn problem_reference() -> Ref {
    Ref::from_schema_name("Problem")
}

/// The schemas that every problem response refers to.
pub fn problem_schema() -> Vec<(String, RefOr<utoipa::openapi::Schema>)> {
    let mut schemas = vec![("Problem".to_owned(), <ProblemBody as utoipa::PartialSchema>::schema())];
    <ProblemBody as ToSchema>::schemas(&mut schemas);
    schemas
}
