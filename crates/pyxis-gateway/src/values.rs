//! Schemas of names and small values in bodies.

use pyxis_core::policy::{Method, Policy, Rule as PolicyRule};
use pyxis_http::openapi::{text, text_enum};
use pyxis_store::deliveries::DeliveryStatus;
use pyxis_store::mcp_tools::ToolMode;
use serde_json::{Value, json};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pyxis_http::value_schemas! {
    pub(crate) MethodName = text_enum(Method::ALL.iter().map(|method| method.as_str()));
    pub(crate) ForwardMethod =
        text_enum(Method::ALL.iter().filter(|method| **method != Method::WebSocket).map(|method| method.as_str()))
            .default(Some("GET".into()));
    pub(crate) MethodVerdict = text_enum(["proceeds", "pauses", "denied"]);
    /// The rule that decided.
    pub(crate) Rule = text_enum(PolicyRule::ALL.iter().map(|rule| rule.as_str()));
    /// `refuse`: `/forward` would respond with 4xx, for example because the host is not allowed.
    pub(crate) ExplainedDecision = text_enum(["auto_approve", "require_approval", "deny", "refuse"]);
    pub(crate) ToolModeName = text_enum(ToolMode::ALL.iter().map(|mode| mode.as_str()));
    /// `active`: signs. `retired`: no longer signs, and stays published. `withdrawn`: compromised, and not published.
    pub(crate) ReceiptKeyStatus = text_enum(["active", "retired", "withdrawn"]);
    pub(crate) AnnouncementKind = text_enum(["room", "people"]);
    pub(crate) VoteVerdict = text_enum(["approve", "deny"]);
    pub(crate) BodyEncoding = text_enum(["utf-8", "base64"]);
    pub(crate) DeliveryState = text_enum(DeliveryStatus::ALL.iter().map(|status| status.as_str()));
    /// Reason that an approved request was not completed. `no_longer_allowed`: something changed between request
    /// and approval, and nothing was sent. `outcome_unknown`: it was sent and there was no response, so it may
    /// have been executed; it is not sent again. `upstream_error` and `upstream_timeout`: nothing was sent, the
    /// target refused the request before processing it, or the method was GET, HEAD or OPTIONS. With
    /// `upstream_status`, the response cannot be passed on.
    pub(crate) ForwardError = text_enum(["upstream_error", "upstream_timeout", "no_longer_allowed", "outcome_unknown"]);
}

/// Declares types whose schema is not an object or a plain value.
macro_rules! other_schemas {
    ($($(#[doc = $doc:literal])* $name:ident = $schema:expr;)+) => {$(
        $(#[doc = $doc])*
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $name {}
    )+};
}

other_schemas! {
    /// Settings of the attachment of a secret. Its schema is a fragment of the description.
    AuthSettings = Ref::from_schema_name("Auth").into();
    AllowedHosts = ArrayBuilder::new()
        .items(text().examples(["api.github.com"]))
        .description(Some(
            "Allowed hosts: `host` for any port, or `host:port`; exact, or with a leading `*.` for its subdomains. A \
             wildcard over a public suffix, under which anyone can register a name (`*.co.uk`, `*.github.io`), is refused.",
        ))
        .into();
    Secret = OneOfBuilder::new()
        .item(text().min_length(Some(1)))
        .item(ObjectBuilder::new().min_properties(Some(1)).additional_properties(Some(text())))
        .description(Some(
            "A string, or an object of named strings. At most 64 KiB and 64 strings. A byte order mark before each \
             string and line ends after it are removed. Control characters are refused, except line ends and tabs of a \
             key in PEM. Never returned.",
        ))
        .into();
    AgentScope = OneOfBuilder::new()
        .item(text_enum(["all"]))
        .item(ArrayBuilder::new().items(text().examples(["github"])))
        .description(Some("`all`, or the names of the credentials that the agent may use."))
        .into();
    HeaderPair = ArrayBuilder::new()
        .items(text())
        .min_items(Some(2))
        .max_items(Some(2))
        .examples([json!(["content-type", "application/json"])])
        .into();
    PolicyInput = policy_input();
}

/// A policy in a request: each member has its default, and unknown ones are refused.
fn policy_input() -> RefOr<Schema> {
    let mut schema = serde_json::to_value(Policy::schema()).unwrap_or_default();
    let defaults = serde_json::to_value(Policy::default()).unwrap_or_default();
    if let Some(members) = schema["properties"].as_object_mut() {
        for (name, member) in members {
            match &defaults[name] {
                Value::Null => {}
                default => member["default"] = default.clone(),
            }
        }
    }
    schema["required"] = Value::Array(Vec::new());
    schema["additionalProperties"] = false.into();
    schema["description"] = "A policy. Members that are left out have their defaults.".into();
    serde_json::from_value(schema).unwrap_or_else(|_| Policy::schema())
}
