//! GraphQL requests: which operations run, and which fields they ask for at the root.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::form::{self, Parameter, ParameterName};
use super::json::JsonNode;
use super::{RequestContent, Unreadable};
use crate::policy::PolicyVerdict;
use apollo_parser::cst::{self, CstNode};

/// Limits of a document: nesting of selections, and tokens.
const MAX_DEPTH: usize = 64;
const MAX_TOKENS: usize = 20_000;
/// Most operations in a batch.
const MAX_BATCH: usize = 100;

/// Parameters of the protocol; any of them in a query makes it the request, or part of it.
const PARAMETERS: &[&str] = &["query", "operationName", "variables", "extensions"];

/// Parameters by which servers find a stored document, which nobody here has seen.
const STORED_DOCUMENTS: &[&str] =
    &["id", "documentId", "doc_id", "docId", "queryId", "query_id", "query_hash", "operationId", "hash"];

/// Names that make a parameter one of the protocol.
static NAMES: LazyLock<Vec<ParameterName>> = LazyLock::new(|| {
    let names = PARAMETERS.iter().chain(STORED_DOCUMENTS);
    names.map(|name| ParameterName::new((*name).to_owned())).collect()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationKind {
    /// Reads.
    Query,
    /// Writes.
    Mutation,
    /// Reads as things happen.
    Subscription,
}

impl OperationKind {
    /// The keyword.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Mutation => "mutation",
            Self::Subscription => "subscription",
        }
    }

    /// Verdict about a field at the root that no rule names.
    pub(super) const fn default_verdict(self) -> PolicyVerdict {
        match self {
            Self::Query | Self::Subscription => PolicyVerdict::AutoApprove,
            Self::Mutation => PolicyVerdict::RequireApproval,
        }
    }
}

/// Operations that a rule speaks about.
#[derive(Clone, Debug)]
pub(super) struct OperationCheck {
    /// `None`: any kind.
    pub(super) kind: Option<OperationKind>,
    /// Fields at the root; none: all.
    pub(super) fields: Vec<String>,
    pub(super) verdict: PolicyVerdict,
}

impl OperationCheck {
    /// True if the rule speaks about a field at the root of an operation of this kind.
    pub(super) fn covers(&self, kind: OperationKind, field: &str) -> bool {
        self.kind.is_none_or(|only| only == kind)
            && (self.fields.is_empty() || self.fields.iter().any(|one| one == field))
    }

    /// True for `any pass`, which says that nobody needs to look.
    pub(super) fn passes_everything(&self) -> bool {
        self.verdict == PolicyVerdict::AutoApprove && self.kind.is_none() && self.fields.is_empty()
    }
}

/// A field at the root of an operation that may run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RootField {
    pub(super) kind: OperationKind,
    pub(super) name: String,
}

pub(super) type RootFields = BTreeSet<RootField>;

/// Summary of a request for people: `mutation createIssue, closeIssue`.
pub(super) fn summary(fields: Result<&RootFields, Unreadable>) -> String {
    let fields = match fields {
        Ok(fields) => fields,
        Err(Unreadable(why)) => return format!("the GraphQL request cannot be read: {why}"),
    };
    let mut by_kind: BTreeMap<OperationKind, Vec<&str>> = BTreeMap::new();
    for field in fields {
        by_kind.entry(field.kind).or_default().push(&field.name);
    }
    let told: Vec<String> =
        by_kind.iter().map(|(kind, names)| format!("{} {}", kind.as_str(), names.join(", "))).collect();
    told.join("; ")
}

/// The fields at the root of every operation that the request runs: at least one. `query` has the names in its query,
/// and `json` reads its body.
pub(super) fn root_fields<'j>(
    content: &RequestContent<'_>,
    query: &[ParameterName],
    json: impl FnOnce() -> Result<&'j JsonNode, Unreadable>,
) -> Result<RootFields, Unreadable> {
    let mut fields = BTreeSet::new();
    for request in requests(content, query, json)? {
        read(&request, &mut fields)?;
    }
    Ok(fields)
}

/// A document, and the operation in it that runs.
struct GraphQlRequest {
    document: String,
    operation: Option<String>,
}

fn requests<'j>(
    content: &RequestContent<'_>,
    query: &[ParameterName],
    json: impl FnOnce() -> Result<&'j JsonNode, Unreadable>,
) -> Result<Vec<GraphQlRequest>, Unreadable> {
    let in_query = query.iter().any(is_of_protocol);
    match (in_query, content.body.is_empty()) {
        (true, true) => of_parameters(content.query.unwrap_or_default()).map(|request| vec![request]),
        (false, false) => of_body(content, json),
        (true, false) => Err(Unreadable("the query and the body both have an operation")),
        (false, true) => Err(Unreadable("it has no operation")),
    }
}

fn is_of_protocol(name: &ParameterName) -> bool {
    NAMES.iter().any(|known| name.is_alike(known))
}

/// The request in a query or a form, whose other parameters are not of the protocol.
fn of_parameters(text: &str) -> Result<GraphQlRequest, Unreadable> {
    let parameters = form::bounded(form::pairs(text))?.into_iter();
    let ours = parameters.filter(|parameter| is_of_protocol(&parameter.name));
    let member =
        |parameter: Parameter| (parameter.name.text().to_owned(), JsonNode::Scalar(parameter.value.into()));
    let object = JsonNode::object(ours.map(member));
    let mut names: Vec<&str> = object.names().collect();
    names.sort_unstable();
    let is_twice = names.windows(2).any(|pair| pair[0] == pair[1]);
    if is_twice || names.iter().any(|name| !PARAMETERS.contains(name)) {
        return Err(Unreadable(
            "a parameter is given twice, spelled differently, or names a stored document",
        ));
    }
    of_members(&object)
}

fn of_body<'j>(
    content: &RequestContent<'_>,
    json: impl FnOnce() -> Result<&'j JsonNode, Unreadable>,
) -> Result<Vec<GraphQlRequest>, Unreadable> {
    let text = content.readable()?;
    match &*content.media_type()? {
        "application/graphql" => {
            let document = std::str::from_utf8(text).map_err(|_| Unreadable("it is not in UTF-8"))?;
            Ok(vec![GraphQlRequest { document: document.to_owned(), operation: None }])
        }
        "application/x-www-form-urlencoded" => {
            let text = std::str::from_utf8(text).map_err(|_| Unreadable("it is not in UTF-8"))?;
            of_parameters(text).map(|request| vec![request])
        }
        _ => match json()? {
            JsonNode::List(batch) if batch.is_empty() || batch.len() > MAX_BATCH => {
                Err(Unreadable("the batch is empty or has more than 100 operations"))
            }
            JsonNode::List(batch) => batch.iter().map(of_members).collect(),
            one => of_members(one).map(|request| vec![request]),
        },
    }
}

fn of_members(object: &JsonNode) -> Result<GraphQlRequest, Unreadable> {
    if object.names().any(|name| !PARAMETERS.contains(&name)) {
        return Err(Unreadable("it has more than query, operationName, variables and extensions"));
    }
    let document = object.member("query")?.and_then(JsonNode::text);
    let document = document.ok_or(Unreadable("it has no document"))?.to_owned();
    let operation = match object.member("operationName")? {
        None | Some(JsonNode::Scalar(serde_json::Value::Null)) => None,
        Some(name) => Some(name.text().ok_or(Unreadable("operationName is not a text"))?.to_owned()),
    };
    // Some clients send an empty name for none.
    Ok(GraphQlRequest { document, operation: operation.filter(|name| !name.is_empty()) })
}

fn read(request: &GraphQlRequest, fields: &mut BTreeSet<RootField>) -> Result<(), Unreadable> {
    let parser = apollo_parser::Parser::new(&request.document);
    let tree = parser.recursion_limit(MAX_DEPTH).token_limit(MAX_TOKENS).parse();
    if tree.errors().next().is_some() {
        return Err(Unreadable("the document is not valid GraphQL, or too large"));
    }
    let mut operations = Vec::new();
    let mut fragments = BTreeMap::new();
    for definition in tree.document().definitions() {
        match definition {
            cst::Definition::OperationDefinition(operation) => operations.push(operation),
            cst::Definition::FragmentDefinition(fragment) => {
                let name = fragment.fragment_name().and_then(|name| name.name()).as_ref().map(text);
                let name = name.ok_or(Unreadable("a fragment has no name"))?;
                if fragments.insert(name, fragment).is_some() {
                    return Err(Unreadable("two fragments have one name"));
                }
            }
            _ => return Err(Unreadable("the document defines types")),
        }
    }
    let operation = chosen(&operations, request.operation.as_deref())?;
    let kind = kind(operation);
    let mut reader =
        RootReader { kind, fragments: &fragments, seen: BTreeSet::new(), selected: BTreeSet::new() };
    reader.selections(operation.selection_set())?;
    if reader.selected.is_empty() {
        return Err(Unreadable("the operation selects nothing"));
    }
    fields.append(&mut reader.selected);
    Ok(())
}

/// The operation that runs. With several, it must be named (GraphQL, section 6.1).
fn chosen<'o>(
    operations: &'o [cst::OperationDefinition],
    name: Option<&str>,
) -> Result<&'o cst::OperationDefinition, Unreadable> {
    let Some(name) = name else {
        return match operations {
            [one] => Ok(one),
            [] => Err(Unreadable("the document has no operation")),
            _ => Err(Unreadable("the document has several operations, and none is named")),
        };
    };
    let mut named = operations.iter().filter(|one| one.name().is_some_and(|found| text(&found) == name));
    match (named.next(), named.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Unreadable("the named operation is not in the document")),
        (Some(_), Some(_)) => Err(Unreadable("two operations have one name")),
    }
}

fn kind(operation: &cst::OperationDefinition) -> OperationKind {
    match operation.operation_type() {
        Some(kind) if kind.mutation_token().is_some() => OperationKind::Mutation,
        Some(kind) if kind.subscription_token().is_some() => OperationKind::Subscription,
        _ => OperationKind::Query,
    }
}

/// Collects fields at the root, through fragments. `@skip` and `@include` are not evaluated: what may run counts.
struct RootReader<'r> {
    kind: OperationKind,
    fragments: &'r BTreeMap<String, cst::FragmentDefinition>,
    seen: BTreeSet<String>,
    selected: BTreeSet<RootField>,
}

impl RootReader<'_> {
    /// Follows fragments by a list of what is left, not by recursion: each fragment may nest as deep as the parser allows.
    fn selections(&mut self, set: Option<cst::SelectionSet>) -> Result<(), Unreadable> {
        let mut left = vec![set];
        while let Some(set) = left.pop() {
            for selection in set.into_iter().flat_map(|set| set.selections()) {
                left.extend(self.selection(&selection)?);
            }
        }
        Ok(())
    }

    /// Notes a field, or finds what a fragment selects.
    fn selection(
        &mut self,
        selection: &cst::Selection,
    ) -> Result<Option<Option<cst::SelectionSet>>, Unreadable> {
        match selection {
            cst::Selection::Field(field) => {
                let name = field.name().as_ref().map(text).ok_or(Unreadable("a field has no name"))?;
                self.selected.insert(RootField { kind: self.kind, name });
                Ok(None)
            }
            cst::Selection::InlineFragment(fragment) => Ok(Some(fragment.selection_set())),
            cst::Selection::FragmentSpread(spread) => {
                let name = spread.fragment_name().and_then(|name| name.name()).as_ref().map(text);
                let name = name.ok_or(Unreadable("a fragment has no name"))?;
                let fragment = self.fragments.get(&name).ok_or(Unreadable("a fragment is missing"))?;
                Ok(self.seen.insert(name).then(|| fragment.selection_set()))
            }
        }
    }
}

fn text(name: &cst::Name) -> String {
    name.syntax().first_token().map(|token| token.text().to_owned()).unwrap_or_default()
}
