//! The injected secret never reaches the agent (`docs/reference/behavior/proxy.md#scrubbing`).

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use crate::support::leaks::{encodings, found};
use crate::support::{HttpResponse, SECRET, Setup, Site};

const MARK: &str = "[REDACTED:api]";

#[track_caller]
fn clean(answer: &HttpResponse) {
    let everything = format!("{:?} {:?}", answer.headers, answer.trailers).into_bytes();
    let seen = found(SECRET, &[everything.as_slice(), &answer.body].concat());
    assert!(seen.is_empty(), "the agent sees {seen:?} in {}", answer.text());
}

#[tokio::test]
async fn every_encoding_of_the_secret_is_removed_from_a_body() {
    let site = Site::new().await;
    for encoded in encodings(SECRET) {
        site.upstream.reply(Reply::ok(format!("before {encoded} after")));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        clean(&answer);
        let text = answer.text();
        assert!(
            text.starts_with("before ") && text.ends_with(" after") && text.contains(MARK),
            "{encoded}: {text}"
        );
    }
}

#[tokio::test]
async fn headers_are_scrubbed() {
    let site = Site::new().await;
    let base64 = STANDARD.encode(SECRET);
    site.upstream
        .reply(Reply::ok("ok").header("x-echo", &format!("Bearer {SECRET}")).header("x-base64", &base64));
    let answer = site.forward("GET", "/").send().await.forwarded(200);
    clean(&answer);
    assert_eq!(answer.header("x-echo"), Some(format!("Bearer {MARK}").as_str()));
}

#[tokio::test]
async fn the_basic_pair_is_scrubbed_as_it_was_sent() {
    let site = Site::bare(Setup::new()).await;
    let secret = json!({"username": "someone", "password": SECRET});
    site.credential("api", &json!({"auth": {"kind": "basic"}, "secret": secret})).await;
    let sent = STANDARD.encode(format!("someone:{SECRET}"));
    site.upstream.reply(Reply::ok(format!("you sent {sent}; your password is {SECRET}")));
    let answer = site.forward("GET", "/").send().await.forwarded(200);
    clean(&answer);
    assert!(!answer.text().contains(&sent), "{}", answer.text());
}

#[tokio::test]
async fn a_key_that_is_the_user_name_of_a_basic_pair_is_scrubbed_alone() {
    for secret in [
        json!(format!("{SECRET}:")),
        json!(format!("{SECRET}:x-oauth-basic")),
        json!({"username": SECRET, "password": "pw-5512"}),
    ] {
        let site = Site::bare(Setup::new()).await;
        site.credential("api", &json!({"auth": {"kind": "basic"}, "secret": secret})).await;
        site.upstream.reply(Reply::ok(format!("your key is {SECRET}")));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        clean(&answer);
        assert_eq!(answer.text(), format!("your key is {MARK}"));
    }
}

#[tokio::test]
async fn a_user_name_that_is_a_word_stays_in_the_answer() {
    for username in ["admin", "somebody@company.example"] {
        let site = Site::bare(Setup::new()).await;
        let secret = json!({"username": username, "password": SECRET});
        site.credential("api", &json!({"auth": {"kind": "basic"}, "secret": secret})).await;
        site.upstream.reply(Reply::ok(format!("you are {username}")));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(answer.text(), format!("you are {username}"));
    }
}

/// A Zstandard frame (RFC 8878) of 512 MiB in 16 KiB: blocks that repeat one byte 131,072 times.
fn bomb() -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for block in 0..4096_u32 {
        let header = u32::from(block == 4095) | (1 << 1) | (131_072 << 3);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_few_bytes_stand_for_is_decoded_only_as_it_is_read() {
    let site = Site::new().await;
    site.upstream.reply(Reply::new(200).encoded("zstd", bomb()));
    let before = site.app.resident_kib();
    let mut answer = site.forward("GET", "/").open().await;
    let mut seen = 0;
    while seen < 32 << 20 {
        seen += answer.chunk().await.expect("more of it").len();
    }
    let grown = site.app.resident_kib().saturating_sub(before);
    assert!(grown < 128 << 10, "{grown} KiB for an answer of 16 KiB");
}

#[tokio::test]
async fn a_secret_cut_at_any_chunk_boundary_is_found() {
    let site = Site::new().await;
    for cut in 1..SECRET.len() {
        let (head, tail) = SECRET.split_at(cut);
        site.upstream.reply(Reply::new(200).chunks([format!("a{head}"), format!("{tail}b")]));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(answer.text(), format!("a{MARK}b"), "cut at {cut}");
    }
    site.upstream.reply(Reply::new(200).chunks(SECRET.chars().map(|one| one.to_string())));
    assert_eq!(site.forward("GET", "/").send().await.text(), MARK);
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn brotli(data: &[u8]) -> Vec<u8> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    encoder.write_all(data).unwrap();
    encoder.into_inner()
}

#[tokio::test]
async fn compressed_bodies_are_decoded_scrubbed_and_sent_plain() {
    let site = Site::new().await;
    let filler = "0123456789abcdef".repeat(8 * 1024);
    let plain = format!("{filler}{SECRET}{filler}");
    let bodies = [
        ("gzip", gzip(plain.as_bytes())),
        ("x-gzip", gzip(plain.as_bytes())),
        ("deflate", deflate(plain.as_bytes())),
        ("br", brotli(plain.as_bytes())),
        ("zstd", zstd::encode_all(plain.as_bytes(), 3).unwrap()),
        ("identity", plain.clone().into_bytes()),
        ("deflate, gzip", gzip(&deflate(plain.as_bytes()))),
    ];
    for (coding, body) in bodies {
        site.upstream.reply(Reply::new(200).encoded(coding, body));
        let answer = site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(answer.text(), format!("{filler}{MARK}{filler}"), "{coding}");
        assert!(matches!(answer.header("content-encoding"), None | Some("identity")), "{coding}");
    }
}

#[tokio::test]
async fn a_coding_that_cannot_be_scrubbed_is_refused() {
    let site = Site::new().await;
    for coding in ["compress", "xyz", "gzip, xyz", "aes128gcm"] {
        site.upstream.reply(Reply::new(200).encoded(coding, SECRET));
        let answer = site.forward("GET", "/").send().await;
        answer.problem(502, "unknown_content_coding");
        clean(&answer);
    }
}

#[tokio::test]
async fn codings_in_several_lines_are_one_list() {
    let site = Site::new().await;
    let (zipped, deflated) = (gzip(SECRET.as_bytes()), gzip(&deflate(SECRET.as_bytes())));
    let answers =
        [(["identity", "gzip"], &zipped), (["", "gzip"], &zipped), (["deflate", "gzip"], &deflated)];
    for (lines, body) in answers {
        let reply = Reply::new(200).header("content-encoding", lines[0]).header("content-encoding", lines[1]);
        site.upstream.reply(reply.body(body.clone()));
        assert_eq!(site.forward("GET", "/").send().await.forwarded(200).text(), MARK, "{lines:?}");
    }
    let reply = Reply::new(200).header("content-encoding", "gzip").header("content-encoding", "xyz");
    site.upstream.reply(reply.body(zipped));
    site.forward("GET", "/").send().await.problem(502, "unknown_content_coding");
}

#[tokio::test]
async fn a_coding_of_the_transfer_that_would_hide_the_body_is_refused() {
    let site = Site::new().await;
    let reply = Reply::new(200).header("transfer-encoding", "gzip, chunked");
    site.upstream.reply(reply.chunks([gzip(SECRET.as_bytes())]));
    let answer = site.forward("GET", "/").send().await;
    answer.problem(502, "unknown_content_coding");
    clean(&answer);
}

#[tokio::test]
async fn a_coding_that_is_damaged_from_the_start_is_a_failure_that_is_told() {
    let site = Site::new().await;
    site.upstream.reply(Reply::new(200).encoded("gzip", "this was never zipped"));
    site.forward("GET", "/").send().await.problem(502, "upstream_error");
}

#[tokio::test]
async fn trailers_arrive_scrubbed() {
    let authority = Authority::new();
    let roots = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(roots.path(), authority.pem()).unwrap();
    let path = roots.path().to_str().unwrap();
    let site = Site::new_with_env("PX_EGRESS_CA_FILE", path).await;
    let upstream = Upstream::https(&authority, &["127.0.0.1"]).await;
    let fields = json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": [upstream.addr().to_string()], "allow_http": false});
    site.credential("tls", &fields).await;
    upstream.reply(Reply::new(200).chunks(["body"]).trailer("x-sum", SECRET));
    let call = site.agent.forward("tls", "GET", &upstream.url("/")).header("te", "trailers");
    let answer = call.send().await.forwarded(200);
    clean(&answer);
    assert_eq!(upstream.received(1).await[0].version, http::Version::HTTP_2);
    assert_eq!(answer.text(), "body");
    assert_eq!(answer.trailers.get("x-sum").map(|value| value.to_str().unwrap()), Some("[REDACTED:tls]"));
}

#[tokio::test]
async fn the_stored_answer_of_an_approved_request_is_scrubbed_too() {
    let site = Site::new().await;
    let body = gzip(format!("you sent {SECRET}").as_bytes());
    site.upstream.reply(Reply::new(200).header("x-echo", SECRET).encoded("gzip", body));
    let txn = site.pause("/").await;
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert!(found(SECRET, outcome.to_string().as_bytes()).is_empty(), "{outcome}");
    assert_eq!(outcome["response"]["body"], format!("you sent {MARK}"));
}
