//! `score.changed` from a running server, across a crash.

use pyxis_testkit::engines;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::{Setup, until};

engines! {
    async fn a_changed_score_is_posted_signed_and_not_lost_in_a_crash(setup: Setup) {
        let authority = Authority::new();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, authority.pem()).unwrap();
        let setup = setup.env("PX_EGRESS_CA_FILE", path.to_str().unwrap());
        let receiver = Upstream::https(&authority, &["127.0.0.1"]).await;
        receiver.reply(Reply::new(500));
        let mut site = ScoringSite::with(setup).await;
        let wanted = json!({"url": receiver.url("/in"), "events": ["score.changed"]});
        let made = site.post("/admin/webhooks", &wanted).await.expect(201).json();
        assert_eq!(made["events"], json!(["score.changed"]));

        site.stamp(1, "NFTScore#50", "n:1").await;
        let before = site.score(1).await;
        site.stamp(1, "Discord", "d:1").await;
        receiver.received(1).await;
        let path = format!("/admin/deliveries?event=score.changed&webhook_id={}", made["id"].as_str().unwrap());
        until("the failure is noted", async || {
            (site.get(&path).await["deliveries"][0]["attempts"] == 1).then_some(())
        })
        .await;
        site.app.kill().await;
        site.app.sql("UPDATE deliveries SET next_at = 1");
        site.app.serve();
        let sent = receiver.received(2).await.pop().unwrap();
        assert_eq!(sent.header("px-event"), Some("score.changed"));
        assert!(sent.header("px-signature").is_some_and(|signature| signature.starts_with("t=")));
        let told: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!((&told["event"], &told["scorer_id"]), (&json!("score.changed"), &json!(site.scorer())));
        assert_eq!((&told["address"], &told["previous_score"]), (&json!(address(1).to_string()), &before["score"]));
        assert_ne!(told["score"], told["previous_score"]);
        assert_eq!(told.as_object().unwrap().len(), 8, "{told}");
    }
}
