//! A policy made ready for evaluation.

use std::cell::LazyCell;

use super::method::MethodSet;
use super::{Decision, Method, Policy, Rule, Verdict};
use crate::pattern::{Pattern, PatternIndex, is_unambiguous, readings};
use crate::target::Target;

/// A policy whose methods are sets and whose patterns are indexed. Immutable; share it.
///
/// An evaluation costs about the depth of the path, however many patterns there are, and allocates
/// nothing for a path that has one reading only.
#[derive(Debug)]
pub struct CompiledPolicy {
    deny_methods: MethodSet,
    auto_methods: MethodSet,
    require_methods: MethodSet,
    deny: PatternList,
    require: PatternList,
    auto: PatternList,
}

impl Policy {
    /// Makes the policy ready for evaluation.
    ///
    /// A pattern that [`Policy::from_json`] would refuse matches nothing as an auto pattern and
    /// everything as a require or deny pattern, so that a damaged policy only ever asks more.
    pub fn compile(&self) -> CompiledPolicy {
        CompiledPolicy {
            deny_methods: self.deny_methods.iter().collect(),
            auto_methods: self.auto_approve_methods.iter().collect(),
            require_methods: self.require_approval_methods.iter().collect(),
            deny: PatternList::protecting(&self.deny_urls),
            require: PatternList::protecting(&self.require_approval_urls),
            auto: PatternList::permitting(&self.auto_approve_urls),
        }
    }
}

impl CompiledPolicy {
    /// Decides about a request; the first matching rule decides.
    pub fn evaluate(&self, method: Method, target: &Target) -> Decision<'_> {
        if self.deny_methods.contains(method) {
            return Decision::new(Verdict::Deny, Rule::Deny);
        }
        if let Some(decision) = self.protected(target) {
            return decision;
        }
        if let Some(pattern) = self.auto.permits(target) {
            return Decision { pattern: Some(pattern), ..Decision::new(Verdict::AutoApprove, Rule::AutoUrl) };
        }
        if self.auto_methods.contains(method) {
            Decision::new(Verdict::AutoApprove, Rule::AutoMethod)
        } else if self.require_methods.contains(method) {
            Decision::new(Verdict::RequireApproval, Rule::RequireMethod)
        } else {
            Decision::new(Verdict::RequireApproval, Rule::Default)
        }
    }

    /// `deny_urls`, then rule 1, each on every plausible reading of the path.
    fn protected(&self, target: &Target) -> Option<Decision<'_>> {
        let path = LazyCell::new(|| PathReadings::of(target.path().as_bytes()));
        let deny = (&self.deny, Decision::new(Verdict::Deny, Rule::Deny));
        let require = (&self.require, Decision::new(Verdict::RequireApproval, Rule::RequireUrl));
        [deny, require].into_iter().find_map(|(list, decision)| {
            let here = list.index.on(target.host(), target.port());
            if here.is_empty() {
                return None;
            }
            match &*path {
                PathReadings::One(path) => here.find(path),
                PathReadings::Several(paths) => paths.iter().filter_map(|path| here.find(path)).min(),
                PathReadings::TooMany => return Some(decision),
            }
            .map(|position| Decision { pattern: list.text(position), ..decision })
        })
    }
}

/// The readings of a path; the usual path has one, and it is not copied.
enum PathReadings<'a> {
    One(&'a [u8]),
    Several(Vec<Vec<u8>>),
    TooMany,
}

impl<'a> PathReadings<'a> {
    fn of(path: &'a [u8]) -> Self {
        if is_unambiguous(path) {
            return Self::One(path);
        }
        readings(path).map_or(Self::TooMany, Self::Several)
    }
}

/// One list of patterns, indexed, with the texts to report.
#[derive(Debug, Default)]
struct PatternList {
    index: PatternIndex,
    texts: Box<[Box<str>]>,
}

impl PatternList {
    /// A list that protects: trailing slashes do not count, and escapes count as what they stand for.
    fn protecting(texts: &[String]) -> Self {
        let mut index = PatternIndex::default();
        for (position, text) in texts.iter().enumerate() {
            match Pattern::parse(text) {
                Ok(pattern) => {
                    pattern.protecting_forms().iter().for_each(|form| index.insert(form, position));
                }
                Err(_) => index.insert_everything(position),
            }
        }
        Self::new(index, texts)
    }

    /// A list that lets pass: canonical paths only, to the letter.
    fn permitting(texts: &[String]) -> Self {
        let mut index = PatternIndex::default();
        for (position, text) in texts.iter().enumerate() {
            if let Ok(pattern) = Pattern::parse(text) {
                index.insert(&pattern, position);
            }
        }
        Self::new(index, texts)
    }

    fn new(index: PatternIndex, texts: &[String]) -> Self {
        Self { index, texts: texts.iter().map(|text| text.as_str().into()).collect() }
    }

    fn permits(&self, target: &Target) -> Option<&str> {
        let here = self.index.on(target.host(), target.port());
        here.find(target.path().as_bytes()).and_then(|position| self.text(position))
    }

    fn text(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(AsRef::as_ref)
    }
}
