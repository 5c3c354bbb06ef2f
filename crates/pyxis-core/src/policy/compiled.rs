//! A policy compiled for evaluation.

use std::cell::OnceCell;

use super::method::MethodSet;
use super::{Decision, Method, Policy, Rule, Verdict};
use crate::pattern::{Pattern, PatternIndex, is_garbled, is_unambiguous, variants};
use crate::target::Target;

/// A policy whose methods are sets and whose patterns are indexed. Immutable; share it.
///
/// The cost of an evaluation depends on the depth of the path, not on the number of patterns. It allocates nothing for
/// a path with only one variant.
#[derive(Debug)]
pub struct CompiledPolicy {
    deny_methods: MethodSet,
    auto_methods: MethodSet,
    require_methods: MethodSet,
    deny: PatternList,
    require: PatternList,
    auto: PermitList,
}

impl Policy {
    /// Compiles the policy for evaluation.
    ///
    /// A pattern that [`Policy::from_json`] would refuse matches nothing as an auto pattern and everything as a require
    /// or deny pattern. So a damaged policy only ever requires more approvals.
    pub fn compile(&self) -> CompiledPolicy {
        CompiledPolicy {
            deny_methods: self.deny_methods.iter().collect(),
            auto_methods: self.auto_approve_methods.iter().collect(),
            require_methods: self.require_approval_methods.iter().collect(),
            deny: PatternList::protecting(&self.deny_urls),
            require: PatternList::protecting(&self.require_approval_urls),
            auto: PermitList::of(&self.auto_approve_urls),
        }
    }
}

impl CompiledPolicy {
    /// Decides about a request; the first matching rule decides.
    pub fn evaluate(&self, method: Method, target: &Target) -> Decision<'_> {
        if self.deny_methods.contains(method) {
            return Decision::new(Verdict::Deny, Rule::Deny);
        }
        let path = Path::new(target.path().as_bytes());
        if let Some(decision) = self.protected(target, &path) {
            return decision;
        }
        if let Some(pattern) = self.auto.permits(target, &path) {
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

    /// `deny_urls`, then rule 1, each on every plausible variant of the path. If a list protects anything on the host,
    /// a garbled path needs approval even if no variant matches: the host's reading of it is a guess.
    fn protected(&self, target: &Target, path: &Path<'_>) -> Option<Decision<'_>> {
        let deny = (&self.deny, Decision::new(Verdict::Deny, Rule::Deny));
        let require = (&self.require, Decision::new(Verdict::RequireApproval, Rule::RequireUrl));
        let mut protects = false;
        let found = [deny, require].into_iter().find_map(|(list, decision)| {
            let here = list.index.on(target.host(), target.port());
            if here.is_empty() {
                return None;
            }
            protects = true;
            match path.readings() {
                PathReadings::One => here.find(path.text),
                PathReadings::Several(paths) => paths.iter().filter_map(|path| here.find(path)).min(),
                PathReadings::TooMany => return Some(decision),
            }
            .map(|position| Decision { pattern: list.text(position), ..decision })
        });
        found.or_else(|| (protects && path.is_garbled()).then_some(require.1))
    }
}

/// A path with its variants, computed on demand.
struct Path<'a> {
    text: &'a [u8],
    readings: OnceCell<PathReadings>,
}

/// The variants of a path; usually only the path itself.
enum PathReadings {
    One,
    Several(Vec<Vec<u8>>),
    TooMany,
}

impl<'a> Path<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, readings: OnceCell::new() }
    }

    fn readings(&self) -> &PathReadings {
        self.readings.get_or_init(|| {
            if is_unambiguous(self.text) {
                return PathReadings::One;
            }
            variants(self.text).map_or(PathReadings::TooMany, PathReadings::Several)
        })
    }

    fn is_garbled(&self) -> bool {
        matches!(self.readings(), PathReadings::Several(paths) if is_garbled(paths))
    }
}

/// One list of patterns, indexed, with the texts to report.
#[derive(Debug, Default)]
struct PatternList {
    index: PatternIndex,
    texts: Box<[Box<str>]>,
}

impl PatternList {
    /// A list that protects: trailing slashes are ignored, and escapes count as the characters they encode.
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

    fn new(index: PatternIndex, texts: &[String]) -> Self {
        Self { index, texts: texts.iter().map(|text| text.as_str().into()).collect() }
    }

    fn text(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(AsRef::as_ref)
    }
}

/// The patterns that let requests pass.
#[derive(Debug)]
struct PermitList {
    /// Canonical paths, to the letter.
    exact: PatternList,
    /// The same patterns in the form of [`PatternList::protecting`]: the area that passing requests must stay within.
    area: PatternIndex,
}

impl PermitList {
    fn of(texts: &[String]) -> Self {
        let (mut exact, mut area) = (PatternIndex::default(), PatternIndex::default());
        for (position, text) in texts.iter().enumerate() {
            if let Ok(pattern) = Pattern::parse(text) {
                exact.insert(&pattern, position);
                pattern.protecting_forms().iter().for_each(|form| area.insert(form, position));
            }
        }
        Self { exact: PatternList::new(exact, texts), area }
    }

    /// The pattern that the path itself matches. Every variant of the path must match one as well: no request leaves
    /// the permitted area by way of `..;` or an escaped slash. A garbled path never passes.
    fn permits(&self, target: &Target, path: &Path<'_>) -> Option<&str> {
        let position = self.exact.index.on(target.host(), target.port()).find(path.text)?;
        let stays = match path.readings() {
            PathReadings::One => true,
            PathReadings::Several(paths) => {
                let area = self.area.on(target.host(), target.port());
                !path.is_garbled() && paths.iter().all(|path| area.find(path).is_some())
            }
            PathReadings::TooMany => false,
        };
        stays.then(|| self.exact.text(position)).flatten()
    }
}
