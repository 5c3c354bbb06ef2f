//! A stored secret in a pending request is shown to no one, and the request is sent unchanged.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pyxis_testkit::engines;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use crate::support::browser::Browser;
use crate::support::leaks::found;
use crate::support::{SECRET, Setup, Site};

const OTHER: &str = "other-canary-5521-of-this-workspace";
const IN_PLACE: &str = "contains the secret of `api`";

/// [`SECRET`] as a piece of a path.
const PATH: &str = "sk-canary%2F7Qx+Zr9&%22%3CT2%3E~K5";

/// Fails if a stored secret is there in any encoding.
#[track_caller]
fn clean(place: &str, text: &str) {
    for secret in [SECRET, OTHER] {
        let seen = found(secret, text.as_bytes());
        assert!(seen.is_empty(), "{place} shows {seen:?}: {text}");
    }
}

/// The same for a page.
#[track_caller]
fn clean_page(place: &str, text: &str) {
    clean(place, text);
    clean(
        place,
        &text.replace("&#38;", "&").replace("&#34;", "\"").replace("&#60;", "<").replace("&#62;", ">"),
    );
}

async fn exported(site: &Site) -> String {
    let mut records = site.app.cli(&["audit", "export"]).await.expect(0).stdout;
    records.push_str(&site.app.cli(&["audit", "export", "--format", "csv"]).await.expect(0).stdout);
    records
}

engines! {
    async fn what_others_are_told_of_a_request_holds_no_secret(setup: Setup) {
        let authority = Authority::new();
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, authority.pem()).expect("a file");
        let site = Site::with(setup.env("PX_EGRESS_CA_FILE", path.to_str().expect("text"))).await;
        let receiver = Upstream::https(&authority, &["127.0.0.1"]).await;
        let hook = json!({"url": receiver.url("/in"), "events": ["approval.requested"]});
        site.owner.client.post("/admin/webhooks", &hook).send().await.expect(201);
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": OTHER})).await;

        let encoded = STANDARD.encode(format!("Bearer {SECRET}"));
        let body = format!("{{\"note\": \"{OTHER}\", \"header\": \"{encoded}\", \"key\": {}}}", json!(SECRET));
        let query: Vec<String> = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let query = query.concat();
        let call = site.forward("POST", &format!("/by/{PATH}?q={query}"));
        let call = call.header("x-note", OTHER).header("content-type", &format!("text/plain; n={OTHER}")).header("x-px-reason", &format!("because {SECRET} and {OTHER}"));
        let txn = call.body(body.clone()).send().await.txn();

        let told = receiver.received(1).await.remove(0);
        let told: Value = serde_json::from_slice(&told.body).expect("JSON");
        clean("the webhook", &told.to_string());
        assert!(told["body_preview"].as_str().expect("text").contains(IN_PLACE), "{told}");
        assert!(told["summary"].as_str().expect("text").starts_with("because [contains the secret of"), "{told}");

        let one = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        clean("the approval", &one.to_string());
        assert!(one["body"]["content"].as_str().expect("text").contains("contains the secret of `other`"), "{one}");
        assert_eq!((&one["exposes"], &one["body_bytes"]), (&json!(["api", "other"]), &json!(body.len())));
        clean("the list", &site.owner.client.get("/approvals").send().await.expect(200).text());
        site.app.admin("admin@people.example").await;
        let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
        for path in [format!("/app/approvals/{txn}"), format!("/approve/{txn}"), "/app/inbox".to_owned()] {
            let page = browser.get(&path).await.expect(200).text();
            clean_page(&path, &page);
            assert!(page.contains("contains the secret of"), "{page}");
        }
        clean("the trail", &exported(&site).await);

        // A grant would be stored with its address.
        let wish = json!({"grant_seconds": 1800});
        let granted = site.owner.client.post(&format!("/approvals/{txn}/approve"), &wish).send().await;
        assert_eq!(granted.problem(422, "invalid_field")["field"], "grant_seconds");
        site.owner.approve(&txn).await;
        let sent = site.upstream.received(1).await.remove(0);
        assert_eq!((sent.body.as_ref(), sent.header("x-note")), (body.as_bytes(), Some(OTHER)));
        assert!(sent.target.contains(&format!("?q={query}")), "{}", sent.target);
        clean("the trail", &exported(&site).await);
        clean("the log", &site.app.logs());
    }

    async fn what_is_written_down_holds_no_secret_whatever_becomes_of_the_request(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"auto_approve_methods": ["GET"], "deny_methods": ["DELETE"]})).await;
        let reason = format!("it is {SECRET}");
        let path = format!("/by/{PATH}");
        let call = |method| site.forward(method, &path).header("x-px-reason", &reason);
        call("GET").send().await.forwarded(200);
        call("DELETE").send().await.problem(403, "denied_by_policy");
        let txn = call("POST").body("x").send().await.txn();
        site.owner.deny(&txn, &format!("no, that is {SECRET}")).await;
        clean("the outcome", &site.agent.outcome(&txn).await.to_string());
        let forwards = site.forwards().await;
        assert_eq!(forwards.len(), 3);
        for record in forwards {
            let detail = record["detail"].to_string();
            assert!(detail.contains("it is [") && detail.contains("/by/["), "{record}");
        }
        clean("the trail", &exported(&site).await);
    }

    async fn what_is_to_be_signed_is_shown_without_secrets(setup: Setup) {
        let site = Site::with(setup).await;
        let body = json!({"name": "treasury", "auth": {"kind": "signing_key", "algorithm": "ed25519"}});
        site.owner.add_credential(&body).await;
        let body = json!({"payload": format!("pay {SECRET}"), "encoding": "utf8", "algorithm": "ed25519",
            "description": format!("for {SECRET}")});
        let call = site.agent.client.post("/sign", &body).header("x-px-credential", "treasury");
        let txn = call.send().await.txn();
        let one = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        clean("the approval", &one.to_string());
        for member in ["text", "description"] {
            assert!(one["signing"][member].as_str().expect("text").contains(IN_PLACE), "{one}");
        }
        site.app.admin("admin@people.example").await;
        let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
        clean_page("the page", &browser.get(&format!("/approve/{txn}")).await.expect(200).text());
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["error"], Value::Null);
    }
}
