//! Webhook cards (`docs/reference/notifications.md#webhook-card`).

use std::collections::{BTreeMap, BTreeSet};

use pyxis_core::clock::UnixMillis;
use pyxis_core::secret::SecretString;
use pyxis_core::webhook::signature;
use pyxis_gateway::channels::Endpoints;
use pyxis_gateway::channels::card::CardConfig;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::{Value, json};

use super::*;

const POLICY: &str = r#"{"channel": "card", "card_endpoint": "pager", "min_approvals": 2}"#;
const SECRET: &str = "canary-signing-secret";

async fn started(database: TestDatabase) -> (Proxy, Upstream) {
    let receiver = Upstream::http().await;
    let urls = format!("pager={} other={}", receiver.url("/hook/canary-path"), receiver.url("/other"));
    let secret = |name: &str, secret: &str| (name.to_owned(), SecretString::new(secret.to_owned()));
    let settings = CardConfig {
        endpoints: Endpoints::parse(&urls).unwrap(),
        secrets: BTreeMap::from([secret("pager", SECRET), secret("other", "another-secret-of-them")]),
    };
    let proxy = quiet(database, ChatSettings::default().with_platform(settings), POLICY).await;
    (proxy, receiver)
}

/// The card of a request whose signature was checked.
fn card(request: &Received) -> Value {
    let header = request.header("px-signature").unwrap();
    let at: i64 = header.split(',').next().unwrap().strip_prefix("t=").unwrap().parse().unwrap();
    let secret = SecretString::new(SECRET.to_owned());
    assert_eq!(header, signature([&secret], UnixMillis(at * 1000), &request.body));
    let card: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(request.header("px-event").unwrap(), card["event"]);
    assert!(request.header("px-delivery").unwrap().starts_with(card["id"].as_str().unwrap()));
    card
}

engines! {
    async fn a_signed_card_is_posted_and_again_whenever_the_request_changes(database: TestDatabase) {
        let (proxy, receiver) = started(database).await;
        let txn = proxy.pause_because(1, "for the March invoice").await;
        deliver(&proxy).await;
        let [posted] = receiver.requests().try_into().unwrap();
        assert_eq!(posted.target, "/hook/canary-path");
        let first = card(&posted);
        let fact = |name: &str, value: &str| json!({ "name": name, "value": value });
        let host = proxy.upstream.addr().to_string();
        let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
        let id = message(&proxy, txn).await.id.to_string();
        let status = first["status"].clone();
        assert!(status[0] == "Approvals: 0 of 2" && status[1].as_str().unwrap().starts_with("Expires at "), "{status}");
        let expected = json!({
            "event": "approval.requested",
            "id": id,
            "txn_id": txn.to_string(),
            "state": "pending",
            "title": "Pyxis · Approval needed",
            "text": "default-agent wants to use api",
            "facts": [
                fact("Agent", "default-agent"), fact("Credential", "api"), fact("Method", "POST"), fact("Host", &host),
                fact("Reason", "for the March invoice"),
            ],
            "status": status,
            "url": page(txn),
            "expires_at": row.expires_at.to_rfc3339(),
            "footer": "Secured by Pyxis",
        });
        assert_eq!(first, expected);
        decide_on_page(&proxy, txn, Decision::Approve(None)).await;
        deliver(&proxy).await;
        let second = proxy.approver(1, DecisionSurface::Dashboard);
        decide(&proxy.state, &second, txn, Decision::Approve(None)).await.unwrap();
        deliver(&proxy).await;
        let cards: Vec<Value> = receiver.requests().iter().map(card).collect();
        let events: Vec<&str> = cards.iter().map(|card| card["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["approval.requested", "approval.updated", "approval.decided"]);
        assert_eq!(cards[1]["status"][0], "Approvals: 1 of 2");
        assert!(cards[2]["state"] == "approved" && cards[2]["status"][0].as_str().unwrap().starts_with("Approved by b@example.com"));
        assert!(cards.iter().all(|card| card["id"] == id));
        let all = receiver.requests();
        let deliveries: BTreeSet<_> = all.iter().map(|request| request.header("px-delivery").unwrap()).collect();
        assert_eq!(deliveries.len(), 3);
    }

    async fn an_expired_request_is_told_to_the_receiver(database: TestDatabase) {
        let (proxy, receiver) = started(database).await;
        proxy.pause(1).await;
        deliver(&proxy).await;
        expire(&proxy).await;
        deliver(&proxy).await;
        let last = receiver.requests().pop().unwrap();
        let card = card(&last);
        assert_eq!((&card["event"], &card["state"]), (&json!("approval.expired"), &json!("expired")));
        assert_eq!(card["status"], json!(["No one decided in time."]));
    }

    async fn a_receiver_that_fails_is_tried_again_and_one_that_refuses_is_not(database: TestDatabase) {
        let (proxy, receiver) = started(database).await;
        receiver.reply(Reply::new(503)).reply(Reply::ok(""));
        let txn = proxy.pause(1).await;
        deliver(&proxy).await;
        let error = message(&proxy, txn).await.error.unwrap();
        assert!(error.contains("503") && !error.contains("canary"), "{error}");
        proxy.advance(Duration::from_secs(1));
        deliver(&proxy).await;
        assert!(message(&proxy, txn).await.error.is_none());
        receiver.reply(Reply::new(302).header("location", "http://127.0.0.1/elsewhere"));
        let txn = proxy.pause(2).await;
        deliver(&proxy).await;
        let row = message(&proxy, txn).await;
        assert!(row.error.unwrap().contains("redirects are not followed") && row.next_at.is_none());
        assert_eq!(receiver.requests().len(), 3);
    }

    async fn an_endpoint_that_is_no_longer_in_the_settings_refuses_with_the_known_names(database: TestDatabase) {
        let (proxy, receiver) = started(database).await;
        let error = refused(&proxy, r#"{"channel": "card", "card_endpoint": "pagers"}"#).await;
        assert!(error.contains("known names: other, pager") && !error.contains("canary"), "{error}");
        assert!(receiver.requests().is_empty());
        let found = doctor(&proxy).await;
        assert_eq!(found[1], ("Webhook card endpoint pager (unknown until the first message)".to_owned(), None));
    }
}
