//! A policy compiled for evaluation.

use super::content::CompiledContentRules;
use super::method::MethodSet;
use super::pattern_lists::{Path, PathVariants, PatternList, PermitList};
use super::{Decision, Method, Policy, PolicyVerdict, Rule};
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
    content: CompiledContentRules,
}

impl Policy {
    /// Compiles the policy for evaluation.
    ///
    /// A pattern that [`Policy::from_json`] would refuse matches nothing as an auto pattern and everything as a require
    /// or deny pattern. So a damaged policy only ever requires more approvals.
    pub fn compile(&self) -> CompiledPolicy {
        let auto_methods: MethodSet = self.auto_approve_methods.iter().collect();
        let require_methods: MethodSet = self.require_approval_methods.iter().collect();
        CompiledPolicy {
            deny_methods: denied(self.deny_methods.iter().collect(), auto_methods, require_methods),
            auto_methods,
            require_methods,
            deny: PatternList::protecting(&self.deny_urls),
            require: PatternList::protecting(&self.require_approval_urls),
            auto: PermitList::compile(&self.auto_approve_urls),
            content: CompiledContentRules::compile(&self.content_rules),
        }
    }
}

/// The denied methods, with that of a WebSocket if its messages could do what another one is denied for. A policy that
/// lists it elsewhere has considered that, but its handshake stays a GET.
fn denied(listed: MethodSet, auto: MethodSet, require: MethodSet) -> MethodSet {
    let is_considered = auto.contains(Method::WebSocket) || require.contains(Method::WebSocket);
    let is_denied = listed.contains(Method::Get) || !(listed.is_empty() || is_considered);
    if is_denied { listed.with(Method::WebSocket) } else { listed }
}

impl CompiledPolicy {
    /// The rules about content.
    pub(super) fn content(&self) -> &CompiledContentRules {
        &self.content
    }

    /// Decides about a request; the first matching rule decides.
    pub fn evaluate(&self, method: Method, target: &Target) -> Decision<'_> {
        if self.deny_methods.contains(method) {
            return Decision::new(PolicyVerdict::Deny, Rule::Deny);
        }
        let path = Path::new(target.path().as_bytes());
        if let Some(decision) = self.protected(target, &path) {
            return decision;
        }
        if let Some(pattern) = self.auto.permits(target, &path) {
            return Decision {
                pattern: Some(pattern),
                ..Decision::new(PolicyVerdict::AutoApprove, Rule::AutoUrl)
            };
        }
        if self.auto_methods.contains(method) {
            Decision::new(PolicyVerdict::AutoApprove, Rule::AutoMethod)
        } else if self.require_methods.contains(method) {
            Decision::new(PolicyVerdict::RequireApproval, Rule::RequireMethod)
        } else {
            Decision::new(PolicyVerdict::RequireApproval, Rule::Default)
        }
    }

    /// `deny_urls`, then rule 1, each on every plausible variant of the path. If a list protects anything on the
    /// host, a garbled path needs approval even if no variant matches. The host's reading of it is a guess.
    fn protected(&self, target: &Target, path: &Path<'_>) -> Option<Decision<'_>> {
        let deny = (&self.deny, Decision::new(PolicyVerdict::Deny, Rule::Deny));
        let require = (&self.require, Decision::new(PolicyVerdict::RequireApproval, Rule::RequireUrl));
        let mut protects = false;
        let found = [deny, require].into_iter().find_map(|(list, decision)| {
            let here = list.index.patterns_of_host(target.host(), target.port());
            if here.is_empty() {
                return None;
            }
            protects = true;
            match path.path_variants() {
                PathVariants::One => here.find(path.text),
                PathVariants::Several(paths) => paths.iter().filter_map(|path| here.find(path)).min(),
                PathVariants::TooMany => return Some(decision),
            }
            .map(|position| Decision { pattern: list.text(position), ..decision })
        });
        found.or_else(|| (protects && path.is_garbled()).then_some(require.1))
    }
}
