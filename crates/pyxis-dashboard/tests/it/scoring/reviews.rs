//! Reviews of scores: listed, decided once, with a reason, and by nobody else's manager.

use http::StatusCode;
use pyxis_core::decimal::Decimal;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::ScoreReviewId;
use pyxis_store::score_reviews::{self, ReviewState, ScoreReviewRow};
use pyxis_testkit::engines;

use super::with_scorer;
use crate::support::{Server, Team};

async fn open_review(server: &Server, team: &Team, scorer: pyxis_core::id::ScorerId) -> String {
    let now = server.scoring.now();
    let id = ScoreReviewId::new(now, &OsEntropy);
    let row = ScoreReviewRow {
        id,
        workspace_id: team.id,
        scorer_id: scorer,
        address: "0x1111111111111111111111111111111111111111".parse().unwrap(),
        reason: "My passport was <renewed>.".to_owned(),
        score: Decimal::ZERO,
        threshold: "20".parse().unwrap(),
        state: ReviewState::Open,
        created_at: now,
        decided_by: None,
        decided_at: None,
        answer: None,
    };
    score_reviews::insert(&server.scoring.store, &row).await.unwrap();
    id.to_string()
}

engines! {
    async fn a_review_is_decided_once_with_a_reason_and_one_of_two_decisions(server: Server) {
        let (team, mut owner, scorer) = with_scorer(&server).await;
        assert!(owner.get("/app/reviews").await.text.contains("No "), "an empty state");
        let id = open_review(&server, &team, scorer.id).await;
        let path = format!("/app/reviews/{id}");
        assert!(owner.get("/app/reviews").await.text.contains(&format!("href=\"{path}\"")));
        let page = owner.get(&path).await.text;
        assert!(page.contains("renewed") && !page.contains("<renewed>"), "{page}");
        let to = format!("{path}/decide");
        for fields in [
            &[("decision", "grant"), ("reason", " ")][..],
            &[("decision", "perhaps"), ("reason", "The passport is fine.")],
            &[("reason", "The passport is fine.")],
        ] {
            let refused = owner.submit(&path, &to, fields).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
        }
        let decided = owner.submit(&path, &to, &[("decision", "grant"), ("reason", "The passport is fine.")]).await;
        assert_eq!((decided.status, decided.location()), (StatusCode::SEE_OTHER, path.as_str()));
        let page = owner.get(&path).await.text;
        assert!(page.contains("Granted by") && page.contains("The passport is fine."), "{page}");
        assert!(!page.contains("name=\"decision\""), "it cannot be decided again");
        assert!(!owner.get("/app/reviews?state=open").await.text.contains(&path));
        assert!(owner.get("/app/reviews?state=granted").await.text.contains(&path));
    }

    async fn the_review_of_another_workspace_is_not_found(server: Server) {
        let (team, _, scorer) = with_scorer(&server).await;
        let id = open_review(&server, &team, scorer.id).await;
        let other = server.team("other", "bo@example.com").await;
        let mut stranger = server.browser();
        stranger.use_link(&other.link).await;
        let path = format!("/app/reviews/{id}");
        assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND);
        let to = format!("{path}/decide");
        let sent = stranger.submit("/app/scorers", &to, &[("decision", "grant"), ("reason", "x")]).await;
        assert_eq!(sent.status, StatusCode::NOT_FOUND);
        let row = score_reviews::find(&server.scoring.store, team.id, id.parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(row.state, ReviewState::Open);
    }
}
