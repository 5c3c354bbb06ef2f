//! Rules for headers that cross the proxy, and for those that are hidden in logs.
//!
//! A name is judged by its *key*: lower case, with every byte that is not a letter or digit read as `-`. Many servers
//! pass `X_HTTP_Method_Override` to the application under the same name as `X-HTTP-Method-Override` (RFC 3875, section
//! 4.1.18). So a rule for one spelling must hold for all.

/// The longest name that a rule spells out. The rest of a longer name matters only to [`is_sensitive`].
const KEY_BYTES: usize = 40;

/// True if an agent's request header never goes upstream. It belongs to the proxy or to the connection, or it
/// changes the method, host or path after the policy decided.
///
/// The gateway decides about `accept-encoding`, `authorization`, `range` and headers that the credential sets. `name`
/// is lower case.
pub fn never_forwarded(name: &str) -> bool {
    with_key(name, |key| {
        is_connection_bound(key) || is_control(key) || is_rerouting(key) || is_provenance(key)
    })
}

/// True if an upstream's response header never reaches the agent. It belongs to the connection or to the proxy, or
/// would affect the proxy's origin or the server in front.
///
/// The gateway decides about `set-cookie`. `name` is lower case.
pub fn never_relayed(name: &str) -> bool {
    with_key(name, |key| {
        is_connection_bound(key)
            || key.starts_with("px-")
            || key.starts_with("x-px-")
            || is_origin_policy(key)
            || is_server_command(key)
    })
}

/// True if a header's value is a secret by its name, and must be redacted in audit rows and previews. In doubt, it
/// hides the value. `name` is lower case.
pub fn is_sensitive(name: &str) -> bool {
    !matches!(name, "idempotency-key" | "sec-websocket-key")
        && name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_secret_word)
}

/// True if many servers pass both headers to the application under one name.
pub fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().map(key_byte).eq(other.bytes().map(key_byte))
}

const fn key_byte(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' }
}

/// Headers of RFC 9110, section 7.6.1, its predecessors, and the framing that this proxy rebuilds.
fn is_connection_bound(key: &str) -> bool {
    matches!(
        key,
        "connection"
            | "content-length"
            | "http2-settings"
            | "keep-alive"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    ) || key.starts_with("proxy-")
}

/// Headers of the proxy and of the signer, and those that the proxy sets or answers itself.
fn is_control(key: &str) -> bool {
    matches!(key, "cookie" | "cookie2" | "expect" | "host")
        || key.starts_with("x-px-")
        || key.starts_with("x-oauth-")
}

/// Some frameworks replace a request's method, host or path with these, but policy judged the original.
fn is_rerouting(key: &str) -> bool {
    matches!(
        key,
        "x-host"
            | "x-host-override"
            | "x-http-host-override"
            | "x-http-method"
            | "x-http-method-override"
            | "x-method"
            | "x-method-override"
            | "x-ms-original-url"
            | "x-override-url"
            | "x-rewrite-uri"
            | "x-rewrite-url"
            | "x-waws-unencoded-url"
    ) || key.starts_with("x-original-")
        || key.starts_with("x-envoy-")
}

/// Origin of a request. The agent could only invent it, and the proxy does not disclose it.
fn is_provenance(key: &str) -> bool {
    matches!(
        key,
        "cf-connecting-ip"
            | "fastly-client-ip"
            | "forwarded"
            | "true-client-ip"
            | "via"
            | "x-client-ip"
            | "x-cluster-client-ip"
            | "x-forwarded"
            | "x-real-ip"
    ) || key.starts_with("x-forwarded-")
}

/// Browsers and clients apply these to the origin that they contacted. That is the proxy's origin, with the dashboard,
/// and the upstream has no say there. HSTS or a pin could lock people out, and `Alt-Svc` leads traffic past the proxy.
/// `Clear-Site-Data` ends sessions, and CORS opens responses to other sites.
fn is_origin_policy(key: &str) -> bool {
    matches!(
        key,
        "alt-svc"
            | "clear-site-data"
            | "expect-ct"
            | "nel"
            | "origin-agent-cluster"
            | "public-key-pins"
            | "public-key-pins-report-only"
            | "report-to"
            | "reporting-endpoints"
            | "service-worker-allowed"
            | "set-cookie2"
            | "strict-transport-security"
    ) || key.starts_with("access-control-")
}

/// A web server in front of the proxy would obey these and, for example, send a local file. `X-Accel-Buffering` only
/// lets a stream through immediately, which agents want from the server in front as well.
fn is_server_command(key: &str) -> bool {
    matches!(key, "x-lighttpd-send-file" | "x-reproxy-url" | "x-sendfile" | "x-sendfile2")
        || (key.starts_with("x-accel-") && key != "x-accel-buffering")
}

fn is_secret_word(word: &str) -> bool {
    matches!(
        word,
        "auth"
            | "authentication"
            | "authorization"
            | "bearer"
            | "cookie"
            | "cookie2"
            | "credentials"
            | "dpop"
            | "jwt"
            | "otp"
            | "passphrase"
            | "passwd"
            | "pwd"
            | "session"
            | "sessionid"
            | "sid"
            | "sig"
            | "sign"
            | "signature"
    ) || ["key", "password", "secret", "token"].iter().any(|end| word.ends_with(end))
}

/// Calls `judge` with the key of `name`, cut at [`KEY_BYTES`]. Does not allocate.
fn with_key(name: &str, judge: impl FnOnce(&str) -> bool) -> bool {
    if name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
        return judge(name);
    }
    let mut key = [0; KEY_BYTES];
    let mut length = 0;
    for (slot, byte) in key.iter_mut().zip(name.bytes()) {
        *slot = key_byte(byte);
        length += 1;
    }
    // ASCII by construction; otherwise the header would not cross.
    std::str::from_utf8(&key[..length]).map_or(true, judge)
}

#[cfg(test)]
mod tests;
