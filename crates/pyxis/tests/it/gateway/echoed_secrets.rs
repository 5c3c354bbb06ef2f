//! Every sent secret is looked for in the response in its sent form, in every encoding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pyxis_testkit::upstream::{Received, Reply};
use serde_json::{Value, json};

use crate::support::leaks::{encodings, found};
use crate::support::{SECRET, Setup, Site};

const PEM: &str = include_str!("../../../../pyxis-signing/data/rsa.pem");

/// Base64 in lines, as mail and certificate tools write it.
fn folded(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join(end)
}

/// An upstream that echoes everything it was sent, in every encoding, plain and in lines.
fn echo(request: &Received) -> Reply {
    let mut said = vec![request.target.clone()];
    said.extend(request.headers.values().map(|value| value.to_str().unwrap().to_owned()));
    let mut all = Vec::new();
    for text in said {
        all.extend(encodings(&text));
        let encoded = STANDARD.encode(&text);
        all.extend([folded(&encoded, 64, "\n"), folded(&encoded, 76, "\r\n"), folded(&encoded, 76, "\\n")]);
    }
    Reply::ok(all.join(" | "))
}

async fn echoed(auth: Value, secret: &Value) -> (String, Received) {
    let site = Site::bare(Setup::new()).await;
    site.credential("api", &json!({"auth": auth, "secret": secret})).await;
    site.upstream.reply_with(echo);
    let answer = site.forward("GET", "/things?x=1").send().await.forwarded(200);
    (answer.text(), site.upstream.received(1).await.remove(0))
}

/// Checks that nothing in `sent` is there, plain or after removing the line ends.
#[track_caller]
fn hidden(text: &str, sent: &[&str]) {
    let joined = text.replace("\\n", "").replace(['\r', '\n'], "");
    for part in sent {
        for text in [text, &joined] {
            let seen = found(part, text.as_bytes());
            assert!(seen.is_empty(), "{seen:?} of {part}");
        }
    }
}

#[tokio::test]
async fn a_secret_does_not_come_back_in_any_encoding_of_what_was_sent() {
    let spaced = "a b/c=+d&ü-canary";
    for (auth, secret) in [
        (json!({"kind": "bearer"}), SECRET),
        (json!({"kind": "header", "name": "X-Key", "format": "Token {secret}"}), SECRET),
        (json!({"kind": "query", "parameter": "api_key"}), "qk-plain-canary"),
        (json!({"kind": "query", "parameter": "api_key"}), spaced),
        (json!({"kind": "cookie", "name": "sid"}), "c00kie-canary"),
    ] {
        let (text, sent) = echoed(auth, &json!(secret)).await;
        let wire = sent.target.split_once("api_key=").map_or(secret, |(_, value)| value);
        hidden(&text, &[secret, wire, &wire.to_lowercase()]);
        assert!(text.contains("[REDACTED:api]"), "{text}");
    }
}

#[tokio::test]
async fn a_basic_pair_does_not_come_back_in_any_encoding_of_the_header() {
    for (username, password) in [("alice", SECRET), ("alice", "short"), (SECRET, "")] {
        let secret = json!({"username": username, "password": password});
        let (text, sent) = echoed(json!({"kind": "basic"}), &secret).await;
        let header = sent.header("authorization").unwrap().strip_prefix("Basic ").unwrap();
        assert_eq!(STANDARD.decode(header).unwrap(), format!("{username}:{password}").as_bytes());
        hidden(&text, &[header, &format!("{username}:{password}")]);
    }
}

#[tokio::test]
async fn a_signature_does_not_come_back() {
    let hmac = json!({"kind": "hmac", "content": "{timestamp}{target}", "signature_encoding": "base64", "headers": [
        {"name": "X-Sign", "format": "t={timestamp},v1={signature}"},
    ]});
    let oauth1 = json!({"consumer_key": "ck-shown", "consumer_secret": "cs-canary-1", "token": "at-canary-1",
        "token_secret": "ts-canary-1"});
    let aws = json!({"access_key_id": "AKID-shown", "secret_access_key": "sk-canary-1"});
    for (auth, secret, header, start, end) in [
        (hmac, json!("key-of-theirs"), "x-sign", "v1=", ""),
        (json!({"kind": "oauth1"}), oauth1, "authorization", "oauth_signature=\"", "\""),
        (json!({"kind": "aws_sigv4", "region": "r", "service": "s"}), aws, "authorization", "Signature=", ""),
    ] {
        let (text, sent) = echoed(auth, &secret).await;
        let (_, signature) = sent.header(header).unwrap().rsplit_once(start).unwrap();
        let signature = if end.is_empty() { signature } else { signature.split(end).next().unwrap() };
        let plain = signature.replace("%2B", "+").replace("%2F", "/").replace("%3D", "=");
        hidden(&text, &[signature, &plain]);
        assert!(text.contains("[REDACTED:api]") && !text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn a_short_secret_does_not_wreck_the_answer() {
    let said = "pin 1234, room 1234, bob, id 77";
    let format = json!({"kind": "header", "name": "X-Pin", "format": "{secret.user}:{secret.pin}"});
    for (auth, secret) in [
        (json!({"kind": "bearer"}), json!("1234")),
        (json!({"kind": "basic"}), json!({"username": "bob", "password": "1234"})),
        (json!({"kind": "query", "parameter": "pin"}), json!("1234")),
        (format, json!({"user": "bob", "pin": "1234"})),
        (json!({"kind": "oauth1"}), json!({"consumer_key": "77", "consumer_secret": "1234", "token": "bob"})),
    ] {
        let site = Site::bare(Setup::new()).await;
        let made = site.credential("api", &json!({"auth": auth, "secret": secret})).await;
        site.upstream.reply(Reply::ok(said));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(answer.text(), said, "{auth}");
        let warning = made["warnings"][0].as_str().unwrap_or_default();
        assert!(warning.starts_with("secret") && warning.contains("fewer than 8"), "{made}");
    }
}

#[tokio::test]
async fn a_key_comes_back_neither_whole_nor_line_by_line() {
    let site = Site::bare(Setup::new()).await;
    let tokens = pyxis_testkit::upstream::Upstream::http().await;
    tokens.reply(Reply::json("{\"access_token\":\"t0k-canary-1\",\"expires_in\":3600}"));
    let auth =
        json!({"kind": "jwt_bearer", "token_url": tokens.url("/t"), "issuer": "i", "algorithm": "RS256"});
    let secret = json!({"client_email": "shown@example.com", "private_key": PEM});
    site.credential("api", &json!({"auth": auth, "secret": secret})).await;
    let lines: Vec<&str> = PEM.lines().filter(|line| !line.contains("-----")).collect();
    let body = lines.concat();
    let wrapped =
        |width, end: &str| format!("-----BEGIN PRIVATE KEY-----{end}{}{end}", folded(&body, width, end));
    let file = serde_json::to_string(&json!({"private_key": PEM})).unwrap();
    let texts = [
        PEM.to_owned(),
        PEM.replace('\n', "\r\n"),
        PEM.replace('\n', "\n      "),
        wrapped(48, "\n"),
        wrapped(76, "\\n"),
        wrapped(10_000, "\n"),
        lines.join("\n> "),
        serde_json::to_string(&lines).unwrap(),
        STANDARD.encode(&file),
        folded(&STANDARD.encode(&file), 76, "\n"),
        file,
    ];
    let encoded: Vec<String> = lines.iter().flat_map(|line| encodings(line)).collect();
    for text in texts {
        site.upstream.reply(Reply::ok(text.clone()));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        let seen = answer.text().replace("\\n", "").replace(['\r', '\n', ' '], "");
        let left = encoded.iter().find(|line| line.len() > 24 && seen.contains(line.as_str()));
        assert!(left.is_none(), "{left:?} in {seen}");
        let left = body.as_bytes().windows(24).find(|part| seen.contains(std::str::from_utf8(part).unwrap()));
        assert!(left.is_none(), "{seen}");
        assert!(seen.contains("[REDACTED:api]"), "{seen}");
    }
    site.upstream.reply(Reply::ok("for shown@example.com"));
    let answer = site.forward("GET", "/").send().await.forwarded(200);
    assert_eq!(answer.text(), "for shown@example.com");
}
