//! A request waits, the agent polls, a person decides (`docs/reference/behavior/proxy.md#approval-states`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Browser, HttpResponse, SECRET, Setup, Site, until};

/// Field names of an object, sorted.
fn fields(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// The vote counts in a response.
fn tally(answer: &Value) -> (&Value, &Value, &Value) {
    (&answer["status"], &answer["approvals"], &answer["min_approvals"])
}

const POLL: [&str; 10] = [
    "asked",
    "created_at",
    "decided_at",
    "error",
    "expires_at",
    "reason",
    "response",
    "status",
    "txn_id",
    "upstream_status",
];

engines! {
    async fn post_pauses_and_is_sent_once_a_person_approves(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/things").await;
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
        assert_eq!(site.upstream.requests().len(), 0);
        assert_eq!(site.owner.approve(&txn).await["status"], "approved");
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!(outcome["response"]["body"], "ok");
        let [request] = site.upstream.received(1).await.try_into().unwrap();
        assert_eq!((request.method.as_str(), request.text()), ("POST", "a body to approve"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }

    async fn the_poll_body_has_the_same_fields_in_every_state(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/1").await;
        let pending = site.agent.poll(&txn).await;
        assert_eq!(fields(&pending), POLL);
        for field in ["decided_at", "reason", "upstream_status", "response", "error"] {
            assert_eq!(pending[field], Value::Null, "{field}");
        }
        assert_eq!((&pending["txn_id"], &pending["status"]), (&json!(txn), &json!("pending")));

        site.owner.approve(&txn).await;
        let approved = site.agent.outcome(&txn).await;
        assert_eq!(fields(&approved), POLL);
        assert_eq!((&approved["status"], &approved["upstream_status"]), (&json!("approved"), &json!(200)));
        assert!(approved["decided_at"].is_string() && approved["error"].is_null());
        let response = &approved["response"];
        assert_eq!(fields(response), ["body", "body_encoding", "headers", "status", "truncated"]);
        let parts = (&response["status"], &response["body_encoding"], &response["truncated"]);
        assert_eq!(parts, (&json!(200), &json!("utf-8"), &json!(false)));
        assert!(response["headers"].as_array().unwrap().iter().all(|pair| pair.as_array().unwrap().len() == 2));

        let txn = site.pause("/2").await;
        site.owner.deny(&txn, "not today").await;
        let denied = site.agent.outcome(&txn).await;
        assert_eq!(fields(&denied), POLL);
        assert_eq!((&denied["status"], &denied["reason"]), (&json!("denied"), &json!("not today")));
        assert!(denied["decided_at"].is_string() && denied["response"].is_null() && denied["upstream_status"].is_null());

        let txn = site.pause("/3").await;
        assert_eq!(site.agent.withdraw(&txn).await.status, 204);
        let withdrawn = site.agent.outcome(&txn).await;
        assert_eq!(fields(&withdrawn), POLL);
        assert_eq!((&withdrawn["status"], &withdrawn["response"]), (&json!("expired"), &Value::Null));
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn an_identical_pending_request_is_the_same_transaction(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        assert_eq!(site.pause("/x").await, txn);
        assert_eq!(site.pause("/./y/../x").await, txn);
        let others = [
            site.forward("POST", "/x").body("another body").send().await.txn(),
            site.forward("PUT", "/x").body("a body to approve").send().await.txn(),
            site.pause("/x?q=1").await,
        ];
        assert!(others.iter().all(|other| *other != txn));
        let second = site.owner.add_agent(&json!({"name": "second", "credentials": "all"})).await;
        let second = site.app.agent(second["key"].as_str().unwrap());
        let call = second.forward("api", "POST", &site.upstream.url("/x")).body("a body to approve");
        assert_ne!(call.send().await.txn(), txn);
        site.owner.deny(&txn, "no").await;
        assert_ne!(site.pause("/x").await, txn);
    }

    async fn many_identical_requests_at_once_are_one_transaction(setup: Setup) {
        let site = Site::with(setup).await;
        let calls: Vec<_> = (0..16).map(|_| tokio::spawn(site.forward("POST", "/x").body("same").send())).collect();
        let mut transactions = Vec::new();
        for call in calls {
            transactions.push(call.await.unwrap().txn());
        }
        transactions.dedup();
        assert_eq!(transactions.len(), 1);
    }

    async fn an_approval_window_ends_in_expired(setup: Setup) {
        let site = Site::with(setup.env("PX_APPROVAL_TIMEOUT_SECS", "1")).await;
        let txn = site.pause("/x").await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!(outcome["status"], "expired");
        site.owner.decide(&txn, "approve", &json!({})).await.problem(409, "already_decided");
        assert_eq!(site.agent.withdraw(&txn).await.status, 409);
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn two_people_are_needed_where_the_policy_says_two(setup: Setup) {
        let site = Site::with(setup).await;
        let second = site.app.admin("second@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let txn = site.pause("/x").await;
        let first = site.owner.approve(&txn).await;
        assert_eq!(tally(&first), (&json!("pending"), &json!(1), &json!(2)));
        site.owner.decide(&txn, "approve", &json!({})).await.problem(409, "already_decided");
        assert_eq!(site.upstream.requests().len(), 0);
        let both = second.approve(&txn).await;
        assert_eq!(tally(&both), (&json!("approved"), &json!(2), &json!(2)));
        assert_eq!(site.agent.outcome(&txn).await["response"]["status"], 200);

        let txn = site.pause("/y").await;
        site.owner.approve(&txn).await;
        assert_eq!(second.deny(&txn, "no").await["status"], "denied");
        assert_eq!(site.agent.outcome(&txn).await["status"], "denied");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_vote_of_somebody_who_was_disabled_does_not_count(setup: Setup) {
        let site = Site::with(setup).await;
        let second = site.app.admin("second@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let third = site.app.admin("third@people.example").await;
        let txn = site.pause("/x").await;
        second.approve(&txn).await;
        site.app.cli(&["user", "disable", "second@people.example"]).await.expect(0);
        second.decide(&txn, "approve", &json!({})).await.expect(401);
        assert_eq!(third.approve(&txn).await["status"], "pending");
        assert_eq!(site.upstream.requests().len(), 0);
        assert_eq!(site.owner.approve(&txn).await["status"], "approved");
    }
}

#[tokio::test]
async fn the_202_has_exactly_these_fields_and_headers() {
    let site = Site::new().await;
    let answer = site.forward("POST", "/things").body("x").send().await.expect(202);
    let body = answer.json();
    let names = [
        "agent_hint",
        "approval_url",
        "expires_at",
        "expires_in",
        "notification_channel",
        "poll_url",
        "status",
        "txn_id",
    ];
    assert_eq!(fields(&body), names);
    let txn = answer.txn();
    let base = site.app.greeting["base_url"].as_str().unwrap();
    assert_eq!(body["status"], "pending");
    assert_eq!(body["notification_channel"], "agent_reflected");
    assert_eq!(body["poll_url"], format!("{base}/agent/approvals/{txn}"));
    assert_eq!(body["approval_url"], format!("{base}/approve/{txn}"));
    assert!(body["expires_in"].as_u64().is_some_and(|secs| (3590..=3600).contains(&secs)), "{body}");
    assert!(body["expires_at"].as_str().unwrap().ends_with('Z'));
    assert!(!body["agent_hint"].as_str().unwrap().is_empty());
    assert_eq!((txn.len(), &txn[14..15]), (36, "4"));
    assert_eq!(answer.header("location"), body["poll_url"].as_str());
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert_eq!(answer.header("px-txn"), Some(txn.as_str()));
    assert_eq!(answer.header("px-error"), None);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn base_url_and_timeout_settings_show_in_the_202() {
    let setup =
        Setup::new().env("PX_BASE_URL", "https://px.example.com").env("PX_APPROVAL_TIMEOUT_SECS", "120");
    let site = Site::with(setup).await;
    let body = site.forward("POST", "/").send().await.expect(202).json();
    assert!(body["poll_url"].as_str().unwrap().starts_with("https://px.example.com/agent/approvals/"));
    assert!(body["expires_in"].as_u64().is_some_and(|secs| (100..=120).contains(&secs)), "{body}");
    site.policy(&json!({"approval_timeout_secs": 600, "channel": "dashboard"})).await;
    let body = site.forward("POST", "/other").send().await.expect(202).json();
    assert!(body["expires_in"].as_u64().is_some_and(|secs| (590..=600).contains(&secs)), "{body}");
    assert_eq!(body["notification_channel"], "dashboard");
}

#[tokio::test]
async fn only_the_agent_that_asked_can_see_or_withdraw() {
    let site = Site::new().await;
    let txn = site.pause("/x").await;
    let other = site.owner.add_agent(&json!({"name": "other", "credentials": "all"})).await;
    let other = site.app.agent(other["key"].as_str().unwrap());
    let path = format!("/agent/approvals/{txn}");
    other.client.get(&path).send().await.problem(404, "not_found");
    other.client.get(&format!("{path}?wait=5")).send().await.problem(404, "not_found");
    other.withdraw(&txn).await.problem(404, "not_found");
    site.app.anonymous().get(&path).send().await.problem(401, "missing_key");
    for unknown in ["00000000-0000-4000-8000-000000000000", "nonsense"] {
        let answer = site.agent.client.get(&format!("/agent/approvals/{unknown}")).send().await;
        answer.problem(404, "not_found");
    }
    assert_eq!(site.agent.poll(&txn).await["status"], "pending");
}

#[tokio::test]
async fn a_decision_cannot_be_withdrawn_or_taken_twice() {
    let site = Site::new().await;
    let txn = site.pause("/x").await;
    site.owner.deny(&txn, "no").await;
    assert_eq!(site.agent.withdraw(&txn).await.status, 409);
    site.owner.decide(&txn, "approve", &json!({})).await.problem(409, "already_decided");
    site.owner.decide(&txn, "deny", &json!({})).await.problem(409, "already_decided");
    assert_eq!(site.agent.poll(&txn).await["status"], "denied");
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn deciding_needs_a_person_and_a_post() {
    let site = Site::new().await;
    let txn = site.pause("/x").await;
    let path = format!("/approvals/{txn}/approve");
    site.app.anonymous().post(&path, &json!({})).send().await.expect(401);
    site.agent.client.post(&path, &json!({})).send().await.expect(401);
    site.app.person(&site.agent.key).client.post(&path, &json!({})).send().await.expect(401);
    let got = site.owner.client.get(&path).send().await;
    assert!([404, 405].contains(&got.status), "{got:?}");
    site.owner
        .decide("00000000-0000-4000-8000-000000000000", "approve", &json!({}))
        .await
        .problem(404, "not_found");
    assert_eq!(site.agent.poll(&txn).await["status"], "pending");
}

#[tokio::test]
async fn allowed_approvers_narrows_who_may_decide() {
    let site = Site::new().await;
    let boss = site.app.admin("boss@people.example").await;
    site.policy(&json!({"allowed_approvers": ["Boss@People.example"]})).await;
    let txn = site.pause("/x").await;
    site.owner.decide(&txn, "approve", &json!({})).await.problem(403, "not_eligible");
    site.owner.decide(&txn, "deny", &json!({})).await.problem(403, "not_eligible");
    assert_eq!(boss.approve(&txn).await["status"], "approved");
}

#[tokio::test]
async fn the_approver_sees_what_will_be_sent() {
    let site = Site::new().await;
    let call = site
        .forward("POST", "/things?x=1")
        .header("x-px-reason", "to try it")
        .header("content-type", "text/plain");
    let txn = call.body("the whole body").send().await.txn();
    let list = site.owner.client.get("/approvals").send().await.expect(200).json();
    assert_eq!(list["approvals"][0]["txn_id"], txn);
    let answer = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200);
    answer.hides(SECRET);
    let seen = answer.json();
    for (field, value) in [
        ("agent_name", json!("default-agent")),
        ("credential_name", json!("api")),
        ("method", json!("POST")),
        ("target", json!(site.upstream.url("/things?x=1"))),
        ("reason", json!("to try it")),
    ] {
        assert_eq!(seen[field], value, "{seen}");
    }
    assert!(answer.text().contains("the whole body"), "{seen}");
}

engines! {
    async fn a_header_that_is_a_secret_by_its_name_is_shown_to_nobody(setup: Setup) {
        let site = Site::with(setup).await;
        let call = site.forward("POST", "/things").header("x-api-key", "HEADER-canary");
        let txn = call.header("x-tenant", "acme").body("x").send().await.txn();
        let seen = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200);
        seen.hides("HEADER-canary");
        let headers = seen.json()["headers"].to_string();
        assert!(headers.contains("x-api-key") && headers.contains("acme"), "{headers}");
        site.app.admin("admin@people.example").await;
        let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
        for path in [format!("/app/approvals/{txn}"), format!("/approve/{txn}"), "/app/inbox".to_owned()] {
            let page = browser.get(&path).await.expect(200);
            page.hides("HEADER-canary");
            assert!(page.text().contains("acme"), "{path}");
        }
        let records = site.app.cli(&["audit", "export"]).await.expect(0).stdout;
        assert!(records.contains("/things") && !records.contains("HEADER-canary"), "{records}");
        // The upstream is its receiver.
        site.owner.approve(&txn).await;
        let sent = site.upstream.received(1).await.remove(0);
        assert_eq!(sent.header("x-api-key"), Some("HEADER-canary"));
    }
}

/// Starts a POST that waits for a decision, and returns it with its transaction.
async fn waiting(site: &Site) -> (tokio::task::JoinHandle<HttpResponse>, String) {
    let call = site.forward("POST", "/waits").header("prefer", "wait=30").body("x");
    let waiting = tokio::spawn(call.send());
    let txn = until("the request in the inbox", async || {
        let list = site.owner.client.get("/approvals").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    });
    let txn = txn.await;
    (waiting, txn)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefer_wait_answers_with_the_upstreams_answer() {
    let site = Site::new().await;
    let (answer, txn) = waiting(&site).await;
    site.owner.approve(&txn).await;
    assert_eq!(answer.await.unwrap().forwarded(200).text(), "ok");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefer_wait_tells_a_denial_with_its_reason() {
    let site = Site::new().await;
    let (answer, txn) = waiting(&site).await;
    site.owner.deny(&txn, "too risky").await;
    let problem = answer.await.unwrap().problem(403, "approval_denied");
    assert!(problem.to_string().contains("too risky"), "{problem}");
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefer_wait_tells_an_expiry() {
    let site = Site::new_with_env("PX_APPROVAL_TIMEOUT_SECS", "1").await;
    let answer = site.forward("POST", "/").header("prefer", "wait=30").send().await;
    answer.problem(403, "approval_expired");
}

#[tokio::test]
async fn prefer_wait_without_a_decision_is_a_202() {
    let site = Site::new().await;
    let answer = site.forward("POST", "/").header("prefer", "wait=1").send().await.expect(202);
    assert_eq!(site.agent.poll(&answer.txn()).await["status"], "pending");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefer_wait_that_ends_while_the_request_is_on_its_way_says_so() {
    let site = Site::new().await;
    let (reply, release) = pyxis_testkit::upstream::Reply::ok("late").hold();
    site.upstream.reply(reply);
    let waiting = tokio::spawn(site.forward("POST", "/").header("prefer", "wait=10").send());
    let txn = crate::support::until("the request", async || {
        let list = site.owner.client.get("/approvals").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await;
    site.owner.approve(&txn).await;
    site.upstream.received(1).await;
    let told = waiting.await.unwrap().expect(202).json();
    assert_eq!((&told["status"], &told["txn_id"]), (&json!("approved"), &json!(txn)));
    release.send();
    assert_eq!(site.agent.outcome(&txn).await["response"]["body"], "late");
}

#[tokio::test]
async fn a_poll_that_waits_returns_the_state_when_its_time_is_over() {
    let site = Site::new().await;
    let txn = site.pause("/").await;
    let answer = site.agent.client.get(&format!("/agent/approvals/{txn}?wait=1")).send().await.expect(200);
    assert_eq!(answer.json()["status"], "pending");
}

#[tokio::test]
async fn a_body_that_is_no_text_comes_back_in_base64() {
    let site = Site::new().await;
    site.upstream.reply(pyxis_testkit::upstream::Reply::ok(vec![0xff, 0x00, 0xfe]));
    let txn = site.pause("/").await;
    site.owner.approve(&txn).await;
    let response = site.agent.outcome(&txn).await["response"].clone();
    assert_eq!((&response["body_encoding"], &response["body"]), (&json!("base64"), &json!("/wD+")));
}

#[tokio::test]
async fn an_answer_over_the_cap_is_truncated_and_says_so() {
    let site = Site::new_with_env("PX_RESPONSE_MAX_BYTES", "1000").await;
    site.upstream.reply(pyxis_testkit::upstream::Reply::ok("y".repeat(5000)));
    let txn = site.pause("/").await;
    site.owner.approve(&txn).await;
    let response = site.agent.outcome(&txn).await["response"].clone();
    assert_eq!(response["truncated"], true);
    assert_eq!(response["body"], "y".repeat(1000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_over_the_cap_is_never_given_as_a_whole_one() {
    let site = Site::new_with_env("PX_RESPONSE_MAX_BYTES", "1000").await;
    site.upstream.reply(pyxis_testkit::upstream::Reply::ok("y".repeat(5000)));
    let ask = || site.forward("POST", "/").header("idempotency-key", "k").header("prefer", "wait=30");
    let waiting = tokio::spawn(ask().send());
    let txn = crate::support::until("the request", async || {
        let list = site.owner.client.get("/approvals").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await;
    site.owner.approve(&txn).await;
    for answer in [waiting.await.unwrap(), ask().send().await] {
        let problem = answer.problem(502, "upstream_error");
        assert!(problem["detail"].as_str().unwrap().contains("too large to store"), "{problem}");
    }
    assert_eq!(site.agent.poll(&txn).await["response"]["body"], "y".repeat(1000));
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_body_too_large_to_wait_is_refused_but_may_pass_unasked() {
    let site = Site::new_with_env("PX_PENDING_BODY_MAX_BYTES", "1000").await;
    site.forward("POST", "/").body("x".repeat(1000)).send().await.expect(202);
    site.forward("POST", "/").body("x".repeat(1001)).send().await.problem(413, "body_too_large");
    let (chunked, sender) = site.forward("POST", "/chunked").upload();
    let answer = tokio::spawn(chunked.send());
    for _ in 0..2 {
        sender.send(vec![b'x'; 600].into()).await.unwrap();
    }
    drop(sender);
    answer.await.unwrap().problem(413, "body_too_large");
    site.policy(&json!({"auto_approve_methods": ["POST"]})).await;
    site.forward("POST", "/").body("x".repeat(5000)).send().await.forwarded(200);
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn failures_of_the_upstream_after_an_approval_are_told() {
    let site = Site::new_with_env("PX_FORWARD_TIMEOUT_SECS", "3").await;
    site.policy(&json!({"require_approval_methods": ["GET", "POST"]})).await;
    let held = || pyxis_testkit::upstream::Reply::ok("late").hold();
    let ((held, _release), (held_too, _release_too)) = (held(), held());
    let abort = pyxis_testkit::upstream::Reply::abort;
    for (method, reply, error) in [
        ("GET", held, "upstream_timeout"),
        ("GET", abort(), "upstream_error"),
        ("POST", held_too, "outcome_unknown"),
        ("POST", abort(), "outcome_unknown"),
    ] {
        site.upstream.reply(reply);
        let path = format!("/{}", site.upstream.requests().len());
        let txn = site.forward(method, &path).send().await.txn();
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        let seen = (&outcome["status"], &outcome["error"], &outcome["response"], &outcome["upstream_status"]);
        assert_eq!(seen, (&json!("approved"), &json!(error), &Value::Null, &Value::Null));
    }
    assert_eq!(site.upstream.requests().len(), 4);
}
