//! Renders the API description as an HTML page, once.

mod html;
mod layout;
mod schema;
mod search_terms;

use serde_json::{Map, Value};

use self::schema::{SchemaField, fields, has_own_section, kind, resolve};
use self::search_terms::{SearchTerms, paragraphs, parse_terms};

/// The page's style, embedded so that the page works with any set of surfaces.
pub(super) const STYLE: &str = include_str!("../../openapi/docs.css");

struct Page {
    title: String,
    version: String,
    summary: String,
    base_url: String,
    introduction: Vec<SearchTerms>,
    keys: Vec<AuthHeader>,
    audiences: Vec<Audience>,
    schemas: Vec<Schema>,
}

/// An authentication header.
struct AuthHeader {
    anchor: String,
    header: String,
    description: SearchTerms,
}

/// Readers of a part of the page.
struct Audience {
    name: String,
    anchor: String,
    groups: Vec<Group>,
}

struct Group {
    name: String,
    anchor: String,
    description: SearchTerms,
    operations: Vec<Operation>,
}

struct Operation {
    anchor: String,
    method: String,
    path: String,
    summary: String,
    description: Vec<SearchTerms>,
    /// Anchor and header of the required key.
    key: Option<(String, String)>,
    parameters: Vec<SchemaField>,
    body: Option<Body>,
    answers: Vec<ResponseDoc>,
}

struct Body {
    required: bool,
    description: SearchTerms,
    content: Content,
}

/// Content of a body.
#[derive(Default)]
struct Content {
    media: String,
    kind: SearchTerms,
    fields: Vec<SchemaField>,
    examples: Vec<(String, String)>,
}

struct ResponseDoc {
    status: String,
    /// `good`, `bad` or `other`.
    mood: &'static str,
    description: SearchTerms,
    codes: Vec<String>,
    headers: Vec<SchemaField>,
    content: Content,
}

struct Schema {
    name: String,
    description: SearchTerms,
    kind: SearchTerms,
    fields: Vec<SchemaField>,
}

/// Renders `document` as a page.
pub(super) fn render(document: &Value) -> String {
    let info = &document["info"];
    Page {
        title: text(&info["title"]),
        version: text(&info["version"]),
        summary: text(&info["summary"]),
        base_url: text(&document["servers"][0]["url"]),
        introduction: paragraphs(&info["description"]),
        keys: entries(&document["components"]["securitySchemes"])
            .map(|(name, key)| auth_header(name, key))
            .collect(),
        audiences: list(&document["x-tagGroups"]).map(|found| audience(document, found)).collect(),
        schemas: entries(&document["components"]["schemas"])
            .filter(|(_, schema)| has_own_section(schema))
            .map(|(name, schema)| Schema {
                name: name.clone(),
                description: parse_terms(&schema["description"]),
                kind: kind(document, schema),
                fields: fields(document, schema),
            })
            .collect(),
    }
    .html()
}

fn auth_header(name: &str, key: &Value) -> AuthHeader {
    AuthHeader {
        anchor: format!("key-{name}"),
        header: header_of(key),
        description: parse_terms(&key["description"]),
    }
}

fn header_of(key: &Value) -> String {
    match key["in"].as_str() {
        Some("header") => text(&key["name"]),
        Some(_) => "Cookie".to_owned(),
        None => "Authorization".to_owned(),
    }
}

fn audience(document: &Value, found: &Value) -> Audience {
    let named = |name: &Value| list(&document["tags"]).find(|tag| tag["name"] == *name);
    Audience {
        name: text(&found["name"]),
        anchor: anchor("for", &found["name"]),
        groups: list(&found["tags"]).filter_map(named).map(|tag| group(document, tag)).collect(),
    }
}

/// A name as the end of an anchor.
fn anchor(start: &str, name: &Value) -> String {
    format!("{start}-{}", text(name).to_lowercase().replace(' ', "-"))
}

/// The operations of a tag, short paths first, because they build on each other.
fn group(document: &Value, tag: &Value) -> Group {
    let mut operations = Vec::new();
    for (path, item) in entries(&document["paths"]) {
        for (method, found) in entries(item) {
            if found["tags"][0] == tag["name"] {
                operations.push(operation(document, path, item, method, found));
            }
        }
    }
    let rank =
        |method: &str| ["GET", "POST", "PUT", "PATCH", "DELETE"].iter().position(|known| *known == method);
    operations.sort_by_key(|one| (one.path.matches('/').count(), one.path.clone(), rank(&one.method)));
    Group {
        name: text(&tag["name"]),
        anchor: anchor("area", &tag["name"]),
        description: parse_terms(&tag["description"]),
        operations,
    }
}

fn operation(document: &Value, path: &str, item: &Value, method: &str, found: &Value) -> Operation {
    let key = entries(&found["security"][0]).next().map(|(name, _)| {
        (format!("key-{name}"), header_of(&document["components"]["securitySchemes"][name]))
    });
    let parameters = list(&item["parameters"]).chain(list(&found["parameters"]));
    Operation {
        anchor: text(&found["operationId"]),
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        summary: text(&found["summary"]),
        description: paragraphs(&found["description"]),
        key,
        parameters: parameters
            .map(|parameter| SchemaField::parameter(document, resolve(document, parameter)))
            .collect(),
        body: found.get("requestBody").map(|body| {
            let body = resolve(document, body);
            Body {
                required: body["required"] == true,
                description: parse_terms(&body["description"]),
                content: content(document, &body["content"], true),
            }
        }),
        answers: entries(&found["responses"])
            .map(|(status, answer)| response_doc(document, status, answer))
            .collect(),
    }
}

fn response_doc(document: &Value, status: &str, answer: &Value) -> ResponseDoc {
    let answer = resolve(document, answer);
    let problem = &answer["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["code"];
    let codes: Vec<String> = list(&problem["enum"]).map(text).collect();
    // Every failure has the same body and the same two headers, which the introduction describes.
    let told = |name: &str| !codes.is_empty() && ["PX-Error", "X-Request-Id"].contains(&name);
    let headers = entries(&answer["headers"]).filter(|(name, _)| !told(name));
    ResponseDoc {
        status: if status == "default" { "any".to_owned() } else { status.to_owned() },
        mood: match status.as_bytes() {
            [b'2', ..] => "good",
            [b'4' | b'5', ..] => "bad",
            _ => "other",
        },
        description: parse_terms(&answer["description"]),
        headers: headers
            .map(|(name, header)| SchemaField::header(document, name, resolve(document, header)))
            .collect(),
        content: if codes.is_empty() {
            content(document, &answer["content"], false)
        } else {
            Content::default()
        },
        codes,
    }
}

/// The first media type. Lists its members if they are not documented elsewhere or, for a request, needed to call it.
fn content(document: &Value, by_media: &Value, request: bool) -> Content {
    let Some((media, content)) = entries(by_media).next() else { return Content::default() };
    let schema = &content["schema"];
    let named = schema.get("$ref").is_some();
    let examples = entries(&content["examples"]).map(|(_, one)| (text(&one["summary"]), &one["value"]));
    let example = content.get("example").map(|example| (String::new(), example));
    Content {
        media: if media == "*/*" { "any media type".to_owned() } else { media.clone() },
        kind: if schema.is_null() { SearchTerms::default() } else { kind(document, schema) },
        fields: if request || !named { fields(document, resolve(document, schema)) } else { Vec::new() },
        examples: example
            .into_iter()
            .chain(examples)
            .map(|(title, value)| (title, format!("{value:#}")))
            .collect(),
    }
}

/// The members of an object; none for anything else.
fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The items of a list; none for anything else.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
