//! `score.changed`, recorded together with the change it reports (`docs/reference/webhooks.md#events`).

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ScorerId, WebhookId};
use pyxis_store::deliveries::{self, DeliveryFilter};
use pyxis_store::webhooks::{self, WebhookChange, WebhookRow};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{START, Scene, day, wallet};

const CHANGES: &str = r#"["score.changed"]"#;

pub(super) async fn endpoint(scene: &Scene, events: &str) -> WebhookId {
    let id = WebhookId::new(START, &OsEntropy);
    let sealed = scene.keyring.seal(&OsEntropy, &webhooks::secret_aad(scene.workspace, id), b"whsec_1");
    let row = WebhookRow {
        id,
        workspace_id: scene.workspace,
        url: "https://hooks.example.com/in".to_owned(),
        description: String::new(),
        events: events.to_owned(),
        sealed_secret: sealed,
        sealed_previous: None,
        previous_until_at: None,
        disabled_at: None,
        created_at: START,
        updated_at: START,
    };
    webhooks::insert(&scene.state.store, &row).await.unwrap();
    id
}

/// Events sent to an endpoint, oldest first.
pub(super) async fn sent_events(scene: &Scene, webhook: WebhookId) -> Vec<Value> {
    let filter = DeliveryFilter { webhook: Some(webhook), ..DeliveryFilter::default() };
    let mut rows = deliveries::list(&scene.state.store, scene.workspace, &filter, 100).await.unwrap();
    // Ids of one millisecond have no order.
    rows.sort_by_key(|row| row.created_at);
    let mut bodies = Vec::new();
    for row in rows {
        assert_eq!(row.txn_id, None);
        let sealed = deliveries::body(&scene.state.store, scene.workspace, row.id).await.unwrap().unwrap();
        let opened = scene.keyring.open(&deliveries::body_aad(scene.workspace, row.id), &sealed).unwrap();
        bodies.push(serde_json::from_slice(opened.expose()).unwrap());
    }
    bodies
}

fn change(scorer: ScorerId, on: i64, before: (&str, bool), now: (&str, bool)) -> Value {
    json!({
        "event": "score.changed", "scorer_id": scorer.to_string(), "address": wallet(1).to_string(),
        "previous_score": before.0, "previous_passing": before.1, "score": now.0, "passing": now.1,
        "computed_at": day(on).to_rfc3339(),
    })
}

engines! {
    async fn every_cause_of_a_change_is_told_once_with_both_scores(scene: &Scene) {
        let hook = endpoint(scene, CHANGES).await;
        let scorer = scene.scorer("20", &[("A", "12"), ("B", "9.5"), ("C", "1")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        assert!(sent_events(scene, hook).await.is_empty(), "a first score changes nothing");
        // A Stamp is added.
        scene.on_day(1);
        let second = scene.verify(wallet(1), "B", "b:1", 90).await;
        // One is revoked, one expires, and its holder removes one.
        scene.on_day(2);
        scene.revoke(wallet(1), &second).await;
        scene.on_day(3);
        scene.verify(wallet(1), "C", "c:1", 5).await;
        scene.on_day(5);
        scene.score(scorer, wallet(1)).await;
        scene.on_day(6);
        scene.delete(wallet(1), "A").await;
        let expected = [
            change(scorer, 1, ("12.00000", false), ("21.50000", true)),
            change(scorer, 2, ("21.50000", true), ("12.00000", false)),
            change(scorer, 3, ("12.00000", false), ("13.00000", false)),
            change(scorer, 5, ("13.00000", false), ("12.00000", false)),
            change(scorer, 6, ("12.00000", false), ("0.00000", false)),
        ];
        assert_eq!(sent_events(scene, hook).await, expected);
    }

    async fn what_is_worth_something_else_now_is_told_when_it_is_computed(scene: &Scene) {
        let hook = endpoint(scene, CHANGES).await;
        let scorer = scene.scorer("20", &[("A", "12")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(1);
        // The same score, which now reaches the threshold.
        scene.set_terms(scorer, "10", &[("A", "12")]).await;
        let (db, workspace) = (&scene.state.db, scene.workspace);
        pyxis_scoring::engine::rescore(db, workspace, scorer, &*scene.clock, |_| ()).await.unwrap();
        // Nothing changes for anyone, although it is recomputed.
        scene.on_day(2);
        scene.set_terms(scorer, "11", &[("A", "12"), ("B", "1")]).await;
        scene.score(scorer, wallet(1)).await;
        scene.score(scorer, wallet(1)).await;
        assert_eq!(sent_events(scene, hook).await, [change(scorer, 1, ("12.00000", false), ("12.00000", true))]);
    }

    async fn a_change_at_another_address_is_told_when_it_is_next_computed(scene: &Scene) {
        let hook = endpoint(scene, CHANGES).await;
        let scorer = scene.scorer("20", &[("A", "12")]).await;
        let credential = scene.verify(wallet(2), "A", "n:1", 90).await;
        scene.score(scorer, wallet(2)).await;
        scene.verify(wallet(1), "A", "n:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(1);
        scene.revoke(wallet(2), &credential).await;
        scene.on_day(2);
        scene.score(scorer, wallet(1)).await;
        let mine: Vec<Value> = sent_events(scene, hook).await.into_iter()
            .filter(|body| body["address"] == wallet(1).to_string())
            .collect();
        assert_eq!(mine, [change(scorer, 2, ("0.00000", false), ("12.00000", false))]);
    }

    async fn stamps_that_are_removed_together_are_one_change(scene: &Scene) {
        let hook = endpoint(scene, CHANGES).await;
        let scorer = scene.scorer("20", &[("A", "12"), ("B", "9"), ("C", "1")]).await;
        for name in ["A", "B", "C"] {
            scene.verify(wallet(1), name, name, 90).await;
        }
        scene.score(scorer, wallet(1)).await;
        scene.on_day(1);
        let answer = scene.delete(wallet(1), "A&provider=Nothing&provider=B&provider=A").await;
        assert_eq!(answer.text, r#"{"removed":2}"#);
        assert_eq!(sent_events(scene, hook).await, [change(scorer, 1, ("22.00000", true), ("1.00000", false))]);
    }

    async fn only_endpoints_that_asked_for_it_in_their_own_workspace_are_told(scene: &Scene) {
        let silent = endpoint(scene, "[]").await;
        let approvals = endpoint(scene, r#"["approval.decided"]"#).await;
        let off = endpoint(scene, CHANGES).await;
        let change = WebhookChange { disabled_at: Some(Some(START)), ..WebhookChange::default() };
        webhooks::update(&scene.state.store, scene.workspace, off, change, START).await.unwrap();
        let (asked, too) = (endpoint(scene, CHANGES).await, endpoint(scene, CHANGES).await);
        let (_, key, theirs) = scene.neighbor().await;
        let scorer = scene.scorer("20", &[("A", "12")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        for scorer in [scorer, scene.scorer("20", &[("A", "3")]).await] {
            scene.score(scorer, wallet(1)).await;
        }
        scene.get_as(&key, &format!("/v2/stamps/{theirs}/score/{}", wallet(1))).await;
        scene.on_day(1);
        scene.delete(wallet(1), "A").await;
        assert_eq!(sent_events(scene, asked).await.len(), 2, "one for each scorer");
        assert_eq!(sent_events(scene, too).await.len(), 2);
        for webhook in [silent, approvals, off] {
            assert!(sent_events(scene, webhook).await.is_empty());
        }
    }
}
