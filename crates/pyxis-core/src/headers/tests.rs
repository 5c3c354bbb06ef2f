//! Headers that are never sent upstream: `docs/reference/forwarding.md#request-headers`.

use super::*;

#[test]
fn what_is_the_proxys_or_reroutes_never_goes_upstream() {
    for name in [
        "connection",
        "content-length",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-oauth-credential",
        "x-oauth-target",
        "x-original-url",
        "x-px-key",
        "x-px-reason",
        "x-real-ip",
        "x-rewrite-url",
    ] {
        assert!(never_forwarded(name), "{name}");
    }
}

#[test]
fn another_spelling_with_the_same_cgi_name_is_the_same_header() {
    for name in
        ["x_http_method_override", "x-http_method.override", "x_px_key", "x_forwarded_for", "X-PX-Key"]
    {
        assert!(never_forwarded(name), "{name}");
    }
    assert!(never_relayed("px_txn") && never_relayed("x_accel_redirect"));
}

#[test]
fn what_the_gateway_or_the_api_decides_is_forwarded() {
    for name in [
        "accept",
        "accept-encoding",
        "authorization",
        "content-type",
        "hostname",
        "idempotency-key",
        "if-match",
        "prefer",
        "range",
        "user-agent",
        "x-api-version",
        "x-pxy",
        "x-request-id",
        "tea",
        "x-oauth",
        "",
    ] {
        assert!(!never_forwarded(name), "{name}");
    }
    let long = format!("x-{}", "a".repeat(200));
    assert!(!never_forwarded(&long) && !never_forwarded(&long.replace('-', "_")));
    assert!(never_forwarded(&format!("x_px_{}", "a".repeat(200))));
}

#[test]
fn an_upstream_cannot_speak_for_the_proxy_or_its_origin() {
    for name in [
        "access-control-allow-origin",
        "alt-svc",
        "clear-site-data",
        "connection",
        "content-length",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-status",
        "public-key-pins",
        "px-error",
        "px-txn",
        "strict-transport-security",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-accel-redirect",
        "x-accel-limit-rate",
        "x-accel-buffering-",
        "x-px-anything",
        "x-sendfile",
    ] {
        assert!(never_relayed(name), "{name}");
    }
}

#[test]
fn an_answer_keeps_what_the_agent_needs() {
    for name in [
        "cache-control",
        "content-encoding",
        "content-type",
        "date",
        "etag",
        "link",
        "location",
        "ratelimit",
        "retry-after",
        "server",
        "set-cookie",
        "vary",
        "x-accel-buffering",
        "www-authenticate",
        "x-ratelimit-remaining",
        "x-request-id",
    ] {
        assert!(!never_relayed(name), "{name}");
    }
}

#[test]
fn headers_that_carry_secrets_are_sensitive() {
    for name in [
        "api-key",
        "apikey",
        "authorization",
        "cb-access-passphrase",
        "cookie",
        "dpop",
        "ocp-apim-subscription-key",
        "private-token",
        "proxy-authorization",
        "set-cookie",
        "x-access-token",
        "x-amz-security-token",
        "x-api-key",
        "x-api_key",
        "x-auth-token",
        "x-authtoken",
        "x-client-secret",
        "x-goog-api-key",
        "x-hub-signature-256",
        "x-px-key",
        "x-session-id",
    ] {
        assert!(is_sensitive(name), "{name}");
    }
}

#[test]
fn ordinary_headers_stay_readable() {
    for name in [
        "accept",
        "content-length",
        "content-type",
        "idempotency-key",
        "location",
        "user-agent",
        "x-author",
        "x-px-credential",
        "x-px-target",
        "x-request-id",
    ] {
        assert!(!is_sensitive(name), "{name}");
    }
}
