//! Requests that a person decides, sent by tools that know nothing of it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use super::Scene;
use super::scene::SECRET;
use crate::support::app::{Ran, run};
use crate::support::{Setup, until};

/// A POST with headers in the output.
fn post(scene: &Scene, more: &[&str]) -> Command {
    let url = scene.url("/orders");
    scene.command(
        &[],
        &[&["curl", "-sS", "-i", "--suppress-connect-headers", "--http1.1", "-d", "one", &url], more]
            .concat(),
    )
}

fn header<'a>(ran: &'a Ran, name: &str) -> Option<&'a str> {
    let prefix = format!("{name}: ");
    ran.stdout.lines().find_map(|line| line.strip_prefix(&prefix))
}

/// The requests in the inbox.
async fn waiting(scene: &Scene) -> Vec<Value> {
    let list = scene.site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
    list["approvals"].as_array().unwrap().clone()
}

async fn impatient(setup: Setup) -> Scene {
    Scene::with(setup.env("PX_ENTRANCE_WAIT_SECS", "0")).await
}

engines! {
    async fn a_pending_request_is_explained_joined_and_its_outcome_delivered_once(setup: Setup) {
        let scene = impatient(setup).await;
        let first = run(post(&scene, &[])).await.expect(0);
        assert!(first.stdout.starts_with("HTTP/1.1 403"), "{first:?}");
        assert_eq!(header(&first, "px-error"), Some("approval_pending"), "{first:?}");
        assert!(header(&first, "retry-after").is_some(), "{first:?}");
        assert!(first.stdout.contains("/approve/") && first.stdout.contains("run the same command again"));
        let txn = header(&first, "px-txn").unwrap().to_owned();
        let again = run(post(&scene, &[])).await.expect(0);
        assert_eq!(header(&again, "px-txn"), Some(txn.as_str()), "the same request joins the pending one");

        scene.site.upstream.reply(Reply::new(201).body("made"));
        scene.site.owner.approve(&txn).await;
        scene.site.agent.outcome(&txn).await;
        let outcome = run(post(&scene, &[])).await.expect(0);
        assert!(outcome.stdout.starts_with("HTTP/1.1 201") && outcome.stdout.ends_with("made"), "{outcome:?}");
        assert_eq!(scene.only_request().text(), "one");
        let next = run(post(&scene, &[])).await.expect(0);
        assert_eq!(header(&next, "px-error"), Some("approval_pending"), "{next:?}");
        assert_ne!(header(&next, "px-txn"), Some(txn.as_str()), "the request after that is a new one");
    }

    async fn a_denied_request_and_its_reason_are_told(setup: Setup) {
        let scene = impatient(setup).await;
        let first = run(post(&scene, &[])).await.expect(0);
        scene.site.owner.deny(header(&first, "px-txn").unwrap(), "not today").await;
        let ran = run(post(&scene, &[])).await.expect(0);
        assert_eq!(header(&ran, "px-error"), Some("approval_denied"), "{ran:?}");
        assert!(ran.stdout.contains("not today"), "{ran:?}");
        assert!(scene.site.upstream.requests().is_empty());
    }

    async fn a_tool_with_new_idempotency_keys_joins_its_pending_request_too(setup: Setup) {
        let scene = impatient(setup).await;
        let keyed =
            async |key: &str| run(post(&scene, &["-H", &format!("Idempotency-Key: {key}")])).await.expect(0);
        let first = keyed("a").await;
        let txn = header(&first, "px-txn").unwrap().to_owned();
        assert_eq!(header(&keyed("b").await, "px-txn"), Some(txn.as_str()));
        scene.site.owner.approve(&txn).await;
        scene.site.agent.outcome(&txn).await;
        for key in ["a", "b", "a"] {
            let ran = keyed(key).await;
            assert!(ran.stdout.starts_with("HTTP/1.1 200"), "{key}: {ran:?}");
        }
        scene.only_request();
        let next = keyed("c").await;
        assert_ne!(
            header(&next, "px-txn"),
            Some(txn.as_str()),
            "the outcome was delivered; this is a new request"
        );
    }

    async fn what_was_approved_is_not_sent_again_for_its_key_under_a_grant(setup: Setup) {
        let scene = impatient(setup).await;
        let keyed =
            async |key: &str| run(post(&scene, &["-H", &format!("Idempotency-Key: {key}")])).await.expect(0);
        let first = keyed("a").await;
        let txn = header(&first, "px-txn").unwrap();
        scene.site.owner.approve_with(txn, &json!({"grant_seconds": 1800})).await;
        scene.site.agent.outcome(txn).await;
        for _ in 0..2 {
            let again = keyed("a").await;
            assert!(again.stdout.starts_with("HTTP/1.1 200"), "{again:?}");
        }
        scene.only_request();
        assert!(keyed("b").await.stdout.starts_with("HTTP/1.1 200"));
        assert_eq!(scene.site.upstream.requests().len(), 2, "the grant covers a new request");
    }
}

#[tokio::test]
async fn where_a_request_waits_is_told_on_standard_error_too() {
    let scene = impatient(Setup::new()).await;
    // A tool that shows no body of a refusal.
    let ran = run(scene.command(&[], &["curl", "-sf", "-d", "one", &scene.url("/orders?token=abc")]))
        .await
        .expect(22);
    let told = format!("pyxis: POST {}: ", scene.url(""));
    assert!(ran.stderr.contains(told.trim_end_matches('/')), "{ran:?}");
    assert!(ran.stderr.contains("/approve/") && ran.stderr.contains("run the same command again"), "{ran:?}");
    assert!(!ran.stderr.contains("token=abc"), "the tool's own secrets stay out of it: {ran:?}");
}

#[tokio::test]
async fn the_inbox_is_named_while_a_request_is_held() {
    let scene = Scene::new().await;
    let mut command = scene.command(&[], &["curl", "-sSf", "-d", "one", &scene.url("/orders")]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let line = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        line
    });
    let line = line.await.unwrap();
    assert!(line.contains("no response yet") && line.contains("/app/inbox"), "{line}");
    let pending = waiting(&scene).await;
    scene.site.owner.approve(pending[0]["txn_id"].as_str().unwrap()).await;
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    assert!(output.status.success() && output.stdout == b"ok", "{output:?}");
}

#[tokio::test]
async fn a_reason_is_given_for_requests_that_bring_none() {
    let scene = impatient(Setup::new()).await;
    scene.site.owner.set_policy("api", &json!({"require_reason": true})).await;
    let url = scene.url("/orders");
    let reasons = async |options: &[&str], more: &[&str]| {
        let tool = [&["curl", "-s", "-d", "one", &url], more].concat();
        run(scene.command(options, &tool)).await.expect(0);
        let pending = waiting(&scene).await;
        pending.iter().filter_map(|row| row["reason"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(reasons(&[], &[]).await, [""; 0], "refused");
    let given = ["--reason", "Rechnung für März"];
    assert_eq!(reasons(&given, &[]).await, ["Rechnung für März"]);
    let own = reasons(&given, &["-d", "two", "-H", "X-PX-Reason: its own"]).await;
    assert!(own.contains(&"its own".to_owned()), "{own:?}");
    let bad = run(scene.command(&["--reason", "a\nb"], &["true"])).await.expect(1);
    assert!(bad.stderr.contains("--reason: must have no line end"), "{bad:?}");
}

#[tokio::test]
async fn a_tool_that_tries_again_with_its_own_idempotency_key_reaches_the_host_each_time() {
    let scene = Scene::new().await;
    scene.site.owner.set_policy("api", &json!({"auto_approve_methods": ["POST"]})).await;
    let tries = AtomicUsize::new(0);
    scene.site.upstream.reply_with(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new(503).body("busy"),
        _ => Reply::ok("charged"),
    });
    let own = ["-H", "Idempotency-Key: retry-1", "-H", "Prefer: wait=5"];
    for expected in ["HTTP/1.1 503", "HTTP/1.1 200"] {
        let ran = run(post(&scene, &own)).await.expect(0);
        assert!(ran.stdout.starts_with(expected), "{expected}: {ran:?}");
    }
    scene.all_requests_had_the_secret(2);
    for received in scene.site.upstream.requests() {
        assert_eq!(received.header("idempotency-key"), Some("retry-1"));
        assert_eq!(received.header("prefer"), Some("wait=5"));
    }
}

#[tokio::test]
async fn a_tool_that_waits_gets_the_response_after_the_approval() {
    let scene = Scene::new().await;
    let waiting = tokio::spawn(run(post(&scene, &[])));
    let txn = until("the request is pending", async || {
        let records = scene.site.forwards().await;
        records.last().and_then(|record| record["txn_id"].as_str().map(str::to_owned))
    })
    .await;
    scene.site.owner.approve(&txn).await;
    let ran = waiting.await.unwrap().expect(0);
    assert!(ran.stdout.starts_with("HTTP/1.1 200") && ran.stdout.ends_with("ok"), "{ran:?}");
    assert!(!ran.stdout.contains(SECRET));
}

#[tokio::test]
async fn programs_that_read_json_get_json() {
    let scene = impatient(Setup::new()).await;
    let ran = run(post(&scene, &["-H", "Accept: application/json"])).await.expect(0);
    let body = ran.stdout.lines().last().unwrap();
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["code"], json!("approval_pending"));
    assert!(problem["message"].as_str().unwrap().starts_with("Pyxis: A person must approve"), "{problem}");
}

#[tokio::test]
async fn a_request_may_name_no_entry_point_but_run() {
    let scene = Scene::new().await;
    let url = scene.url("/");
    let named =
        |name: &str| scene.site.agent.forward("api", "GET", &url).header("x-px-entry-point", name).send();
    named("run").await.expect(200);
    let refused = named("mcp").await.expect(400).json();
    assert_eq!(refused["code"], "invalid_header", "{refused}");
    let records = scene.site.forwards().await;
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0]["detail"]["door"], "run");
}
