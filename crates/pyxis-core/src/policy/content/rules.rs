//! The content rules of a policy, compiled for evaluation.

use std::collections::BTreeSet;

use super::condition::ContentCondition;
use super::graphql::{self, OperationKind, RootField};
use super::parsed::ParsedContent;
use super::{ContentCheck, ContentRule, Finding, RequestContent, Unreadable, leniency};
use crate::pattern::{Pattern, PatternIndex};
use crate::policy::pattern_lists::{Path, PathVariants};
use crate::policy::{Decision, Method, Operations, PolicyVerdict, Rule};
use crate::target::Target;

/// Content rules, ready to be asked. Immutable; share it.
#[derive(Debug, Default)]
pub struct CompiledContentRules {
    rules: Box<[CompiledRule]>,
}

/// Everything by which a policy judges the content of one request. Two policies with the same judge it alike.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::policy) struct ConcerningRules<'a> {
    /// The rules about it, as written.
    rules: BTreeSet<&'a str>,
    /// True if a mutation asks without a rule.
    has_default: bool,
}

#[derive(Debug)]
struct CompiledRule {
    rule: ContentRule,
    /// The path itself.
    exact: PatternIndex,
    /// Every plausible reading of it.
    area: PatternIndex,
    /// True for the substitute of a stored rule that cannot be read. No condition answers it.
    is_substitute: bool,
}

impl CompiledContentRules {
    /// Compiles the rules of a policy. An unreadable one asks about everything, so that whatever it was to protect stays
    /// protected.
    pub(in crate::policy) fn compile(texts: &[String]) -> Self {
        Self { rules: texts.iter().map(|text| CompiledRule::compile(text)).collect() }
    }

    /// True if the content of a request must be read, given the decision by its URL.
    pub(in crate::policy) fn concern(
        &self,
        decision: &Decision<'_>,
        method: Method,
        target: &Target,
    ) -> bool {
        if decision.verdict == PolicyVerdict::Deny {
            return false;
        }
        self.matching(method, target).next().is_some() || has_default(decision, target)
    }

    /// Rules for which [`concern`](Self::concern) is true.
    pub(in crate::policy) fn concerning(
        &self,
        decision: &Decision<'_>,
        method: Method,
        target: &Target,
    ) -> ConcerningRules<'_> {
        if decision.verdict == PolicyVerdict::Deny {
            return ConcerningRules::default();
        }
        let rules = self.matching(method, target).map(|compiled| &*compiled.rule.text).collect();
        ConcerningRules { rules, has_default: has_default(decision, target) }
    }

    /// The strictest finding, if it is stricter than the decision by the URL, or as strict and not to be covered by a
    /// grant.
    pub(in crate::policy) fn evaluate(
        &self,
        decision: &Decision<'_>,
        method: Method,
        target: &Target,
        content: &RequestContent<'_>,
    ) -> Option<Finding<'_>> {
        let matching: Vec<_> = self.matching(method, target).collect();
        if method == Method::WebSocket {
            return unread(&matching, decision, target);
        }
        strictest(&matching, decision, target, (content, &[]))
    }

    /// True if nothing in the content asks or is denied, apart from fields that `approved` bounds. The conditions
    /// themselves are not checked.
    pub(in crate::policy) fn pass_apart_from(
        &self,
        decision: &Decision<'_>,
        method: Method,
        target: &Target,
        (content, approved): (&RequestContent<'_>, &[ContentCondition]),
    ) -> bool {
        let matching: Vec<_> = self.matching(method, target).collect();
        method != Method::WebSocket && strictest(&matching, decision, target, (content, approved)).is_none()
    }

    fn matching(&self, method: Method, target: &Target) -> impl Iterator<Item = &CompiledRule> {
        let path = Path::new(target.path().as_bytes());
        self.rules
            .iter()
            .filter(move |compiled| compiled.rule.concerns_method(method) && compiled.matches(target, &path))
    }
}

/// The strictest finding that does not simply pass, apart from questions about fields that `approved` bounds.
fn strictest<'s>(
    matching: &[&'s CompiledRule],
    decision: &Decision<'_>,
    target: &Target,
    (content, approved): (&RequestContent<'_>, &[ContentCondition]),
) -> Option<Finding<'s>> {
    let parsed = ParsedContent::new(content);
    let fields = matching.iter().filter_map(|compiled| compiled.field_finding(&parsed, approved));
    let operations = operations(matching, decision, target, (&parsed, approved));
    let strictest = fields.chain(operations).min_by_key(|finding| leniency(finding.verdict))?;
    (strictest.verdict != PolicyVerdict::AutoApprove).then_some(strictest)
}

/// The finding about a WebSocket, whose messages come later and are not read: as strict as any rule could be.
fn unread<'s>(
    matching: &[&'s CompiledRule],
    decision: &Decision<'_>,
    target: &Target,
) -> Option<Finding<'s>> {
    let fact = "the messages of a WebSocket are not read";
    let finding = |verdict, rule| Finding { verdict, rule, fact: fact.to_owned() };
    let strictest = matching.iter().min_by_key(|compiled| leniency(compiled.rule.unread_verdict()));
    match strictest {
        Some(compiled) => {
            let verdict = compiled.rule.unread_verdict();
            (verdict != PolicyVerdict::AutoApprove).then(|| finding(verdict, Some(&*compiled.rule.text)))
        }
        None => has_default(decision, target).then(|| finding(PolicyVerdict::RequireApproval, None)),
    }
}

/// The strictest finding about the operations of a GraphQL request.
fn operations<'s>(
    matching: &[&'s CompiledRule],
    decision: &Decision<'_>,
    target: &Target,
    (parsed, approved): (&ParsedContent<'_>, &[ContentCondition]),
) -> Option<Finding<'s>> {
    let rules: Vec<_> = matching.iter().filter(|compiled| compiled.is_graphql()).copied().collect();
    let by_default = has_default(decision, target);
    if rules.is_empty() && !by_default {
        return None;
    }
    let fields = match parsed.graphql() {
        Ok(fields) => fields,
        Err(Unreadable(why)) => return unreadable(&rules, target, parsed.content, why),
    };
    let is_certain = !rules.iter().any(|compiled| compiled.is_substitute);
    let is_approved =
        |field: &RootField| is_certain && approved.iter().any(|condition| condition.names(field));
    let findings = fields.iter().filter_map(|field| {
        let finding = evaluate_field(&rules, by_default, field);
        let asks = finding.verdict == PolicyVerdict::RequireApproval;
        (!asks || !is_approved(field)).then_some(finding)
    });
    findings.min_by_key(|finding| leniency(finding.verdict))
}

/// The finding about a request whose operations cannot be read.
fn unreadable<'s>(
    rules: &[&'s CompiledRule],
    target: &Target,
    content: &RequestContent<'_>,
    why: &str,
) -> Option<Finding<'s>> {
    let everything_passes = !rules.is_empty() && rules.iter().all(|compiled| compiled.passes_everything());
    // A path such as `/api/v1/query` only may be GraphQL, and a GET without an operation does nothing.
    let is_named = some_reading(target, Operations::is_named_graphql);
    let only_maybe = rules.is_empty() && (content.body.is_empty() || !is_named);
    (!everything_passes && !only_maybe).then(|| Finding {
        verdict: PolicyVerdict::RequireApproval,
        rule: rules.first().map(|compiled| &*compiled.rule.text),
        fact: format!("the GraphQL request cannot be read: {why}"),
    })
}

/// The finding about one field at the root: the strictest rule about it, else the default of its kind.
fn evaluate_field<'s>(rules: &[&'s CompiledRule], by_default: bool, field: &RootField) -> Finding<'s> {
    let kind = field.kind;
    let fact = format!("{} {}", kind.as_str(), field.name);
    let speaking = rules.iter().filter_map(|compiled| match &compiled.rule.check {
        ContentCheck::GraphQl(check) if check.covers(kind, &field.name) => Some((*compiled, check.verdict)),
        _ => None,
    });
    match speaking.min_by_key(|(_, verdict)| leniency(*verdict)) {
        Some((compiled, verdict)) => Finding { verdict, rule: Some(&compiled.rule.text), fact },
        None => Finding { verdict: default_verdict(by_default || !rules.is_empty(), kind), rule: None, fact },
    }
}

const fn default_verdict(applies: bool, kind: OperationKind) -> PolicyVerdict {
    if applies { kind.default_verdict() } else { PolicyVerdict::AutoApprove }
}

/// True if a mutation asks although no rule says so: the request would pass, to a path that looks like GraphQL.
fn has_default(decision: &Decision<'_>, target: &Target) -> bool {
    decision.verdict == PolicyVerdict::AutoApprove
        && decision.rule != Rule::AutonomousDefault
        && some_reading(target, Operations::may_be_graphql)
}

/// True if `test` holds for the path as it is, or for any plausible reading of it. A path with too many readings counts.
fn some_reading(target: &Target, test: impl Fn(&str, &str) -> bool) -> bool {
    let (host, path) = (target.written_host(), Path::new(target.path().as_bytes()));
    match path.path_variants() {
        PathVariants::One => test(host, target.path()),
        PathVariants::Several(paths) => paths.iter().any(|path| test(host, &String::from_utf8_lossy(path))),
        PathVariants::TooMany => true,
    }
}

impl CompiledRule {
    fn compile(text: &str) -> Self {
        let (mut exact, mut area) = (PatternIndex::default(), PatternIndex::default());
        let parsed = ContentRule::parse(text);
        let is_substitute = parsed.is_err();
        let rule = parsed.unwrap_or_else(|_| {
            exact.insert_everything(0);
            area.insert_everything(0);
            unreadable_rule(text)
        });
        exact.insert(&rule.pattern, 0);
        rule.pattern.protecting_forms().iter().for_each(|form| area.insert(form, 0));
        Self { rule, exact, area, is_substitute }
    }

    /// A rule that lets something pass matches the path as it is; the others match every plausible reading of it.
    fn matches(&self, target: &Target, path: &Path<'_>) -> bool {
        let (host, port) = (target.host(), target.port());
        if self.only_passes() {
            let is_plain = matches!(path.path_variants(), PathVariants::One);
            return is_plain && self.exact.patterns_of_host(host, port).find(path.text).is_some();
        }
        let here = self.area.patterns_of_host(host, port);
        if here.is_empty() {
            return false;
        }
        match path.path_variants() {
            PathVariants::One => here.find(path.text).is_some(),
            PathVariants::Several(paths) => {
                path.is_garbled() || paths.iter().any(|path| here.find(path).is_some())
            }
            PathVariants::TooMany => true,
        }
    }

    fn is_graphql(&self) -> bool {
        matches!(self.rule.check, ContentCheck::GraphQl(_))
    }

    fn only_passes(&self) -> bool {
        matches!(&self.rule.check, ContentCheck::GraphQl(check) if check.verdict == PolicyVerdict::AutoApprove)
    }

    fn passes_everything(&self) -> bool {
        matches!(&self.rule.check, ContentCheck::GraphQl(check) if check.passes_everything())
    }

    /// The finding about a field, unless it asks about one that `approved` bounds.
    fn field_finding(
        &self,
        content: &ParsedContent<'_>,
        approved: &[ContentCondition],
    ) -> Option<Finding<'_>> {
        let ContentCheck::Field(check) = &self.rule.check else { return None };
        let (verdict, fact) = check.evaluate(content);
        let asks = verdict == PolicyVerdict::RequireApproval;
        if asks && approved.iter().any(|condition| condition.answers(check)) {
            return None;
        }
        Some(Finding { verdict, rule: Some(&self.rule.text), fact })
    }
}

/// A rule that asks about every operation, and about every request that is none.
fn unreadable_rule(text: &str) -> ContentRule {
    let check =
        graphql::OperationCheck { kind: None, fields: Vec::new(), verdict: PolicyVerdict::RequireApproval };
    let pattern = Pattern::everything();
    ContentRule { text: text.into(), method: None, pattern, check: ContentCheck::GraphQl(check) }
}
