//! The API description, assembled from what the handlers of each crate say.
//!
//! Responses that all operations of a kind share are added here, so that no operation lacks them. Examples are those to
//! a missing key and to a body that is not JSON.

mod chats;
mod frame;
mod tidy;

use pyxis_core::auth::{Connector, CredentialKind};
use pyxis_http::openapi::{self, Clash};
use serde_json::{Map, Value, json};
use utoipa::openapi::{OpenApi, Paths};

use super::Error;
use crate::health;

/// Responses that every operation of a kind can give: status and name of the component.
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
const OF_PAGES: Common = &[
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
    let mut document = frame::frame(base_url);
    for part in derived()? {
        let mut part = serde_json::to_value(part)?;
        tidy::tidy(&mut part);
        join(&mut document, part)?;
    }
    chats::add(&mut document);
    document["components"]["schemas"]["Auth"] =
        json!({ "description": "How the secret is attached.", "oneOf": kinds() });
    for (path, operation) in operations(&mut document) {
        add_common(&path, operation);
    }
    Ok(document)
}

/// The descriptions that come from the handlers, one for each crate that serves some.
fn derived() -> Result<[OpenApi; 6], Clash> {
    let shared = openapi::description(Paths::new(), openapi::problem_schema(), openapi::responses::all())?;
    let health = health::describe_routes().into_description(Vec::new())?;
    let own = super::describe_routes().into_description(Vec::new())?;
    Ok([shared, health, own, pyxis_gateway::openapi()?, pyxis_scoring::openapi()?, pyxis_verify::openapi()?])
}

/// Adds the paths and components of `part`. A name that two parts use must mean the same in both.
fn join(document: &mut Value, part: Value) -> Result<(), Error> {
    for (kind, components) in part["components"].as_object().into_iter().flatten() {
        for (name, component) in components.as_object().into_iter().flatten() {
            let known = &document["components"][kind][name];
            if !known.is_null() && known != component {
                return Err(Clash(name.clone()).into());
            }
        }
    }
    let Value::Object(mut part) = part else { return Ok(()) };
    part.retain(|member, _| member == "paths" || member == "components");
    merge(document, Value::Object(part));
    Ok(())
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
        Some(security) if security.contains("publishableKey") => {
            common.push(OF_PAGES);
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
