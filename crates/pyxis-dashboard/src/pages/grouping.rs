//! Pending requests that resemble each other: the same agent, method, host and path pattern.

use pyxis_core::id::AgentId;
use pyxis_core::target::Target;
use pyxis_gateway::approvals::view::ApprovalView;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::gist::gist;
use crate::text::{Middle, count_noun, hex};
use crate::view::approvals::{Card, CardGroup, Differences, SharedRoute};
use crate::view::body::form_fields;

/// Most columns of the table of differences.
const COLUMNS: usize = 6;
/// Longest value in that table, in characters. The cards show everything.
const VALUE: usize = 48;
/// Most fields of one body that are compared one by one.
const FIELDS: usize = 200;
/// Deepest nesting of a body that is compared field by field.
const DEPTH: usize = 16;

/// Name of a body that is one value.
const WHOLE: &str = "body";
/// Maximum number of requests for which the table of differences is open.
const OPEN: usize = 5;

/// A card, and its data for the comparison with others.
pub(super) struct Comparable {
    card: Card,
    route: Route,
    facts: Vec<Fact>,
    /// Fingerprint of the body, as far as it is known here.
    body: String,
}

/// Requests with one route form a group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Route {
    agent: AgentId,
    method: String,
    host: String,
    /// Path with `*` for each segment that looks like an identifier.
    path: String,
}

struct Fact {
    name: String,
    value: String,
    of_body: bool,
}

impl Comparable {
    pub(super) fn new(mut card: Card, view: &ApprovalView) -> Self {
        let target = Target::parse(&view.target).ok();
        let path = target.as_ref().map_or(view.target.as_str(), Target::path);
        let route = Route {
            agent: view.row.agent_id,
            method: card.method.clone(),
            host: card.host.clone(),
            path: pattern(path),
        };
        let mut facts = vec![fact("credential", &card.credential), fact("path", path)];
        let query = target.as_ref().and_then(Target::query).unwrap_or_default();
        facts.extend(pairs(query).into_iter().map(|(name, value)| fact(&format!("?{name}"), &value)));
        facts.extend(card.headers.iter().map(|(name, value)| fact(&format!("header {name}"), value)));
        let of_body = body_facts(view);
        let fields = of_body.iter().filter(|fact| fact.name != WHOLE);
        card.gist = gist(&card, fields.map(|fact| (fact.name.as_str(), fact.value.as_str())));
        facts.extend(of_body);
        Self { body: fingerprint(view), card, route, facts }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }
}

fn fact(name: &str, value: &str) -> Fact {
    Fact { name: name.to_owned(), value: value.to_owned(), of_body: false }
}

/// The path with `*` for each segment that looks like an identifier: a number, or at least eight characters with a
/// digit.
fn pattern(path: &str) -> String {
    let segments = path.split('/').map(|segment| if is_identifier(segment) { "*" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn is_identifier(segment: &str) -> bool {
    let digits = segment.chars().filter(char::is_ascii_digit).count();
    digits > 0 && (digits == segment.len() || segment.len() >= 8)
}

/// Names and values of a query or form. A repeated name is numbered.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (name, value) in form_fields(text) {
        let known = (1..).map(|place| format!("{name}[{place}]"));
        let free = |name: &String| !pairs.iter().any(|(other, _)| other == name);
        let name = std::iter::once(name.clone()).chain(known).find(free).unwrap_or(name);
        pairs.push((name, value));
    }
    pairs
}

/// The fields of a JSON or form body. Empty if it cannot be compared field by field.
fn body_facts(view: &ApprovalView) -> Vec<Fact> {
    let Some(body) = &view.body else { return Vec::new() };
    let mut fields = Vec::new();
    let media = view.row.content_type.as_deref().unwrap_or("").split(';').next().unwrap_or("").trim();
    if media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        fields = pairs(&String::from_utf8_lossy(body));
    } else if let Ok(value) = serde_json::from_slice::<Value>(body) {
        flatten(String::new(), &value, 0, &mut fields);
    }
    if fields.len() > FIELDS {
        return Vec::new();
    }
    fields.into_iter().map(|(name, value)| Fact { name, value, of_body: true }).collect()
}

/// Adds the leaves of `value`, each under its path: `customer.id`, `items[0].price`.
fn flatten(path: String, value: &Value, depth: usize, fields: &mut Vec<(String, String)>) {
    if fields.len() > FIELDS {
        return;
    }
    match value {
        Value::Object(members) if !members.is_empty() && depth < DEPTH => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(path, member, depth + 1, fields);
            }
        }
        Value::Array(items) if !items.is_empty() && depth < DEPTH => {
            for (place, item) in items.iter().enumerate() {
                flatten(format!("{path}[{place}]"), item, depth + 1, fields);
            }
        }
        leaf => {
            let name = if path.is_empty() { WHOLE.to_owned() } else { path };
            fields.push((name, leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned)));
        }
    }
}

/// First digits of the body's SHA-256; its size if it is not opened here.
fn fingerprint(view: &ApprovalView) -> String {
    let whole = match (&view.body_sha256, &view.body) {
        (Some(digest), _) => digest.clone(),
        (None, Some(body)) => hex(&Sha256::digest(body)),
        (None, None) => return format!("{} bytes", view.row.body_bytes),
    };
    whole.chars().take(12).collect()
}

/// Puts each request after the first one with its route. The order is otherwise kept.
pub(super) fn group(requests: Vec<Comparable>) -> Vec<CardGroup> {
    let mut groups: Vec<Vec<Comparable>> = Vec::new();
    for request in requests {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.route == request.route))
        {
            Some(group) => group.push(request),
            None => groups.push(vec![request]),
        }
    }
    groups.into_iter().map(card_group).collect()
}

fn card_group(requests: Vec<Comparable>) -> CardGroup {
    let shared = match requests.as_slice() {
        [first, _, ..] => Some(SharedRoute {
            id: first.card.txn_id.clone(),
            is_long: requests.len() > OPEN,
            count: count_noun(requests.len() as u64, "request"),
            agent: first.card.agent.clone(),
            method: first.route.method.clone(),
            host: first.route.host.clone(),
            path: Middle::new(&first.route.path, VALUE),
            differences: differences(&requests),
        }),
        _ => None,
    };
    CardGroup { shared, cards: requests.into_iter().map(|request| request.card).collect() }
}

fn differences(requests: &[Comparable]) -> Option<Differences> {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for fact in requests.iter().flat_map(|request| &request.facts) {
        let known = names.iter().any(|(name, _)| *name == fact.name);
        if !known && differs(requests, |request| request.value(&fact.name)) {
            names.push((&fact.name, fact.of_body));
        }
    }
    // Bodies that differ in a way that the fields do not show.
    let bodies = differs(requests, |request| Some(request.body.as_str()))
        && !names.iter().any(|(_, of_body)| *of_body);
    if names.is_empty() && !bodies {
        return None;
    }
    let more = names.len().saturating_sub(COLUMNS);
    names.truncate(COLUMNS);
    let mut columns: Vec<String> = names.iter().map(|(name, _)| shortened(name)).collect();
    columns.extend(bodies.then(|| "body (SHA-256)".to_owned()));
    let row = |request: &Comparable| {
        let mut values: Vec<_> = names.iter().map(|(name, _)| request.value(name).map(shortened)).collect();
        values.extend(bodies.then(|| Some(request.body.clone())));
        (request.card.txn_id.clone(), columns.iter().cloned().zip(values).collect())
    };
    let rows = requests.iter().map(row).collect();
    let more = (more > 0).then(|| format!("{} more.", count_noun(more as u64, "field")));
    Some(Differences { columns, rows, more })
}

fn differs<'a>(requests: &'a [Comparable], value: impl Fn(&'a Comparable) -> Option<&'a str>) -> bool {
    let mut values = requests.iter().map(value);
    let first = values.next();
    values.any(|other| Some(other) != first)
}

fn shortened(text: &str) -> String {
    let Middle { head, tail, .. } = Middle::new(text, VALUE);
    tail.map_or_else(|| head.clone(), |tail| format!("{head}…{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_in_a_path_is_a_star_and_a_word_is_not() {
        for (path, expected) in [
            ("/v1/items/17", "/v1/items/*"),
            ("/v1/customers/cus_9s6XKzkNRiz8i3/cards", "/v1/customers/*/cards"),
            ("/notes/0190a2b4-7c00-7000-8000-000000000001", "/notes/*"),
            ("/v2/subscriptions", "/v2/subscriptions"),
            ("/", "/"),
        ] {
            assert_eq!(pattern(path), expected);
        }
    }

    #[test]
    fn a_body_is_compared_by_its_leaves() {
        let value =
            serde_json::json!({"amount": 5, "to": {"id": "a"}, "items": [{"n": 1}, {}], "none": null});
        let mut fields = Vec::new();
        flatten(String::new(), &value, 0, &mut fields);
        fields.sort();
        let expected =
            [("amount", "5"), ("items[0].n", "1"), ("items[1]", "{}"), ("none", "null"), ("to.id", "a")];
        assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_repeated_name_is_numbered() {
        let expected = [("a", "1"), ("b", "2"), ("a[1]", "3"), ("a[2]", "4")];
        assert_eq!(pairs("a=1&b=2&a=3&a=4"), expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}
