//! Failures of the Stamps API: `{"detail": …}`, in the form that its integrators know.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Error;

/// Failures by name; becomes `components.responses`.
const DETAILS: &str = include_str!("../../../openapi/details.json");

/// One row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    /// For tests only: a response itself has no status.
    #[expect(dead_code, reason = "the table is read by people and by tests too")]
    status: u16,
    description: String,
    /// Possible texts; empty if they vary.
    details: Vec<String>,
    #[serde(default)]
    retry_after: bool,
    #[serde(default)]
    headers: Map<String, Value>,
}

pub(super) fn responses() -> Result<Value, Error> {
    let table: Map<String, Value> = serde_json::from_str(DETAILS)?;
    let mut responses = Map::new();
    for (name, row) in table {
        responses.insert(name, serde_json::from_value::<Failure>(row)?.response());
    }
    Ok(json!({ "components": { "responses": responses } }))
}

impl Failure {
    fn response(self) -> Value {
        let header = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
        let mut headers = self.headers;
        headers.insert("X-Request-Id".to_owned(), header("RequestId"));
        if self.retry_after {
            headers.insert("Retry-After".to_owned(), header("RetryAfter"));
        }
        let schema = if self.details.is_empty() {
            json!({ "$ref": "#/components/schemas/Detail" })
        } else {
            let detail = json!({ "type": "string", "enum": self.details });
            json!({ "type": "object", "required": ["detail"], "properties": { "detail": detail } })
        };
        json!({
            "description": self.description,
            "headers": headers,
            "content": { "application/json": { "schema": schema } },
        })
    }
}
