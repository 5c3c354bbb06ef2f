//! `score.changed`, recorded together with the change it reports (`docs/reference/webhooks.md#events`).

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ScorerId, WebhookId};
use pyxis_store::deliveries::{self, DeliveryFilter};
use pyxis_store::webhooks::{self, WebhookChange, WebhookRow};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::world::{START, World, day, wallet};

const CHANGES: &str = r#"["score.changed"]"#;

async fn endpoint(world: &World, events: &str) -> WebhookId {
    let id = WebhookId::new(START, &OsEntropy);
    let sealed = world.keyring.seal(&OsEntropy, &webhooks::secret_aad(world.workspace, id), b"whsec_1");
    let row = WebhookRow {
        id,
        workspace_id: world.workspace,
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
    webhooks::insert(&world.state.store, &row).await.unwrap();
    id
}

/// Events sent to an endpoint, oldest first.
async fn told(world: &World, webhook: WebhookId) -> Vec<Value> {
    let filter = DeliveryFilter { webhook: Some(webhook), ..DeliveryFilter::default() };
    let mut rows = deliveries::list(&world.state.store, world.workspace, &filter, 100).await.unwrap();
    // Ids of one millisecond have no order.
    rows.sort_by_key(|row| row.created_at);
    let mut bodies = Vec::new();
    for row in rows {
        assert_eq!((row.event.as_str(), row.txn_id), ("score.changed", None));
        let sealed = deliveries::body(&world.state.store, world.workspace, row.id).await.unwrap().unwrap();
        let opened = world.keyring.open(&deliveries::body_aad(world.workspace, row.id), &sealed).unwrap();
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
    async fn every_cause_of_a_change_is_told_once_with_both_scores(world: &World) {
        let hook = endpoint(world, CHANGES).await;
        let scorer = world.scorer("20", &[("A", "12"), ("B", "9.5"), ("C", "1")]).await;
        world.verify(wallet(1), "A", "a:1", 90).await;
        world.score(scorer, wallet(1)).await;
        assert!(told(world, hook).await.is_empty(), "a first score changes nothing");
        // A Stamp is added.
        world.on_day(1);
        let second = world.verify(wallet(1), "B", "b:1", 90).await;
        // One is revoked, one expires, and its holder removes one.
        world.on_day(2);
        world.revoke(wallet(1), &second).await;
        world.on_day(3);
        world.verify(wallet(1), "C", "c:1", 5).await;
        world.on_day(5);
        world.score(scorer, wallet(1)).await;
        world.on_day(6);
        world.delete(wallet(1), "A").await;
        let expected = [
            change(scorer, 1, ("12.00000", false), ("21.50000", true)),
            change(scorer, 2, ("21.50000", true), ("12.00000", false)),
            change(scorer, 3, ("12.00000", false), ("13.00000", false)),
            change(scorer, 5, ("13.00000", false), ("12.00000", false)),
            change(scorer, 6, ("12.00000", false), ("0.00000", false)),
        ];
        assert_eq!(told(world, hook).await, expected);
    }

    async fn what_is_worth_something_else_now_is_told_when_it_is_computed(world: &World) {
        let hook = endpoint(world, CHANGES).await;
        let scorer = world.scorer("20", &[("A", "12")]).await;
        world.verify(wallet(1), "A", "a:1", 90).await;
        world.score(scorer, wallet(1)).await;
        world.on_day(1);
        // The same score, which now reaches the threshold.
        world.set_terms(scorer, "10", &[("A", "12")]).await;
        let (books, workspace) = (&world.state.books, world.workspace);
        pyxis_scoring::engine::rescore(books, workspace, scorer, &*world.clock, |_| ()).await.unwrap();
        // Nothing changes for anyone, although it is recomputed.
        world.on_day(2);
        world.set_terms(scorer, "11", &[("A", "12"), ("B", "1")]).await;
        world.score(scorer, wallet(1)).await;
        world.score(scorer, wallet(1)).await;
        assert_eq!(told(world, hook).await, [change(scorer, 1, ("12.00000", false), ("12.00000", true))]);
    }

    async fn a_change_at_another_address_is_told_when_it_is_next_computed(world: &World) {
        let hook = endpoint(world, CHANGES).await;
        let scorer = world.scorer("20", &[("A", "12")]).await;
        let credential = world.verify(wallet(2), "A", "n:1", 90).await;
        world.score(scorer, wallet(2)).await;
        world.verify(wallet(1), "A", "n:1", 90).await;
        world.score(scorer, wallet(1)).await;
        world.on_day(1);
        world.revoke(wallet(2), &credential).await;
        world.on_day(2);
        world.score(scorer, wallet(1)).await;
        let mine: Vec<Value> = told(world, hook).await.into_iter()
            .filter(|body| body["address"] == wallet(1).to_string())
            .collect();
        assert_eq!(mine, [change(scorer, 2, ("0.00000", false), ("12.00000", false))]);
    }

    async fn stamps_that_are_removed_together_are_one_change(world: &World) {
        let hook = endpoint(world, CHANGES).await;
        let scorer = world.scorer("20", &[("A", "12"), ("B", "9"), ("C", "1")]).await;
        for name in ["A", "B", "C"] {
            world.verify(wallet(1), name, name, 90).await;
        }
        world.score(scorer, wallet(1)).await;
        world.on_day(1);
        let answer = world.delete(wallet(1), "A&provider=Nothing&provider=B&provider=A").await;
        assert_eq!(answer.text, r#"{"removed":2}"#);
        assert_eq!(told(world, hook).await, [change(scorer, 1, ("22.00000", true), ("1.00000", false))]);
    }

    async fn only_endpoints_that_asked_for_it_in_their_own_workspace_are_told(world: &World) {
        let silent = endpoint(world, "[]").await;
        let approvals = endpoint(world, r#"["approval.decided"]"#).await;
        let off = endpoint(world, CHANGES).await;
        let change = WebhookChange { disabled_at: Some(Some(START)), ..WebhookChange::default() };
        webhooks::update(&world.state.store, world.workspace, off, change, START).await.unwrap();
        let (asked, too) = (endpoint(world, CHANGES).await, endpoint(world, CHANGES).await);
        let (_, key, theirs) = world.neighbor().await;
        let scorer = world.scorer("20", &[("A", "12")]).await;
        world.verify(wallet(1), "A", "a:1", 90).await;
        for scorer in [scorer, world.scorer("20", &[("A", "3")]).await] {
            world.score(scorer, wallet(1)).await;
        }
        world.get_as(&key, &format!("/v2/stamps/{theirs}/score/{}", wallet(1))).await;
        world.on_day(1);
        world.delete(wallet(1), "A").await;
        assert_eq!(told(world, asked).await.len(), 2, "one for each scorer");
        assert_eq!(told(world, too).await.len(), 2);
        for webhook in [silent, approvals, off] {
            assert!(told(world, webhook).await.is_empty());
        }
    }
}
