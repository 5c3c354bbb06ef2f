//! The API description: complete, valid, and consistent with the served API.

use std::collections::{BTreeMap, BTreeSet};

use pyxis::openapi::document;
use pyxis_gateway::channels::PLATFORMS;
use pyxis_http::problem::kinds;
use serde_json::Value;

mod examples;
mod schema;

type Route = (String, String);

const METHODS: &[&str] = &["get", "put", "post", "delete", "patch"];

fn api_document() -> Value {
    document("https://pyxis.example.org").expect("the fragments fit together")
}

/// Every operation: method in upper case, path, the operation and its path's parameters.
fn operations(document: &Value) -> Vec<(Route, &Value, &Value)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("a path item") {
            if METHODS.contains(&method.as_str()) {
                found.push(((method.to_uppercase(), path.clone()), operation, &item["parameters"]));
            }
        }
    }
    found
}

/// Target of a reference, or the value itself.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"].as_str().map_or(value, |reference| document.pointer(&reference[1..]).expect("a component"))
}

/// The description comes from the handlers; no fragment may be added.
#[test]
fn nothing_of_the_description_is_written_by_hand() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(names, BTreeSet::from(["docs.css".to_owned()]));
}

#[test]
fn every_operation_of_the_api_is_described() {
    let document = api_document();
    let routes: BTreeSet<Route> = operations(&document).into_iter().map(|(route, ..)| route).collect();
    // A route cannot be served without its description; this notices an area that is left out as a whole.
    for path in ["/forward", "/p/{credential}/{path}", "/sign", "/session", "/registry/submit-passport"]
        .into_iter()
        .chain(PLATFORMS.iter().filter_map(|described| described.posts_to))
    {
        assert!(routes.contains(&("POST".to_owned(), path.to_owned())), "{path}");
    }
    for path in
        ["/healthz", "/docs", "/v2/stamps/metadata", "/attestation/keys", "/admin/proofs", "/admin/audit"]
    {
        assert!(routes.contains(&("GET".to_owned(), path.to_owned())), "{path}");
    }
    assert!(routes.len() > 115, "{}", routes.len());
    assert!(routes.iter().all(|(_, path)| !path.starts_with("/app/")), "pages are no interface");
}

/// Visits every value of a document.
fn walk<'a>(value: &'a Value, visit: &mut impl FnMut(&'a Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|member| walk(member, visit)),
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_used() {
    let document = api_document();
    let mut used = BTreeSet::new();
    walk(&document, &mut |value| {
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
            used.insert(pointer.to_owned());
        }
    });
    for kind in ["schemas", "responses", "parameters", "requestBodies", "headers"] {
        for name in document["components"][kind].as_object().into_iter().flat_map(|all| all.keys()) {
            // Every path can return it, to methods that are not described.
            let pointer = format!("/components/{kind}/{name}");
            assert!(used.contains(&pointer) || name.ends_with("MethodNotAllowed"), "{pointer}");
        }
    }
}

#[test]
fn an_operation_has_a_name_of_its_own_a_known_tag_a_summary_and_its_answers() {
    let document = api_document();
    let tags: Vec<&str> =
        document["tags"].as_array().unwrap().iter().filter_map(|tag| tag["name"].as_str()).collect();
    let mut names = BTreeSet::new();
    for (route, operation, _) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        assert!(!name.is_empty() && names.insert(name), "{route:?}");
        assert!(tags.contains(&operation["tags"][0].as_str().unwrap_or_default()), "{route:?}");
        assert!(operation["summary"].is_string(), "{route:?}");
        assert!(operation["responses"].as_object().is_some_and(|answers| !answers.is_empty()), "{route:?}");
        for scheme in operation["security"][0].as_object().into_iter().flat_map(|scheme| scheme.keys()) {
            assert!(document["components"]["securitySchemes"][scheme].is_object(), "{route:?}");
        }
    }
}

#[test]
fn a_path_declares_exactly_the_parameters_that_stand_in_it() {
    let document = api_document();
    for ((_, path), operation, shared) in operations(&document) {
        let in_path: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        let lists = [shared, &operation["parameters"]];
        let declared: BTreeSet<&str> = lists
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .map(|parameter| match parameter["$ref"].as_str() {
                Some(reference) => document.pointer(&reference[1..]).expect("a parameter"),
                None => parameter,
            })
            .filter(|parameter| parameter["in"] == "path")
            .inspect(|parameter| assert_eq!(parameter["required"], true, "{path}"))
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert_eq!(in_path, declared, "{path}");
    }
}

#[test]
fn every_failure_of_the_program_is_described_with_its_status_and_no_other_is() {
    let document = api_document();
    let mut told = BTreeSet::new();
    for response in document["components"]["responses"].as_object().unwrap().values() {
        let said = &response["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"];
        let status = said["status"]["enum"][0].as_u64().and_then(|status| u16::try_from(status).ok());
        for code in said["code"]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            told.insert((status.expect("a status"), code.to_owned()));
        }
    }
    let kinds = kinds::ALL.iter().chain(pyxis_gateway::PROBLEMS);
    let made: BTreeSet<(u16, String)> =
        kinds.map(|kind| (kind.status.as_u16(), kind.code.to_owned())).collect();
    assert_eq!(made, told);
}

/// The unknown name stands in `detail`, so no list of fixed texts holds it.
#[test]
fn the_detail_of_an_unknown_model_is_any_text() {
    let document = api_document();
    let refused = &document["paths"]["/v2/models/score/{address}"]["get"]["responses"]["400"]["$ref"];
    assert_eq!(refused, "#/components/responses/BadModelRequest");
    let schema =
        &document["components"]["responses"]["BadModelRequest"]["content"]["application/json"]["schema"];
    assert_eq!(schema, &serde_json::json!({"$ref": "#/components/schemas/Detail"}));
    let detail = &document["components"]["schemas"]["Detail"]["properties"]["detail"];
    assert_eq!(detail["oneOf"][0], serde_json::json!({"type": "string"}));
}

#[test]
fn a_reference_to_a_failure_stands_at_its_status() {
    let document = api_document();
    for (route, operation, _) in operations(&document) {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let Some(reference) = answer["$ref"].as_str() else { continue };
            let found = document.pointer(&reference[1..]).expect("a response");
            let said =
                &found["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["status"];
            if let Some(said) = said["enum"][0].as_u64() {
                assert_eq!(&said.to_string(), status, "{route:?}");
            }
        }
    }
}

#[test]
fn every_json_body_refuses_members_that_it_does_not_name() {
    let document = api_document();
    for (route, operation, _) in operations(&document) {
        // Clients still send the earlier paths everything that they used to send, for example a signature.
        if operation["tags"][0] == "Earlier paths" {
            continue;
        }
        // A voting tool posts any configuration of its users, and a chat platform adds members.
        let is_chat = PLATFORMS.iter().any(|described| described.posts_to == Some(route.1.as_str()));
        if route.1.starts_with("/snapshot-strategies/") || is_chat {
            continue;
        }
        let body = &operation["requestBody"];
        let schema = &resolved(&document, body)["content"]["application/json"]["schema"];
        let schema = resolved(&document, schema);
        if !schema.is_null() && schema["type"] != "array" {
            assert_eq!(schema["additionalProperties"], false, "{route:?}");
        }
    }
}

#[test]
fn what_is_required_exists_and_examples_name_nothing_unknown() {
    let document = api_document();
    walk(&document, &mut |value| {
        if let (Some(required), Some(properties)) =
            (value["required"].as_array(), value["properties"].as_object())
        {
            for name in required.iter().filter_map(Value::as_str) {
                assert!(properties.contains_key(name), "{name}");
            }
        }
        let schema = resolved(&document, &value["schema"]);
        if let (Some(example), Some(properties)) =
            (value["example"].as_object(), schema["properties"].as_object())
        {
            for name in example.keys() {
                assert!(properties.contains_key(name), "{name}");
            }
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(example.contains_key(name), "{name}");
            }
        }
    });
}

async fn answer(path: &str) -> (BTreeMap<String, String>, String) {
    use http_body_util::BodyExt;
    use tower::ServiceExt;
    let request = http::Request::get(path).body(axum::body::Body::empty()).expect("a request");
    let response =
        pyxis::openapi::routes("https://pyxis.example.org/<&>").oneshot(request).await.expect("an answer");
    assert_eq!(response.status(), 200, "{path}");
    let headers = response.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().expect("text").to_owned())).collect();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (headers, String::from_utf8(body.to_vec()).expect("UTF-8"))
}

#[tokio::test]
async fn the_document_is_served_as_json_with_the_public_origin() {
    let (headers, body) = answer("/openapi.json").await;
    assert_eq!(headers["content-type"], "application/json");
    let document: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(document["servers"][0]["url"], "https://pyxis.example.org/<&>");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn the_page_shows_every_operation_and_loads_nothing() {
    let (headers, page) = answer("/docs").await;
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    let policy = &headers["content-security-policy"];
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    for bad in ["<script", "src=", "<link", "url(", "@import", " style=", "https://pyxis.example.org/<&>"] {
        assert!(!page.contains(bad), "{bad}");
    }
    let document = api_document();
    for (route, operation, _) in operations(&document) {
        let anchor = format!("id=\"{}\"", operation["operationId"].as_str().unwrap());
        assert_eq!(page.matches(&anchor).count(), 1, "{route:?}");
    }
}

#[tokio::test]
async fn every_link_within_the_page_has_its_anchor_and_every_anchor_is_one() {
    let (_, page) = answer("/docs").await;
    let named = |start: &str| -> Vec<String> {
        page.split(start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    };
    let anchors = named(" id=\"");
    let distinct: BTreeSet<&String> = anchors.iter().collect();
    assert_eq!(distinct.len(), anchors.len());
    for link in named("href=\"#") {
        assert!(distinct.contains(&link), "{link}");
    }
}

/// The description as clients see it. Look at each change, then accept it with `INSTA_UPDATE=always`.
#[test]
fn the_whole_document_is_as_it_was_looked_at() {
    let mut document = api_document();
    document["info"]["version"] = "VERSION".into();
    insta::assert_json_snapshot!(document);
}
