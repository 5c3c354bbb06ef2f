//! Reviews of scores: asked for by holders, decided by managers.

use pyxis_core::hex;
use pyxis_signing::keys::{Algorithm, SigningKey};
use pyxis_signing::payload::personal_message;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::Stage;
use crate::support::{Answer, Setup};

/// A holder who is signed in on the server's own page.
struct Holder<'s> {
    stage: &'s Stage,
    address: String,
    token: String,
}

impl<'s> Holder<'s> {
    async fn sign_in(stage: &'s Stage, number: u8) -> Self {
        let key = SigningKey::new(Algorithm::Secp256k1, &[number; 32]).unwrap();
        let address = key.address().unwrap().to_lowercase();
        let mut holder = Self { stage, address, token: String::new() };
        let asked = json!({ "address": holder.address, "chain_id": 1 });
        let nonce = holder.ask("nonce", &asked).await.expect(200).json();
        let message = nonce["message"].as_str().unwrap();
        let signature = key.sign_recoverable(&personal_message(message.as_bytes())).unwrap();
        let signed = json!({ "message": message, "signature": format!("0x{}", hex::encode(&signature)) });
        let session = holder.ask("session", &signed).await.expect(200).json();
        session["token"].as_str().unwrap().clone_into(&mut holder.token);
        holder
    }

    async fn ask(&self, what: &str, body: &Value) -> Answer {
        let path = format!("/widget/v1/{}/{what}", self.stage.scorer());
        let call = self.stage.app.anonymous().post(&path, body).header("origin", origin(self.stage));
        let bearer = format!("Bearer {}", self.token);
        let call = if self.token.is_empty() { call } else { call.header("authorization", &bearer) };
        call.send().await
    }

    async fn request(&self, reason: &str) -> Answer {
        self.ask("review", &json!({ "reason": reason })).await
    }

    /// The review as the holder sees it.
    async fn shown(&self) -> Value {
        self.ask("check", &json!({})).await.expect(200).json()["review"].clone()
    }
}

/// Origin of the server's own page.
fn origin(stage: &Stage) -> &str {
    stage.app.greeting["base_url"].as_str().unwrap()
}

engines! {
    async fn a_review_that_a_holder_asks_for_is_listed_decided_and_on_record(setup: Setup) {
        let stage = Stage::with(setup).await;
        let key = json!({
            "name": "page", "kind": "publishable", "scorer_id": stage.app.bootstrap["scorer_id"],
            "origins": [origin(&stage)], "stamps_tier": 3,
        });
        stage.post("/admin/api-keys", &key).await.expect(201);
        let (first, second) = (Holder::sign_in(&stage, 1).await, Holder::sign_in(&stage, 2).await);
        assert_eq!(stage.get("/admin/score-reviews").await, json!({ "score_reviews": [] }));
        assert_eq!(first.request("The account is mine.").await.expect(200).json()["state"], "open");
        assert_eq!(second.request("I am one person.").await.expect(200).json()["state"], "open");
        assert_eq!(first.request("Really.").await.expect(409).json()["code"], "review_open");

        let listed = stage.get("/admin/score-reviews").await["score_reviews"].clone();
        let addresses: Vec<&Value> = listed.as_array().unwrap().iter().map(|review| &review["address"]).collect();
        assert_eq!(addresses, [&json!(second.address), &json!(first.address)], "newest first");
        let (of_second, of_first) = (&listed[0], &listed[1]);
        assert_eq!((&of_first["reason"], &of_first["state"]), (&json!("The account is mine."), &json!("open")));
        assert_eq!((&of_first["score"], &of_first["threshold"]), (&json!("0.00000"), &json!("20.00000")));
        let path = |review: &Value| format!("/admin/score-reviews/{}", review["id"].as_str().unwrap());
        assert_eq!(&stage.get(&path(of_first)).await, of_first);
        let before = format!("/admin/score-reviews?before={}", of_second["id"].as_str().unwrap());
        assert_eq!(stage.get(&before).await["score_reviews"], json!([of_first]));

        let decide = |review: &Value| format!("{}/decide", path(review));
        for body in [
            json!({ "decision": "grant" }),
            json!({ "decision": "maybe", "reason": "x" }),
            json!({ "decision": "grant", "reason": " " }),
        ] {
            stage.post(&decide(of_first), &body).await.problem(422, "invalid_field");
        }
        let grant = json!({ "decision": "grant", "reason": "It is yours." });
        let decline = json!({ "decision": "decline", "reason": "We cannot tell." });
        let stranger = stage.stranger().await.client;
        stranger.post(&decide(of_first), &grant).send().await.problem(404, "not_found");
        stranger.get(&path(of_first)).send().await.problem(404, "not_found");
        stage.app.anonymous().post(&decide(of_first), &grant).send().await.problem(401, "unauthenticated");
        let granted = stage.post(&decide(of_first), &grant).await.expect(200).json();
        assert_eq!((&granted["state"], &granted["answer"]), (&json!("granted"), &grant["reason"]));
        assert_eq!((&granted["decided_by"], granted["decided_at"].is_string()), (&json!("owner@localhost"), true));
        let declined = stage.post(&decide(of_second), &decline).await.expect(200).json();
        assert_eq!((&declined["state"], &declined["answer"]), (&json!("declined"), &decline["reason"]));
        stage.post(&decide(of_first), &decline).await.problem(409, "conflict");

        for (state, expected) in [("open", json!([])), ("granted", json!([granted])), ("declined", json!([declined]))] {
            let path = format!("/admin/score-reviews?state={state}");
            assert_eq!(stage.get(&path).await["score_reviews"], expected, "{state}");
        }
        for (holder, state, reason) in [(&first, "granted", &grant["reason"]), (&second, "declined", &decline["reason"])] {
            let shown = holder.shown().await;
            assert_eq!((&shown["state"], &shown["answer"]), (&json!(state), reason));
        }
        let records = stage.audited("score_review.").await;
        let kinds: Vec<&str> = records.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["score_review.granted", "score_review.declined"]);
        assert_eq!((&records[0].1["review"], &records[0].1["reason"]), (&granted["id"], &grant["reason"]));
        stage.owner.get("/admin/score-reviews/x").send().await.problem(404, "not_found");
        for (query, field, detail) in [
            ("?state=opn", "state", "state: unknown value (did you mean open?); known values: open, granted, declined"),
            ("?before=x", "before", "the id of a review"),
        ] {
            let path = format!("/admin/score-reviews{query}");
            let problem = stage.owner.get(&path).send().await.problem(422, "invalid_field");
            assert_eq!(problem["field"], field);
            assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
        }
    }
}
