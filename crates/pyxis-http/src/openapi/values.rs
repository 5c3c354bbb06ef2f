//! Schemas of plain values. A member names one with `#[schema(value_type = …)]` where its Rust type says less.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Required, Schema, SchemaFormat};

/// Declares types that stand for a value's schema. Their doc comments become its description.
#[macro_export]
macro_rules! value_schemas {
    ($($(#[doc = $doc:literal])* $vis:vis $name:ident = $schema:expr;)+) => {$(
        $(#[doc = $doc])*
        $vis enum $name {}

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::openapi::with_description($schema, &[$($doc),*])
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }
        }
    )+};
}

value_schemas! {
    pub Id = text().format(Some(format("uuid"))).examples(["019c1234-5678-7abc-8def-0123456789ab"]);
    pub Time = text().format(Some(format("date-time"))).examples(["2026-01-31T09:05:00.250Z"]);
    pub Uri = text().format(Some(format("uri"))).examples(["https://pyxis.example.org/"]);
    /// 1 to 64 letters, digits, dots, dashes or underscores, starting with a letter or digit.
    pub Name = text().pattern(Some("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")).examples(["github"]);
}

/// A text.
pub fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// A format of texts.
pub fn format(name: &str) -> SchemaFormat {
    SchemaFormat::Custom(name.to_owned())
}

/// A text that is one of these words.
pub fn text_enum<'a>(words: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    text().enum_values(Some(words))
}

/// The schema with a description, from the lines of a doc comment.
pub fn with_description(schema: ObjectBuilder, lines: &[&str]) -> RefOr<Schema> {
    schema.description(joined(lines)).into()
}

/// Declares parameters that several operations share. A doc comment becomes the description.
#[macro_export]
macro_rules! parameters {
    ($($(#[doc = $doc:literal])* $vis:vis $name:ident = $parameter:expr;)+) => {$(
        $(#[doc = $doc])*
        $vis enum $name {}

        impl utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                vec![$crate::openapi::described_parameter($parameter, &[$($doc),*])]
            }
        }
    )+};
}

/// A parameter with a description, from the lines of a doc comment.
pub fn described_parameter(parameter: ParameterBuilder, lines: &[&str]) -> Parameter {
    parameter.description(joined(lines)).build()
}

/// A required parameter of a path.
pub fn in_path(name: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    parameter(name, ParameterIn::Path, schema).required(Required::True)
}

/// A required parameter of a query.
pub fn in_query(name: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    parameter(name, ParameterIn::Query, schema).required(Required::True)
}

/// A parameter of a query that may be left out.
pub fn optional(name: &str, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    parameter(name, ParameterIn::Query, schema).required(Required::False)
}

fn parameter(name: &str, place: ParameterIn, schema: impl Into<RefOr<Schema>>) -> ParameterBuilder {
    ParameterBuilder::new().name(name).parameter_in(place).schema(Some(schema))
}

/// The lines of a doc comment as one text; `None` if there are none.
pub(super) fn joined(lines: &[&str]) -> Option<String> {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    Some(text).filter(|text| !text.is_empty())
}
