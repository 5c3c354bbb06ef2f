//! The content of a request, read at most once in each form however many rules look at it.

use std::cell::OnceCell;

use super::form::{self, Parameter, ParameterName};
use super::graphql::{self, RootFields};
use super::json::{self, JsonNode};
use super::{RequestContent, Unreadable};

/// Content with what was read in it. Each form is read when the first rule asks for it.
pub(super) struct ParsedContent<'a> {
    pub(super) content: &'a RequestContent<'a>,
    json: OnceCell<Result<JsonNode, Unreadable>>,
    form: OnceCell<Result<Vec<Parameter>, Unreadable>>,
    query: OnceCell<Vec<ParameterName>>,
    graphql: OnceCell<Result<RootFields, Unreadable>>,
}

impl<'a> ParsedContent<'a> {
    pub(super) fn new(content: &'a RequestContent<'a>) -> Self {
        Self {
            content,
            json: OnceCell::new(),
            form: OnceCell::new(),
            query: OnceCell::new(),
            graphql: OnceCell::new(),
        }
    }

    /// The JSON document in the body.
    pub(super) fn json(&self) -> Result<&JsonNode, Unreadable> {
        self.json.get_or_init(|| json::document(self.content)).as_ref().map_err(|why| *why)
    }

    /// The parameters of the query and of the form in the body.
    pub(super) fn form(&self) -> Result<&[Parameter], Unreadable> {
        let form = self.form.get_or_init(|| form::parameters(self.content));
        form.as_deref().map_err(|why| *why)
    }

    /// True if the query has a parameter that some reader takes for `name`.
    pub(super) fn has_in_query(&self, name: &ParameterName) -> bool {
        self.query().iter().any(|known| known.is_alike(name))
    }

    fn query(&self) -> &[ParameterName] {
        self.query.get_or_init(|| {
            let query = self.content.query.unwrap_or_default();
            form::pairs(query).map(|(name, _)| ParameterName::new(name.into_owned())).collect()
        })
    }

    /// The fields at the root of every GraphQL operation that runs.
    pub(super) fn graphql(&self) -> Result<&RootFields, Unreadable> {
        let read = || graphql::root_fields(self.content, self.query(), || self.json());
        self.graphql.get_or_init(read).as_ref().map_err(|why| *why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_once_however_many_rules_look_at_it() {
        let of = |content_type, body| RequestContent {
            content_type: Some(content_type),
            is_encoded: false,
            query: None,
            body,
        };
        let json = of("application/json", br#"{"query":"{a}"}"#);
        let parsed = ParsedContent::new(&json);
        assert!(std::ptr::eq(parsed.json().unwrap(), parsed.json().unwrap()));
        assert!(std::ptr::eq(parsed.graphql().unwrap(), parsed.graphql().unwrap()));
        let form = of("application/x-www-form-urlencoded", b"a=1&b=2");
        let parsed = ParsedContent::new(&form);
        assert!(std::ptr::eq(parsed.form().unwrap(), parsed.form().unwrap()));
        assert!(parsed.json().is_err() && parsed.graphql().is_err());
    }
}
