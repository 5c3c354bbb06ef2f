//! The posted body, its signature, retries, and the order of deliveries (`docs/reference/webhooks.md#delivery`).

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{NodeId, TxnId, WebhookId};
use pyxis_core::secret::SecretString;
use pyxis_core::webhook::signature;
use pyxis_gateway::Config;
use pyxis_gateway::admin::webhooks::{self, WebhookInput, WebhookPatch};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::notifications::webhooks::deliver_due;
use pyxis_gateway::workers;
use pyxis_store::approvals;
use pyxis_store::deliveries::{self, DeliveryFilter, DeliveryRow, DeliveryStatus};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::{Value, json};

use crate::races::proxy::Proxy;

/// A receiver, its endpoint and its secret.
struct Hook {
    receiver: Upstream,
    id: WebhookId,
    secret: SecretString,
}

async fn hook(proxy: &Proxy, host: &str, events: &[&str]) -> Hook {
    let receiver = Upstream::https(&proxy.authority, &[host]).await;
    let input = WebhookInput {
        url: receiver.url_at(host, "/in?team=1"),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        ..WebhookInput::default()
    };
    let (made, secret) = webhooks::create(&proxy.state, &proxy.actor(), input).await.unwrap();
    Hook { receiver, id: made.row.id, secret }
}

async fn stored(proxy: &Proxy, hook: &Hook) -> Vec<DeliveryRow> {
    let filter = DeliveryFilter { webhook: Some(hook.id), ..DeliveryFilter::default() };
    let mut rows = deliveries::list(&proxy.state.store, proxy.workspace, &filter, 500).await.unwrap();
    rows.reverse();
    rows
}

/// The only delivery about a transaction.
async fn about(proxy: &Proxy, hook: &Hook, txn: TxnId) -> DeliveryRow {
    let [row] = stored(proxy, hook)
        .await
        .into_iter()
        .filter(|row| row.txn_id == Some(txn))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    row
}

fn event_body(request: &Received) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// The time at which a delivery says it was signed.
fn signed_at(request: &Received) -> i64 {
    let header = request.header("px-signature").unwrap();
    header.split(',').next().unwrap().strip_prefix("t=").unwrap().parse().unwrap()
}

fn assert_signed(request: &Received, secrets: &[&SecretString]) {
    let at = UnixMillis(signed_at(request) * 1000);
    let expected = signature(secrets.iter().copied(), at, &request.body);
    assert_eq!(request.header("px-signature"), Some(expected.as_str()));
}

/// A request that the first owner decided.
async fn send_and_decide(proxy: &Proxy, round: usize, said: Decision) -> TxnId {
    let txn = proxy.pause(round).await;
    decide(&proxy.state, &proxy.approver(0, DecisionSurface::Dashboard), txn, said).await.unwrap();
    txn
}

/// Delivers, and checks that the only event is an approval without a status, which failed with this error.
async fn assert_told_without_status(proxy: &Proxy, hook: &Hook, txn: TxnId, error: &str) {
    deliver_due(&proxy.state).await.unwrap();
    let [only] = hook.receiver.received(1).await.try_into().unwrap();
    let approved = json!({
        "event": "approval.decided", "txn_id": txn.to_string(), "outcome": "approved",
        "approver": "a@example.com", "channel": "agent_reflected", "upstream_status": null,
    });
    assert_eq!(event_body(&only), approved);
    let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
    assert_eq!(row.error.as_deref(), Some(error));
}

/// Position of a transaction's event among the received requests.
fn event_position(all: &[Received], txn: TxnId, event: &str) -> usize {
    let is = |body: Value| body["txn_id"] == txn.to_string() && body["event"] == event;
    all.iter().position(|request| is(event_body(request))).unwrap_or_else(|| panic!("{event} of {txn}"))
}

engines! {
    async fn an_endpoint_hears_of_every_request_before_its_decision(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &[]).await;
        // The first request is received late: the event about its decision waits for that.
        let (late, release) = Reply::ok("").hold();
        hook.receiver.reply(late);
        let mut denied = Vec::new();
        for round in 0..12 {
            denied.push(send_and_decide(proxy, round, Decision::Deny(None)).await);
        }
        let delivering = tokio::spawn({
            let state = proxy.state.clone();
            async move { deliver_due(&state).await }
        });
        let before = hook.receiver.received(23).await;
        let waited_for = event_body(&before[0])["txn_id"].clone();
        let about = before.iter().filter(|request| event_body(request)["txn_id"] == waited_for);
        assert_eq!(about.count(), 1, "its decision was told while it was under way");
        release.send();
        delivering.await.unwrap().unwrap();
        let all = hook.receiver.received(24).await;
        for txn in denied {
            let told = ["approval.requested", "approval.decided"].map(|event| event_position(&all, txn, event));
            assert!(told[0] < told[1], "{told:?}");
        }
        assert!(all.iter().all(|request| request.header("user-agent") == Some("Pyxis")));
    }

    async fn the_three_events_are_posted_with_their_fields_and_headers(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &[]).await;
        let denied = send_and_decide(proxy, 1, Decision::Deny(None)).await;
        let approved = proxy.pause(2).await;
        let owner = proxy.approver(1, DecisionSurface::Api);
        decide(&proxy.state, &owner, approved, Decision::Approve(None)).await.unwrap();
        workers::send_all(&proxy.state).await.unwrap();
        let withdrawn = proxy.pause(3).await;
        proxy.withdraw(withdrawn).await;
        deliver_due(&proxy.state).await.unwrap();

        let all = hook.receiver.received(6).await;
        let of = |txn: TxnId, event: &str| {
            let found = all.iter().find(|request| {
                let body = event_body(request);
                body["txn_id"] == txn.to_string() && body["event"] == event
            });
            found.unwrap_or_else(|| panic!("{event} of {txn}"))
        };
        let requested = of(denied, "approval.requested");
        assert_eq!((requested.method.as_str(), requested.target.as_str()), ("POST", "/in?team=1"));
        let expires = proxy.clock_now().plus(Duration::from_hours(1)).to_rfc3339();
        assert_eq!(event_body(requested), json!({
            "event": "approval.requested", "txn_id": denied.to_string(), "credential_name": "api", "method": "POST",
            "target_host": "127.0.0.1", "body_preview": "round 1", "summary": null,
            "approval_url": format!("http://localhost:8700/approve/{denied}"), "expires_at": expires,
            "notification_channel": "agent_reflected",
        }));
        let decided_event = |txn: TxnId, outcome: &str, approver: &str, status: Value| json!({
            "event": "approval.decided", "txn_id": txn.to_string(), "outcome": outcome, "approver": approver,
            "channel": "agent_reflected", "upstream_status": status,
        });
        assert_eq!(event_body(of(denied, "approval.decided")), decided_event(denied, "denied", "a@example.com", Value::Null));
        assert_eq!(event_body(of(approved, "approval.decided")), decided_event(approved, "approved", "b@example.com", json!(200)));
        assert_eq!(event_body(of(withdrawn, "approval.expired")), json!({"event": "approval.expired", "txn_id": withdrawn.to_string()}));

        let mut ids = std::collections::BTreeSet::new();
        for request in &all {
            assert_eq!(request.header("content-type"), Some("application/json"));
            assert_eq!(request.header("px-event"), event_body(request)["event"].as_str());
            assert!(ids.insert(request.header("px-delivery").unwrap().to_owned()), "unique for each delivery");
            assert_eq!(signed_at(request), proxy.clock_now().seconds());
            assert_signed(request, &[&hook.secret]);
        }
        for row in stored(proxy, &hook).await {
            assert_eq!((row.status, row.attempts, row.response_status), (DeliveryStatus::Delivered, 1, Some(200)));
            assert_eq!(row.response_excerpt.as_deref(), Some("ok"));
        }
    }

    async fn what_the_upstream_broke_off_is_decided_without_a_status(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.decided"]).await;
        proxy.upstream.reply_with(|_| Reply::abort());
        let txn = send_and_decide(proxy, 1, Decision::Approve(None)).await;
        assert!(stored(proxy, &hook).await.is_empty(), "it is told when the outcome is on record");
        workers::send_all(&proxy.state).await.unwrap();
        assert_told_without_status(proxy, &hook, txn, "outcome_unknown").await;
    }

    async fn what_a_node_died_over_is_decided_once_and_without_a_status(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.decided"]).await;
        let txn = send_and_decide(proxy, 1, Decision::Approve(None)).await;
        let (store, workspace, now) = (&proxy.state.store, proxy.workspace, proxy.clock_now());
        let (dead, until) = (NodeId::new(now, &OsEntropy), now.plus(Duration::from_secs(30)));
        assert!(approvals::claim(store, workspace, txn, dead, now, until).await.unwrap());
        assert!(approvals::begin_attempt(store, workspace, txn, dead, "d", now).await.unwrap());
        for _ in 0..2 {
            workers::recover(&proxy.state).await.unwrap();
        }
        assert_told_without_status(proxy, &hook, txn, "outcome_unknown").await;
        assert!(proxy.upstream.requests().is_empty());
    }

    async fn the_approver_is_whose_vote_completed_the_quorum(proxy: &Proxy) {
        proxy.policy(r#"{"min_approvals": 2}"#).await;
        let hook = hook(proxy, "hooks.example.com", &["approval.decided"]).await;
        let txn = proxy.pause(1).await;
        for voter in [1, 0] {
            let approver = proxy.approver(voter, DecisionSurface::Dashboard);
            decide(&proxy.state, &approver, txn, Decision::Approve(None)).await.unwrap();
        }
        workers::send_all(&proxy.state).await.unwrap();
        deliver_due(&proxy.state).await.unwrap();
        let [only] = hook.receiver.received(1).await.try_into().unwrap();
        assert_eq!((&event_body(&only)["approver"], &event_body(&only)["upstream_status"]), (&json!("a@example.com"), &json!(200)));
    }

    async fn what_is_no_longer_allowed_when_it_was_approved_is_decided_without_a_status(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.decided"]).await;
        let txn = send_and_decide(proxy, 1, Decision::Approve(None)).await;
        proxy.policy(r#"{"deny_methods": ["POST"]}"#).await;
        workers::send_all(&proxy.state).await.unwrap();
        assert_told_without_status(proxy, &hook, txn, "no_longer_allowed").await;
        assert!(proxy.upstream.requests().is_empty());
    }

    async fn of_an_answer_no_more_than_sixteen_kilobytes_are_read(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        // The response never ends: reading on would wait until the attempt has timed out.
        let (endless, chunks) = Reply::streaming();
        hook.receiver.reply(endless);
        chunks.send("x".repeat(16 * 1024));
        let txn = proxy.pause(1).await;
        proxy.withdraw(txn).await;
        deliver_due(&proxy.state).await.unwrap();
        let row = about(proxy, &hook, txn).await;
        assert_eq!((row.status, row.error), (DeliveryStatus::Delivered, None));
        assert_eq!(row.response_excerpt.unwrap().len(), 1000);
        drop(chunks);
    }

    async fn an_identical_request_that_joins_one_that_waits_is_told_once(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &[]).await;
        let txn = proxy.pause(7).await;
        assert_eq!(proxy.pause(7).await, txn);
        assert_eq!(stored(proxy, &hook).await.len(), 1);
    }

    async fn the_window_that_ends_is_told_once(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        let txn = proxy.pause(1).await;
        proxy.advance(Duration::from_hours(1));
        workers::expire_tick(&proxy.state).await.unwrap();
        workers::expire_tick(&proxy.state).await.unwrap();
        deliver_due(&proxy.state).await.unwrap();
        let [only] = hook.receiver.received(1).await.try_into().unwrap();
        assert_eq!(event_body(&only), json!({"event": "approval.expired", "txn_id": txn.to_string()}));
    }

    async fn five_attempts_are_made_on_the_schedule_and_then_it_has_failed(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        hook.receiver.reply_with(|_| Reply::new(503).body("busy"));
        let txn = proxy.pause(1).await;
        proxy.withdraw(txn).await;
        deliver_due(&proxy.state).await.unwrap();
        for (made, wait) in [(1, 15), (2, 60), (3, 180), (4, 360)] {
            let row = &stored(proxy, &hook).await[0];
            assert_eq!((row.status, row.attempts), (DeliveryStatus::Pending, made));
            assert_eq!(row.next_at.unwrap().since(proxy.clock_now()), Duration::from_secs(wait));
            proxy.advance(Duration::from_millis(wait * 1000 - 1));
            deliver_due(&proxy.state).await.unwrap();
            assert_eq!(stored(proxy, &hook).await[0].attempts, made, "not a moment too early");
            proxy.advance(Duration::from_millis(1));
            deliver_due(&proxy.state).await.unwrap();
        }
        let row = &stored(proxy, &hook).await[0];
        assert_eq!((row.status, row.attempts, row.next_at), (DeliveryStatus::Failed, 5, None));
        assert_eq!((row.response_status, row.response_excerpt.as_deref()), (Some(503), Some("busy")));
        assert_eq!(row.error.as_deref(), Some("the endpoint responded with 503"));
        proxy.advance(Duration::from_hours(2));
        deliver_due(&proxy.state).await.unwrap();

        let attempts = hook.receiver.requests();
        assert_eq!(attempts.len(), 5);
        let times: Vec<i64> = attempts.iter().map(|attempt| signed_at(attempt) - signed_at(&attempts[0])).collect();
        assert_eq!(times, [0, 15, 75, 255, 615], "signed afresh each time");
        for attempt in &attempts {
            assert_eq!(attempt.body, attempts[0].body);
            assert_eq!(attempt.header("px-delivery"), attempts[0].header("px-delivery"));
            assert_signed(attempt, &[&hook.secret]);
        }
    }

    async fn an_address_that_became_private_is_not_dialed_at_any_attempt(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        hook.receiver.reply(Reply::new(500));
        let txn = proxy.pause(1).await;
        proxy.withdraw(txn).await;
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(stored(proxy, &hook).await[0].response_status, Some(500));
        proxy.gate.moved_to("10.0.0.1".parse().unwrap());
        proxy.advance(Duration::from_secs(15));
        deliver_due(&proxy.state).await.unwrap();
        let row = &stored(proxy, &hook).await[0];
        assert_eq!((row.status, row.attempts, row.response_status), (DeliveryStatus::Pending, 2, None));
        assert!(row.error.as_ref().unwrap().contains("address is not public"), "{row:?}");
        assert_eq!(hook.receiver.requests().len(), 1);
    }

    async fn any_2xx_acknowledges_and_everything_else_does_not(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        for (round, (status, acknowledged)) in
            [(200, true), (204, true), (299, true), (301, false), (304, false), (400, false), (410, false), (500, false)]
                .into_iter()
                .enumerate()
        {
            hook.receiver.reply(Reply::new(status).header("location", "https://hooks.example.com/elsewhere"));
            let txn = proxy.pause(round).await;
            proxy.withdraw(txn).await;
            deliver_due(&proxy.state).await.unwrap();
            let row = about(proxy, &hook, txn).await;
            assert_eq!(row.status == DeliveryStatus::Delivered, acknowledged, "{status}");
            assert_eq!(row.response_status, Some(i64::from(status)));
        }
        assert!(hook.receiver.requests().iter().all(|request| request.target == "/in?team=1"), "no redirect is followed");
    }

    async fn an_endpoint_hears_only_what_it_subscribed_to(proxy: &Proxy) {
        let all = hook(proxy, "all.example.com", &[]).await;
        let some = hook(proxy, "some.example.com", &["approval.requested", "approval.expired"]).await;
        let txn = send_and_decide(proxy, 1, Decision::Deny(None)).await;
        let events = async |hook: &Hook| -> Vec<&'static str> {
            let mut events: Vec<_> = stored(proxy, hook).await.iter().map(|row| row.event.as_str()).collect();
            events.sort_unstable();
            events
        };
        assert_eq!(events(&all).await, ["approval.decided", "approval.requested"]);
        assert_eq!(events(&some).await, ["approval.requested"]);
        assert!(stored(proxy, &some).await.iter().all(|row| row.txn_id == Some(txn)));
    }

    async fn a_disabled_endpoint_hears_nothing_and_gets_what_waited_when_it_is_enabled_again(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        let switch = async |enabled| {
            let patch = WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
            webhooks::update(&proxy.state, &proxy.actor(), hook.id, patch).await.unwrap();
        };
        let before = proxy.pause(1).await;
        proxy.withdraw(before).await;
        switch(false).await;
        let during = proxy.pause(2).await;
        proxy.withdraw(during).await;
        deliver_due(&proxy.state).await.unwrap();
        assert!(hook.receiver.requests().is_empty());
        switch(true).await;
        deliver_due(&proxy.state).await.unwrap();
        let [only] = hook.receiver.received(1).await.try_into().unwrap();
        assert_eq!(event_body(&only)["txn_id"], before.to_string());
    }

    async fn both_secrets_sign_for_a_day_after_one_was_replaced(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        let (new, until) = webhooks::rotate(&proxy.state, &proxy.actor(), hook.id).await.unwrap();
        assert_eq!(until.since(proxy.clock_now()), Duration::from_hours(24));
        for round in 0..2 {
            let txn = proxy.pause(round).await;
            proxy.withdraw(txn).await;
            deliver_due(&proxy.state).await.unwrap();
            proxy.advance(Duration::from_hours(24));
        }
        let both = hook.receiver.received(2).await;
        assert_signed(&both[0], &[&new, &hook.secret]);
        assert_signed(&both[1], &[&new]);
    }

    async fn a_resent_delivery_is_the_same_bytes_signed_afresh_with_five_new_attempts(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        let txn = proxy.pause(1).await;
        proxy.withdraw(txn).await;
        deliver_due(&proxy.state).await.unwrap();
        let id = stored(proxy, &hook).await[0].id;
        proxy.advance(Duration::from_hours(5));
        hook.receiver.reply(Reply::new(500));
        let row = webhooks::resend(&proxy.state, &proxy.actor(), id).await.unwrap();
        assert_eq!((row.status, row.attempts, row.resends), (DeliveryStatus::Pending, 0, 1));
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(stored(proxy, &hook).await[0].status, DeliveryStatus::Pending);
        proxy.advance(Duration::from_secs(15));
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(stored(proxy, &hook).await[0].status, DeliveryStatus::Delivered);
        let [first, second, third] = hook.receiver.received(3).await.try_into().unwrap();
        assert_eq!(signed_at(&second) - signed_at(&first), 5 * 3600);
        for again in [&second, &third] {
            assert_eq!((&again.body, again.header("px-delivery")), (&first.body, first.header("px-delivery")));
            assert_signed(again, &[&hook.secret]);
        }
    }

    async fn what_a_dead_node_had_taken_is_attempted_by_another(proxy: &Proxy) {
        let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
        let txn = proxy.pause(1).await;
        proxy.withdraw(txn).await;
        let now = proxy.clock_now();
        let until = now.plus(Duration::from_secs(20));
        let taken = deliveries::claim(&proxy.state.store, hook.id, now, until, 10).await.unwrap();
        assert_eq!(taken.len(), 1);
        deliver_due(&proxy.state).await.unwrap();
        assert!(hook.receiver.requests().is_empty(), "it is taken");
        proxy.advance(Duration::from_secs(20));
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(hook.receiver.received(1).await[0].header("px-delivery"), Some(taken[0].id.to_string().as_str()));
    }

    async fn an_endpoint_that_never_answers_delays_no_other(proxy: &Proxy) {
        let stuck = hook(proxy, "stuck.example.com", &["approval.expired"]).await;
        let (held, never) = Reply::ok("late").hold();
        stuck.receiver.reply(held);
        stuck.receiver.reply_with(|_| Reply::abort());
        let first = proxy.pause(0).await;
        proxy.withdraw(first).await;
        let workers = proxy.work().await;
        stuck.receiver.received(1).await;
        let quick = hook(proxy, "quick.example.com", &["approval.expired"]).await;
        // Few, so that a slow machine is done long before the attempt at the other one is given up.
        for round in 1..=5 {
            let txn = proxy.pause(round).await;
            proxy.withdraw(txn).await;
        }
        quick.receiver.received(5).await;
        assert_eq!(about(proxy, &stuck, first).await.attempts, 0, "the first is still under way");
        drop(never);
        workers.end().await;
        assert_eq!(about(proxy, &stuck, first).await.status, DeliveryStatus::Delivered, "what was under way is finished");
    }
}

engines! {
    async fn what_the_upstream_did_not_answer_in_time_is_decided_without_a_status(database: TestDatabase) {
        let config = Config { forward_timeout: Duration::from_secs(2), ..Config::default() };
        let proxy = Proxy::with_config(database, config).await;
        let hook = hook(&proxy, "hooks.example.com", &["approval.decided"]).await;
        let (late, _never) = Reply::ok("late").hold();
        proxy.upstream.reply(late);
        let txn = send_and_decide(&proxy, 1, Decision::Approve(None)).await;
        workers::send_all(&proxy.state).await.unwrap();
        assert_told_without_status(&proxy, &hook, txn, "outcome_unknown").await;
        assert_eq!(proxy.upstream.requests().len(), 1);
    }
}

/// Time stands still only if one thread runs everything. `idle` waits until the database does nothing that the advance
/// could end.
async fn times_out(proxy: &Proxy, idle: impl AsyncFnOnce()) {
    let hook = hook(proxy, "hooks.example.com", &["approval.expired"]).await;
    let (held, never) = Reply::ok("late").hold();
    hook.receiver.reply(held);
    let txn = proxy.pause(1).await;
    proxy.withdraw(txn).await;
    let state = proxy.state.clone();
    let delivering = tokio::spawn(async move { deliver_due(&state).await });
    hook.receiver.received(1).await;
    idle().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    tokio::time::resume();
    delivering.await.unwrap().unwrap();
    let row = &stored(proxy, &hook).await[0];
    assert_eq!((row.status, row.attempts, row.response_status), (DeliveryStatus::Pending, 1, None));
    assert!(row.error.is_some(), "{row:?}");
    drop(never);
}

mod an_attempt_that_gets_no_answer_ends_after_ten_seconds {
    use super::*;

    #[tokio::test]
    async fn sqlite() {
        times_out(&Proxy::start(TestDatabase::sqlite()).await, async || ()).await;
    }

    #[tokio::test]
    async fn postgres() {
        let proxy = Proxy::start(TestDatabase::postgres("an attempt without an answer").await).await;
        times_out(&proxy, async || proxy.database.as_postgres().unwrap().until_idle().await).await;
    }
}
