//! The API description, assembled from fragments: one for each area of the API.
//!
//! The fragments are `OpenAPI` and describe what is specific to an operation. Responses that all operations of a kind
//! share are added here, so that no operation lacks them. Examples are those to a missing key and to a body that is not
//! JSON.

mod chats;
mod details;

use http::StatusCode;
use pyxis_core::auth::{Connector, CredentialKind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Error;

const FRAME: &str = include_str!("../../openapi/document.json");

const AREAS: &[&str] = &[
    include_str!("../../openapi/agent.json"),
    include_str!("../../openapi/signing.json"),
    include_str!("../../openapi/entrance.json"),
    include_str!("../../openapi/approvals.json"),
    include_str!("../../openapi/access.json"),
    include_str!("../../openapi/people.json"),
    include_str!("../../openapi/agents.json"),
    include_str!("../../openapi/credentials.json"),
    include_str!("../../openapi/policies.json"),
    include_str!("../../openapi/webhooks.json"),
    include_str!("../../openapi/notifications.json"),
    include_str!("../../openapi/stamps.json"),
    include_str!("../../openapi/earlier.json"),
    include_str!("../../openapi/models.json"),
    include_str!("../../openapi/scorers.json"),
    include_str!("../../openapi/api-keys.json"),
    include_str!("../../openapi/issuers.json"),
    include_str!("../../openapi/verification.json"),
    include_str!("../../openapi/record.json"),
    include_str!("../../openapi/program.json"),
];

/// Failures by name; becomes `components.responses`.
const PROBLEMS: &str = include_str!("../../openapi/problems.json");

/// The dashboard's routes, `METHOD path` to a sentence, or to a sentence and a media type.
const PAGES: &str = include_str!("../../openapi/pages.json");

/// Responses that every operation of a kind can give: status and name in [`PROBLEMS`].
type Common = &'static [(&'static str, &'static str)];

const OF_AGENTS: Common =
    &[("400", "BadAgentHeader"), ("401", "BadKey"), ("500", "Internal"), ("503", "Unavailable")];
const OF_API_KEYS: Common = &[
    ("401", "InvalidApiKey"),
    ("403", "NotPermitted"),
    ("429", "StampsRateLimited"),
    ("500", "StampsInternal"),
    ("503", "StampsUnavailable"),
    ("504", "StampsTimeout"),
];
const OF_PEOPLE: Common = &[("401", "SignInNeeded"), ("500", "Internal"), ("503", "Unavailable")];
const OF_MANAGERS: Common = &[("403", "Forbidden")];
const OF_JSON_BODIES: Common = &[("400", "InvalidBody"), ("413", "BodyTooLarge"), ("422", "InvalidField")];
const OF_STAMPS_BODIES: Common =
    &[("400", "BadStampsBody"), ("413", "StampsBodyTooLarge"), ("422", "MalformedStampsBody")];

/// The `OpenAPI` document of this build, served at `base_url`.
pub fn document(base_url: &str) -> Result<Value, Error> {
    let mut document: Value = serde_json::from_str(FRAME)?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["servers"] = json!([{ "url": base_url }]);
    for area in AREAS {
        merge(&mut document, serde_json::from_str(area)?);
    }
    chats::add(&mut document);
    document["components"]["schemas"]["Auth"]["oneOf"] = kinds();
    merge(&mut document, problems()?);
    merge(&mut document, details::responses()?);
    for (path, operation) in operations(&mut document) {
        add_common(&path, operation);
    }
    merge(&mut document, pages()?);
    Ok(document)
}

/// Schemas of the credential kinds.
fn kinds() -> Value {
    let kinds = CredentialKind::ALL.iter().filter(|kind| kind.connector == Connector::Direct);
    kinds.flat_map(|kind| kind.schemas()).collect()
}

/// Merges the members of `from` into `into`, level by level.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Every operation with its path.
fn operations(document: &mut Value) -> impl Iterator<Item = (String, &mut Map<String, Value>)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let members = item.as_object_mut().into_iter().flatten();
        // The other member of a path is its list of parameters.
        members.filter_map(|(_, member)| Some((path.clone(), member.as_object_mut()?)))
    })
}

/// Adds the common responses, except those that the operation defines itself.
fn add_common(path: &str, operation: &mut Map<String, Value>) {
    let mut common: Vec<Common> = Vec::new();
    let mut of_bodies = OF_JSON_BODIES;
    match operation.get("security").map(Value::to_string).as_deref() {
        Some(security) if security.contains("agentKey") => common.push(OF_AGENTS),
        // The operation defines its own.
        Some(security) if security.contains("agentBearer") => {}
        Some(security) if security.contains("apiKey") => {
            common.push(OF_API_KEYS);
            of_bodies = OF_STAMPS_BODIES;
        }
        Some(_) => common.push(OF_PEOPLE),
        None => {}
    }
    if path.starts_with("/admin/") {
        common.push(OF_MANAGERS);
    }
    if operation.contains_key("requestBody") && path != "/forward" && !path.starts_with("/p/") {
        common.push(of_bodies);
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, name) in common.into_iter().flatten() {
        responses
            .entry(*status)
            .or_insert_with(|| json!({ "$ref": format!("#/components/responses/{name}") }));
    }
}

/// One row of the table of failures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    status: u16,
    description: String,
    codes: Vec<String>,
    #[serde(default)]
    retry_after: bool,
    #[serde(default)]
    headers: Map<String, Value>,
}

fn problems() -> Result<Value, Error> {
    let table: Map<String, Value> = serde_json::from_str(PROBLEMS)?;
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
        headers.insert("PX-Error".to_owned(), header("PxError"));
        headers.insert("X-Request-Id".to_owned(), header("RequestId"));
        if self.retry_after {
            headers.insert("Retry-After".to_owned(), header("RetryAfter"));
        }
        let title = StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        let schema = json!({
            "allOf": [
                { "$ref": "#/components/schemas/Problem" },
                { "properties": {
                    "status": { "const": self.status },
                    "title": { "const": title },
                    "code": { "enum": self.codes },
                } },
            ],
        });
        json!({
            "description": self.description,
            "headers": headers,
            "content": { "application/problem+json": { "schema": schema } },
        })
    }
}

/// A description, or a description and the media type if it is not HTML.
#[derive(Deserialize)]
#[serde(untagged)]
enum Page {
    Html(String),
    Other(String, String),
}

fn pages() -> Result<Value, Error> {
    let table: Map<String, Value> = serde_json::from_str(PAGES)?;
    let mut paths = json!({});
    for (route, page) in table {
        let Some((method, path)) = route.split_once(' ') else { continue };
        let (summary, media) = match serde_json::from_value(page)? {
            Page::Html(summary) => (summary, "text/html".to_owned()),
            Page::Other(summary, media) => (summary, media),
        };
        let method = method.to_ascii_lowercase();
        paths[path]["parameters"] = path_parameters(path);
        paths[path][&method] = page_operation(&method, path, &summary, &media);
    }
    Ok(json!({ "paths": paths }))
}

fn page_operation(method: &str, path: &str, summary: &str, media: &str) -> Value {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let id = words.fold(method.to_owned(), |id, word| format!("{id}_{word}"));
    let mut operation = json!({
        "tags": ["Pages"],
        "operationId": format!("page_{id}"),
        "summary": summary,
        "responses": { "200": { "description": summary, "content": { media: {} } } },
    });
    if method == "post" {
        operation["requestBody"] = json!({ "content": { "application/x-www-form-urlencoded": {} } });
        operation["responses"]["303"] = json!({ "description": "Done; see the page named in `Location`." });
    }
    if path.starts_with("/app") || path == "/sign-out" || path.starts_with("/approve/") {
        operation["security"] = json!([{ "cookie": [] }]);
    }
    operation
}

fn path_parameters(path: &str) -> Value {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect()
}
