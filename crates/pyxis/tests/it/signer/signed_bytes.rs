//! Generated requests over real sockets: the signed bytes are the received bytes. oauthlib works on text, so other
//! bytes are compared here, with the verifier that shares no code with the signer.

use std::fmt::Write as _;

use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use super::process::Signer;
use super::verifier;

const FORM: &str = "application/x-www-form-urlencoded";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const PATHS: [&str; 6] = ["/", "/a/b%20c", "/%C3%A9/x", "/~user/-._", "/a//b/", "/%E6%BC%A2=+&c"];

/// The same numbers in every run (xorshift).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    /// Bytes in one of the spellings that occur on the wire.
    fn spelt(&mut self, most: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.below(most + 1) {
            match self.below(6) {
                0 => write!(text, "%{:02X}", self.byte()).unwrap(),
                1 => write!(text, "%{:02x}", self.byte()).unwrap(),
                2 => text.push('+'),
                3 => text.push_str(self.one(&["!", "*", "(", ")", "/", ":", "@", ",", ";", "$", "?", "'"])),
                _ => text.push_str(self.one(&["a", "b", "Z", "0", "9", "-", ".", "_", "~"])),
            }
        }
        text
    }

    /// Parameters: repeated, empty, without a name, without a value or without `=`.
    fn parameters(&mut self) -> String {
        let mut pieces = Vec::new();
        for _ in 0..self.below(7) {
            let (name, value) = (self.spelt(3), self.spelt(6));
            pieces.push(match self.below(8) {
                0 => name,
                1 => format!("{name}="),
                2 => String::new(),
                3 => format!("a={value}"),
                4 => format!("{name}={value}=%3d"),
                _ => format!("{name}={value}"),
            });
        }
        pieces.join("&")
    }

    /// Method, path with query, and perhaps a form.
    pub(crate) fn request(&mut self) -> (&'static str, String, Option<String>) {
        let (method, path) = (METHODS[self.below(METHODS.len())], self.one(&PATHS));
        let query = self.parameters();
        let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let form = (method != "GET" && self.below(2) == 0).then(|| self.parameters());
        (method, target, form)
    }
}

#[tokio::test]
async fn hundreds_of_generated_requests_are_verified_as_they_arrive() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    let (mut dice, mut forms, mut odd) = (Dice(0x5849), 0, 0);
    for _ in 0..400 {
        let (method, target, form) = dice.request();
        odd += usize::from(target.contains("%F") || target.contains("%f"));
        let mut call = signer.to(&upstream, method, &target);
        if let Some(form) = &form {
            forms += 1;
            call = call.header("content-type", FORM).body(form.clone());
        }
        let answer = call.send().await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "verified"), "{method} {target} {form:?}");
    }
    assert!(forms > 100 && odd > 50, "{forms} forms, {odd} with bytes that are no text");
}

#[tokio::test]
async fn the_kind_that_signs_in_the_proxy_agrees() {
    let site = verifier::site().await;
    site.owner.set_policy("x", &json!({"auto_approve_methods": METHODS})).await;
    let mut dice = Dice(0x0a17);
    for _ in 0..150 {
        let (method, target, form) = dice.request();
        let mut call = site.agent.forward("x", method, &site.upstream.url(&target));
        if let Some(form) = &form {
            call = call.header("content-type", FORM).body(form.clone());
        }
        let answer = call.send().await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "verified"), "{method} {target} {form:?}");
    }
}

#[tokio::test]
async fn trailers_come_back_without_what_authenticates() {
    let authority = Authority::new();
    let roots = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(roots.path(), authority.pem()).unwrap();
    let signer = Signer::start(&[("PX_EGRESS_CA_FILE", roots.path().to_str().unwrap())]);
    let upstream = Upstream::https(&authority, &["127.0.0.1"]).await;
    let reply = Reply::new(200).chunks(["body"]).trailer("x-sum", "1").trailer("set-cookie", "a=b");
    let reply = reply.trailer("www-authenticate", "OAuth").trailer("authorization", "x");
    upstream.reply(reply.trailer("proxy-authenticate", "Basic").trailer("px-error", "forged"));
    let answer = signer.to(&upstream, "GET", "/").header("te", "trailers").send().await.expect(200);
    assert_eq!(answer.text(), "body");
    let names: Vec<&str> = answer.trailers.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["x-sum"]);
}
