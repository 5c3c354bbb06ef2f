//! For any pattern and target: a pattern that lets a path pass as an auto pattern also protects it as a require or deny
//! pattern, however the path is spelled. A path that is not UTF-8 once decoded never matches an auto pattern.

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::pattern;
use pyxis_core::policy::{Method, Policy, Rule, evaluate};
use pyxis_core::target::Target;

fn rule(policy: &Policy, target: &Target) -> Rule {
    evaluate(Some(&policy.compile()), ApprovalMode::Gated, Method::Get, target).rule
}

/// Escapes every byte of the path, except the first slash, twice.
fn respelled(target: &Target) -> Option<Target> {
    let path: Vec<String> = target.path().bytes().skip(1).map(|byte| format!("%25{byte:02X}")).collect();
    let path = path.concat();
    Target::parse(&format!("{}/{path}", target.origin())).ok()
}

/// The text with its escapes decoded once.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        let escape = tail.get(..2).and_then(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
        let value = escape.filter(|_| byte == b'%').and_then(|value| u8::try_from(value).ok());
        out.push(value.unwrap_or(byte));
        rest = if value.is_some() { &tail[2..] } else { tail };
    }
    out
}

/// True for a path that is not text, or contains NUL, after up to three decodings.
fn is_garbled(path: &str) -> bool {
    let forms = std::iter::successors(Some(path.as_bytes().to_vec()), |form| Some(decoded(form)));
    forms.take(4).any(|form| form.contains(&0) || std::str::from_utf8(&form).is_err())
}

/// Spellings that careless decoders read as a dot, and as a slash.
const DOTS: &[&str] = &["%C0%AE", "%E0%80%AE", "%F0%80%80%AE", "%25u002E", "%EF%BC%8E", "%25C0%25AE"];
const SLASHES: &[&str] = &["%C0%AF", "%E0%80%AF", "%F0%80%80%AF", "%25u2215", "%EF%BC%8F", "%5C", "%C1%9C"];

/// No careless spelling leads from below an auto pattern to a path outside it.
fn stays_inside(pattern: &str, path: &str) {
    // Only for some patterns, since the property is the same for every one.
    if path.contains(['?', '#']) || !pattern.len().is_multiple_of(4) {
        return;
    }
    let auto = Policy { auto_approve_urls: vec!["/public".to_owned()], ..Policy::default() };
    let (dot, slash) = (DOTS[path.len() % DOTS.len()], SLASHES[(path.len() + pattern.len()) % SLASHES.len()]);
    let up = [dot, dot, slash].concat().repeat(path.split('/').count() + 1);
    let url = format!("https://a.example/public/{path}{slash}{up}private");
    if let Ok(target) = Target::parse(&url) {
        assert_ne!(rule(&auto, &target), Rule::AutoUrl, "{url}");
    }
}

/// One input.
pub(crate) fn run(input: (&str, &str)) {
    let (pattern, path) = input;
    // The scheme and host are given: a fuzzer left to find them hardly ever gets as far as a path.
    let Ok(target) = Target::parse(&format!("https://a.example/{path}")) else { return };
    stays_inside(pattern, path);
    let pattern = &format!("/{pattern}");
    if pattern::check(pattern).is_err() {
        return;
    }
    let list = || vec![pattern.to_owned()];
    let auto = Policy { auto_approve_urls: list(), ..Policy::default() };
    let require = Policy { require_approval_urls: list(), ..Policy::default() };
    let deny = Policy { deny_urls: list(), ..Policy::default() };
    let denied = rule(&deny, &target);
    let held = denied == Rule::Deny || denied == Rule::RequireUrl;
    assert_eq!(rule(&require, &target) == Rule::RequireUrl, held);
    if is_garbled(target.path()) {
        assert_ne!(rule(&auto, &target), Rule::AutoUrl);
        assert_eq!(rule(&require, &target), Rule::RequireUrl);
    }
    if rule(&auto, &target) == Rule::AutoUrl {
        assert_eq!(rule(&require, &target), Rule::RequireUrl);
        if let Some(other) = respelled(&target) {
            assert_eq!(rule(&require, &other), Rule::RequireUrl);
        }
    }
}
