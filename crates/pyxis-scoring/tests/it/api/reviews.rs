//! Reviews of scores (`docs/reference/behavior/scoring.md#reviews`).

use pyxis_core::actor::Actor;
use pyxis_core::id::ScorerId;
use pyxis_scoring::service::score_reviews::{self, ReviewDecision};
use pyxis_scoring::service::{Error, erasures};
use pyxis_store::score_reviews::ReviewState;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::changes::{endpoint, sent_events};
use super::erasures::occurrences;
use super::scene::{HttpResponse, Scene, day};
use super::self_check::{OWN, send_from_page, sign_in};
use super::widget::{TestPage, Wallet};

async fn open(scene: &Scene) -> (ScorerId, Wallet, String) {
    let scorer = scene.scorer("9", &[("A", "2")]).await;
    TestPage::for_origins(scene, scorer, &[OWN]).await;
    let holder = Wallet::number(1);
    scene.verify(holder.address(), "A", "a:1", 90).await;
    let token = sign_in(scene, scorer, &holder).await;
    (scorer, holder, token)
}

async fn request(scene: &Scene, scorer: ScorerId, token: &str, reason: &str) -> HttpResponse {
    send_from_page(scene, scorer, "/review", OWN, token, json!({ "reason": reason })).await
}

async fn get_review(scene: &Scene, scorer: ScorerId, token: &str) -> Value {
    send_from_page(scene, scorer, "/check", OWN, token, Value::Null).await.json()["review"].clone()
}

engines! {
    async fn a_holder_asks_once_and_sees_the_decision_with_its_reason(scene: &Scene) {
        let (scorer, holder, token) = open(scene).await;
        assert_eq!(get_review(scene, scorer, &token).await, Value::Null);
        let asked = request(scene, scorer, &token, "The account is mine.").await;
        assert_eq!((asked.status.as_u16(), &asked.json()["state"]), (200, &json!("open")), "{}", asked.text);
        let again = request(scene, scorer, &token, "Really.").await;
        assert_eq!((again.status.as_u16(), &again.json()["code"]), (409, &json!("review_open")));
        let actor = Actor::cli(scene.workspace);
        let all = score_reviews::list(&scene.state.store, scene.workspace, None, None).await.unwrap();
        let [review] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((review.address, review.score.to_string()), (holder.address(), "2.00000".to_owned()));
        let decided =
            score_reviews::decide(&scene.state, &actor, review.id, ReviewDecision::Decline, "It is not.").await.unwrap();
        assert_eq!((decided.state, decided.decided_by.as_deref()), (ReviewState::Declined, Some(&*actor.name)));
        let seen = get_review(scene, scorer, &token).await;
        assert_eq!((&seen["state"], &seen["answer"]), (&json!("declined"), &json!("It is not.")));
        let late = score_reviews::decide(&scene.state, &actor, review.id, ReviewDecision::Grant, "Well.").await;
        assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
        let kinds = scene.sql("SELECT kind FROM audit_records WHERE kind LIKE 'score_review%'").await;
        assert_eq!(kinds, ["score_review.declined"]);
        let soon = request(scene, scorer, &token, "Once more.").await;
        assert_eq!((soon.status.as_u16(), &soon.json()["code"]), (409, &json!("review_too_soon")));
        scene.on_day(2);
        let token = sign_in(scene, scorer, &holder).await;
        assert_eq!(request(scene, scorer, &token, "Once more.").await.status, 200);
    }

    async fn endpoints_that_chose_it_are_told_of_a_review_and_of_its_decision(scene: &Scene) {
        let (scorer, holder, token) = open(scene).await;
        let hook = endpoint(scene, r#"["review.requested","review.decided"]"#).await;
        let asked_only = endpoint(scene, r#"["review.requested"]"#).await;
        let silent = endpoint(scene, r#"["score.changed"]"#).await;
        assert_eq!(request(scene, scorer, &token, "The account is mine.").await.status, 200);
        assert_eq!(request(scene, scorer, &token, "Really.").await.status, 409);
        let actor = Actor::cli(scene.workspace);
        let review = score_reviews::list(&scene.state.store, scene.workspace, None, None).await.unwrap().remove(0);
        scene.on_day(1);
        let decide = || score_reviews::decide(&scene.state, &actor, review.id, ReviewDecision::Grant, "Seen.");
        decide().await.unwrap();
        decide().await.unwrap_err();
        let asked = json!({
            "event": "review.requested", "review_id": review.id, "scorer_id": scorer.to_string(),
            "address": holder.address(), "score": "2.00000", "threshold": "9.00000",
            "reason": "The account is mine.", "created_at": review.created_at.to_rfc3339(),
        });
        let mut decided = asked.clone();
        decided["event"] = json!("review.decided");
        decided["outcome"] = json!("granted");
        decided["answer"] = json!("Seen.");
        decided["decided_by"] = json!(actor.name);
        decided["decided_at"] = json!(day(1).to_rfc3339());
        assert_eq!(sent_events(scene, hook).await, [asked.clone(), decided]);
        assert_eq!(sent_events(scene, asked_only).await, [asked]);
        assert!(sent_events(scene, silent).await.is_empty());
        // What is said about an erased address goes with it.
        erasures::erase(&scene.state, &actor, holder.address()).await.unwrap().unwrap();
        assert!(sent_events(scene, hook).await.is_empty() && sent_events(scene, asked_only).await.is_empty());
    }

    async fn a_review_is_of_its_workspace_and_goes_with_its_address(scene: &Scene) {
        let (scorer, holder, token) = open(scene).await;
        for reason in ["", " ", &"x".repeat(1001), "a\u{7}b"] {
            assert_eq!(request(scene, scorer, &token, reason).await.status, 422, "{reason:?}");
        }
        assert_eq!(request(scene, scorer, "px_wid_x", "Mine.").await.status, 401);
        assert_eq!(request(scene, scorer, &token, "Mine.").await.status, 200);
        let (other, _, _) = scene.neighbor().await;
        let list = async |workspace| score_reviews::list(&scene.state.store, workspace, None, None).await.unwrap();
        let review = list(scene.workspace).await.remove(0);
        assert!(list(other).await.is_empty());
        let stranger = Actor::cli(other);
        let refused = score_reviews::decide(&scene.state, &stranger, review.id, ReviewDecision::Grant, "x").await;
        assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
        let actor = Actor::cli(scene.workspace);
        for reason in ["", "a\0b"] {
            let refused = score_reviews::decide(&scene.state, &actor, review.id, ReviewDecision::Grant, reason).await;
            assert!(matches!(refused, Err(Error::InvalidField { .. })), "{refused:?}");
        }
        let decide = || score_reviews::decide(&scene.state, &actor, review.id, ReviewDecision::Grant, "Seen.");
        let (one, two) = tokio::join!(decide(), decide());
        assert!(one.is_ok() != two.is_ok(), "one decision counts: {one:?} {two:?}");
        let receipt = erasures::erase(&scene.state, &actor, holder.address()).await.unwrap().unwrap();
        assert_eq!(receipt.removed.get("score_reviews"), Some(&1));
        assert_eq!(occurrences(scene, holder.address()).await, [""; 0]);
    }
}
