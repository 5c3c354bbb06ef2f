//! Policy and the wire see the same path, whatever an agent writes as its target.

use pyxis_core::target::Target;

/// One input.
pub(crate) fn run(raw: &str) {
    let Ok(target) = Target::parse(raw) else { return };
    let canonical = target.to_string();
    let again = Target::parse(&canonical).expect("the canonical form is a target");
    assert_eq!(again.to_string(), canonical);
    assert_eq!(again, target);
    assert_eq!(again.host(), target.host());
    assert!(target.path().starts_with('/'));
    assert!(target.path().split('/').all(|segment| segment != "." && segment != ".."));
    let uri: http::Uri = canonical.parse().expect("an HTTP client reads the canonical form");
    assert_eq!(uri.path_and_query().map(http::uri::PathAndQuery::as_str), Some(target.wire()));
    assert_eq!(uri.authority().map(http::uri::Authority::as_str), Some(target.authority()));
}
