//! JSON-LD to the canonical form that is signed: RDF dataset canonicalization (RDFC-1.0, formerly URDNA2015).
//!
//! Nothing is ever loaded: the required terms of the known contexts are built in.

use std::collections::HashSet;
use std::sync::LazyLock;

use oxjsonld::{JsonLdParser, JsonLdRemoteDocument};
use oxrdf::dataset::{CanonicalizationAlgorithm, CanonicalizationHashAlgorithm};
use oxrdf::{Dataset, QuadRef, TermRef};
use serde_json::{Map, Value};

use super::claims::CREDENTIALS_CONTEXT;
use super::json::{JsonNode, Object};
use super::rejection::Rejection;

/// The terms of credentials and their proofs, as the credentials context defines them.
const TERMS: &str = include_str!("terms.json");
/// Contexts that are allowed in addition to the credentials context and define nothing that is read here.
const OTHER_CONTEXTS: [&str; 4] = [
    "https://w3id.org/vc/status-list/2021/v1",
    "https://w3id.org/security/v1",
    "https://w3id.org/security/v2",
    "https://w3id.org/security/suites/ed25519-2018/v1",
];

/// Maximum number of contexts of a credential, and of terms in one of them: processing them takes the most time.
const MAX_CONTEXTS: usize = 8;
const MAX_TERMS: usize = 16;

/// The names that a credential may not redefine.
static RESERVED: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut file: Map<String, Value> = serde_json::from_str(TERMS).expect("the built-in terms are an object");
    match file.remove("@context") {
        Some(Value::Object(terms)) => terms,
        _ => unreachable!("the built-in terms are a context"),
    }
});

/// A canonical document.
pub(super) struct Canonical {
    /// N-Quads, sorted.
    pub(super) text: String,
    /// Every literal and every name that occurs as an object or subject.
    values: HashSet<String>,
}

impl Canonical {
    /// The canonical form of `document`; `None` if it is not JSON-LD.
    pub(super) fn canonicalize(document: &Map<String, Value>) -> Option<Self> {
        let text = serde_json::to_string(document).ok()?;
        let mut dataset = JsonLdParser::new()
            .for_slice(&text)
            .with_load_document_callback(|url, _| Ok(load(url)))
            .collect::<Result<Dataset, _>>()
            .ok()?;
        dataset.canonicalize(CanonicalizationAlgorithm::Rdfc10 {
            hash_algorithm: CanonicalizationHashAlgorithm::Sha256,
        });
        let mut lines: Vec<String> = dataset.iter().map(|quad| format!("{quad} .\n")).collect();
        lines.sort_unstable();
        Some(Self { text: lines.concat(), values: dataset.iter().flat_map(values).collect() })
    }

    /// True if `value` became part of the canonical form.
    pub(super) fn says(&self, value: &str) -> bool {
        self.values.contains(value)
    }
}

fn values(quad: QuadRef<'_>) -> [String; 2] {
    let object = match quad.object {
        TermRef::Literal(literal) => literal.value().to_owned(),
        TermRef::NamedNode(node) => node.as_str().to_owned(),
        TermRef::BlankNode(_) => String::new(),
    };
    [object, quad.subject.to_string().trim_matches(['<', '>']).to_owned()]
}

/// Called for contexts that [`check_contexts`] accepted; any other defines nothing.
fn load(url: &str) -> JsonLdRemoteDocument {
    let document = if url == CREDENTIALS_CONTEXT { TERMS } else { "{\"@context\":{}}" };
    JsonLdRemoteDocument { document: document.into(), document_url: url.to_owned() }
}

/// Checks the contexts of a credential: the document may have known contexts and definitions, the subject only
/// definitions.
pub(super) fn check_contexts(document: &Object<'_>, subject: &Object<'_>) -> Result<(), Rejection> {
    let refused = |field: &str| Rejection::UnsupportedContext { field: field.to_owned() };
    let defines = |node: &JsonNode<'_>| matches!(node, JsonNode::Object(terms) if defines_plain_terms(terms));
    let contexts = document.list("@context")?;
    let named =
        |node: &JsonNode<'_>| contexts.iter().filter(|other| other.as_text() == node.as_text()).count();
    let known = |node: &JsonNode<'_>| node.as_text().is_some_and(is_known) && named(node) == 1;
    if contexts.len() > MAX_CONTEXTS || !contexts.iter().all(|node| known(node) || defines(node)) {
        return Err(refused("@context"));
    }
    let fits = match subject.get("@context") {
        None => true,
        Some(JsonNode::List(list)) => list.len() <= 1 && list.iter().all(defines),
        Some(node) => defines(node),
    };
    if fits { Ok(()) } else { Err(refused("credentialSubject.@context")) }
}

pub(super) fn is_known(context: &str) -> bool {
    context == CREDENTIALS_CONTEXT || OTHER_CONTEXTS.contains(&context)
}

/// Accepts definitions of new terms only as plain property names for texts or lists of texts. Other JSON-LD features
/// (prefixes, nesting, keyword aliases) would let the holder change the meaning of what was signed.
fn defines_plain_terms(terms: &Object<'_>) -> bool {
    let plain = |term: &str| !term.is_empty() && term.bytes().all(|byte| byte.is_ascii_alphanumeric());
    terms.len() <= MAX_TERMS
        && terms.iter().all(|(term, definition)| {
            plain(term) && !RESERVED.contains_key(term) && is_plain_definition(definition)
        })
}

fn is_plain_definition(definition: &JsonNode<'_>) -> bool {
    match definition {
        JsonNode::Text(name) => is_web_address(name),
        JsonNode::Object(parts) => parts.iter().all(|(key, value)| match (key, value.as_text()) {
            ("@id" | "@type", Some(name)) => is_web_address(name),
            ("@container", Some(container)) => matches!(container, "@list" | "@set"),
            _ => false,
        }),
        _ => false,
    }
}

/// Names are web addresses: nothing relative, and no prefix of something else.
fn is_web_address(name: &str) -> bool {
    let rest = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()))
}
