//! The API description: complete, valid, and consistent with the served API.

use std::collections::{BTreeMap, BTreeSet};

use pyxis::openapi::document;
use serde_json::Value;

type Route = (String, String);

const METHODS: &[&str] = &["get", "put", "post", "delete", "patch"];

/// Sources of the routes and of the failures.
const GATEWAY: &str = include_str!("../../../pyxis-gateway/src/lib.rs");
const API: &str = include_str!("../../../pyxis-gateway/src/admin/api.rs");
const SERVE: &str = include_str!("../../src/serve.rs");
const DESCRIPTION: &str = include_str!("../../src/openapi.rs");
const ERRORS: &str = include_str!("../../../pyxis-gateway/src/error.rs");
const VERIFICATION: &str = include_str!("../../../pyxis-verify/src/routes.rs");
const VERIFICATION_ADMIN: &str = include_str!("../../../pyxis-verify/src/api.rs");
const STAMPS_API: &str = include_str!("../../../pyxis-scoring/src/routes.rs");
const EARLIER: &str = include_str!("../../../pyxis-scoring/src/routes/legacy.rs");
const SCORING_ADMIN: &str = include_str!("../../../pyxis-scoring/src/api.rs");
const SERVICE_ERRORS: &str = include_str!("../../../pyxis-scoring/src/service/error.rs");
const DETAIL_ERRORS: &str = include_str!("../../../pyxis-scoring/src/error.rs");
const DETAILS: &str = include_str!("../../openapi/details.json");
const BODIES: &str = include_str!("../../../pyxis-http/src/json.rs");

fn described() -> Value {
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

/// The routes of `.route("/path", get(…).post(…))` calls in a source file.
fn routes_in(source: &str) -> BTreeSet<Route> {
    let mut routes = BTreeSet::new();
    for call in source.split(".route(").skip(1) {
        let (path, rest) =
            call.trim_start().strip_prefix('"').and_then(|call| call.split_once('"')).expect("a path");
        let end = closing(rest).expect("a call that ends");
        for method in METHODS {
            if rest[..end]
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '(' && c != '_')
                .any(|word| word.starts_with(&format!("{method}(")))
            {
                routes.insert((method.to_uppercase(), path.to_owned()));
            }
        }
        // `/forward` accepts any method so that it can refuse all but one with an explanation.
        if rest[..end].contains(" any(") {
            routes.insert(("POST".to_owned(), path.to_owned()));
        }
    }
    routes
}

/// Position at which the parenthesis that is open at the start of `text` closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(position, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (depth == 0).then_some(position)
    })
}

/// Sources of the chat platforms, whose routes are in their own files.
fn chat_platforms() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../pyxis-gateway/src/channels");
    let files =
        std::fs::read_dir(folder).expect("the chat platforms").map(|entry| entry.expect("a file").path());
    files.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn served() -> BTreeSet<Route> {
    let sources = [
        GATEWAY,
        API,
        STAMPS_API,
        EARLIER,
        SCORING_ADMIN,
        VERIFICATION,
        VERIFICATION_ADMIN,
        SERVE,
        DESCRIPTION,
    ];
    let mut routes: BTreeSet<Route> = sources.into_iter().flat_map(routes_in).collect();
    routes.extend(chat_platforms().iter().flat_map(|source| routes_in(source)));
    // On its own listener.
    routes.remove(&("GET".to_owned(), "/metrics".to_owned()));
    // A separate prefix, for every method.
    routes.insert(("POST".to_owned(), "/p/{credential}/{path}".to_owned()));
    let pages = pyxis_dashboard::view::routes::ROUTES.iter();
    routes.extend(pages.map(|(method, path)| ((*method).to_owned(), (*path).to_owned())));
    routes
}

#[test]
fn every_route_is_described_and_every_description_is_of_a_route() {
    let document = described();
    let described: BTreeSet<Route> = operations(&document).into_iter().map(|(route, ..)| route).collect();
    let served = served();
    assert!(served.len() > 115, "routes were found in the sources: {}", served.len());
    assert_eq!(served.difference(&described).collect::<Vec<_>>(), [] as [&Route; 0], "not described");
    assert_eq!(described.difference(&served).collect::<Vec<_>>(), [] as [&Route; 0], "not served");
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
    let document = described();
    let mut used = BTreeSet::new();
    walk(&document, &mut |value| {
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
            used.insert(pointer.to_owned());
        }
    });
    for kind in ["schemas", "responses", "parameters", "requestBodies", "headers"] {
        for name in document["components"][kind].as_object().expect("components").keys() {
            // Every path can return it, to methods that are not described.
            let pointer = format!("/components/{kind}/{name}");
            assert!(used.contains(&pointer) || name.ends_with("MethodNotAllowed"), "{pointer}");
        }
    }
}

#[test]
fn an_operation_has_a_name_of_its_own_a_known_tag_a_summary_and_its_answers() {
    let document = described();
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
    let document = described();
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

/// `Problem::new(S::STATUS, "code", …)` and its kin in a source file.
fn failures_in(source: &str) -> BTreeSet<(u16, String)> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let calls = source.split("::new(").skip(1).filter_map(|call| {
        let (status, rest) = call.trim_start().split_once(',')?;
        let status = status.strip_prefix("StatusCode::").or_else(|| status.strip_prefix("S::"))?;
        let code = rest.trim_start().strip_prefix('"')?.split('"').next()?;
        Some((status_number(status), code.to_owned()))
    });
    calls.collect()
}

fn status_number(name: &str) -> u16 {
    let named = (400..600).find(|number| {
        let reason = http::StatusCode::from_u16(*number).ok().and_then(|status| status.canonical_reason());
        reason.is_some_and(|reason| reason.to_uppercase().replace([' ', '-'], "_") == name)
    });
    named.unwrap_or_else(|| panic!("{name} is a status"))
}

#[test]
fn every_failure_of_the_program_is_described_with_its_status_and_no_other_is() {
    let document = described();
    let mut told = BTreeSet::new();
    for response in document["components"]["responses"].as_object().unwrap().values() {
        let said = &response["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"];
        let status = said["status"]["const"].as_u64().and_then(|status| u16::try_from(status).ok());
        for code in said["code"]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            told.insert((status.expect("a status"), code.to_owned()));
        }
    }
    let mut made: BTreeSet<(u16, String)> = failures_in(ERRORS);
    made.extend(failures_in(SERVICE_ERRORS));
    made.extend(failures_in(BODIES));
    assert!(made.len() > 35, "failures were found in the sources: {}", made.len());
    assert_eq!(made, told);
}

/// The arms `Self::A | Self::B => …` of a function of the Stamps API's errors.
fn arms_of(function: &str) -> Vec<(Vec<&'static str>, &'static str)> {
    let body = DETAIL_ERRORS.split(&format!("fn {function}(&self)")).nth(1).expect("the function");
    let body = body.split("\n    }\n").next().expect("its end");
    // A long pattern has its result on a separate line.
    let body: &str = body.replace("{\n                StatusCode::", "StatusCode::").leak();
    body.lines()
        .filter_map(|line| line.trim().split_once(" => "))
        .map(|(variants, result)| {
            let name = |variant: &'static str| {
                variant.trim_start_matches("Self::").split(['(', ' ']).next().unwrap_or_default()
            };
            (variants.split(" | ").map(name).collect(), result)
        })
        .collect()
}

#[test]
fn every_failure_of_the_stamps_api_is_described_with_its_status_and_its_words() {
    let statuses: BTreeMap<&str, u16> = arms_of("status")
        .into_iter()
        .filter_map(|(variants, result)| {
            let status = result.strip_prefix("StatusCode::")?.trim_end_matches(',');
            Some(variants.into_iter().map(move |variant| (variant, status_number(status))))
        })
        .flatten()
        .collect();
    let mut made = BTreeSet::new();
    for (variants, result) in arms_of("detail") {
        let Some(text) = result.strip_prefix('"').and_then(|text| text.split('"').next()) else { continue };
        made.extend(variants.into_iter().map(|variant| (statuses[variant], text.to_owned())));
    }
    assert!(made.len() > 9, "failures were found in the sources: {made:?}");
    let table: BTreeMap<String, Value> = serde_json::from_str(DETAILS).unwrap();
    let mut told = BTreeSet::new();
    for row in table.values() {
        let status = row["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap();
        told.extend(
            row["details"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .map(|text| (status, text.to_owned())),
        );
    }
    assert_eq!(made, told);
}

#[test]
fn a_reference_to_a_failure_stands_at_its_status() {
    let document = described();
    let details: Value = serde_json::from_str(DETAILS).unwrap();
    for (route, operation, _) in operations(&document) {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let Some(reference) = answer["$ref"].as_str() else { continue };
            let found = document.pointer(&reference[1..]).expect("a response");
            let detail = &details[reference.rsplit('/').next().unwrap_or_default()]["status"];
            assert!(detail.is_null() || detail.as_u64() == status.parse().ok(), "{route:?} {status}");
            let said =
                &found["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["status"];
            if let Some(said) = said["const"].as_u64() {
                assert_eq!(&said.to_string(), status, "{route:?}");
            }
        }
    }
}

#[test]
fn every_json_body_refuses_members_that_it_does_not_name() {
    let document = described();
    for (route, operation, _) in operations(&document) {
        // Clients still send the earlier paths everything that they used to send, for example a signature.
        if operation["tags"][0] == "Earlier paths" {
            continue;
        }
        // A voting tool posts any configuration of its users.
        if route.1.starts_with("/snapshot-strategies/") {
            continue;
        }
        let body = &operation["requestBody"];
        let body = body["$ref"].as_str().map_or(body, |reference| document.pointer(&reference[1..]).unwrap());
        let schema = &body["content"]["application/json"]["schema"];
        let schema =
            schema["$ref"].as_str().map_or(schema, |reference| document.pointer(&reference[1..]).unwrap());
        if !schema.is_null() && schema["type"] != "array" {
            assert_eq!(schema["additionalProperties"], false, "{route:?}");
        }
    }
}

#[test]
fn what_is_required_exists_and_examples_name_nothing_unknown() {
    let document = described();
    walk(&document, &mut |value| {
        if let (Some(required), Some(properties)) =
            (value["required"].as_array(), value["properties"].as_object())
        {
            for name in required.iter().filter_map(Value::as_str) {
                assert!(properties.contains_key(name), "{name}");
            }
        }
        let schema = &value["schema"];
        let schema =
            schema["$ref"].as_str().map_or(schema, |reference| document.pointer(&reference[1..]).unwrap());
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
    let document = described();
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
