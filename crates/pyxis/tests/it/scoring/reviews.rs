//! Reviews of scores: asked for by holders, decided by managers.

use pyxis_core::hex;
use pyxis_signing::keys::{Algorithm, SigningKey};
use pyxis_signing::payload::personal_message;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::ScoringSite;
use crate::support::{HttpResponse, Setup};

/// A holder who is signed in on the server's own page.
struct Holder<'s> {
    site: &'s ScoringSite,
    address: String,
    token: String,
}

impl<'s> Holder<'s> {
    async fn sign_in(site: &'s ScoringSite, number: u8) -> Self {
        let key = SigningKey::new(Algorithm::Secp256k1, &[number; 32]).unwrap();
        let address = key.address().unwrap().to_lowercase();
        let mut holder = Self { site, address, token: String::new() };
        let asked = json!({ "address": holder.address, "chain_id": 1 });
        let nonce = holder.post_from_page("nonce", &asked).await.expect(200).json();
        let message = nonce["message"].as_str().unwrap();
        let signature = key.sign_recoverable(&personal_message(message.as_bytes())).unwrap();
        let signed = json!({ "message": message, "signature": format!("0x{}", hex::encode(&signature)) });
        let session = holder.post_from_page("session", &signed).await.expect(200).json();
        session["token"].as_str().unwrap().clone_into(&mut holder.token);
        holder
    }

    async fn post_from_page(&self, what: &str, body: &Value) -> HttpResponse {
        let path = format!("/widget/v1/{}/{what}", self.site.scorer());
        let call = self.site.app.anonymous().post(&path, body).header("origin", origin(self.site));
        let bearer = format!("Bearer {}", self.token);
        let call = if self.token.is_empty() { call } else { call.header("authorization", &bearer) };
        call.send().await
    }

    async fn request(&self, reason: &str) -> HttpResponse {
        self.post_from_page("review", &json!({ "reason": reason })).await
    }

    /// The review as the holder sees it.
    async fn get_review(&self) -> Value {
        self.post_from_page("check", &json!({})).await.expect(200).json()["review"].clone()
    }
}

/// Origin of the server's own page.
fn origin(site: &ScoringSite) -> &str {
    site.app.greeting["base_url"].as_str().unwrap()
}

engines! {
    async fn a_review_that_a_holder_asks_for_is_listed_decided_and_on_record(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let key = json!({
            "name": "page", "kind": "publishable", "scorer_id": site.app.bootstrap["scorer_id"],
            "origins": [origin(&site)], "stamps_tier": 3,
        });
        site.post("/admin/api-keys", &key).await.expect(201);
        let (first, second) = (Holder::sign_in(&site, 1).await, Holder::sign_in(&site, 2).await);
        assert_eq!(site.get("/admin/score-reviews").await, json!({ "score_reviews": [] }));
        assert_eq!(first.request("The account is mine.").await.expect(200).json()["state"], "open");
        assert_eq!(second.request("I am one person.").await.expect(200).json()["state"], "open");
        assert_eq!(first.request("Really.").await.expect(409).json()["code"], "review_open");

        let listed = site.get("/admin/score-reviews").await["score_reviews"].clone();
        let addresses: Vec<&Value> = listed.as_array().unwrap().iter().map(|review| &review["address"]).collect();
        assert_eq!(addresses, [&json!(second.address), &json!(first.address)], "newest first");
        let (of_second, of_first) = (&listed[0], &listed[1]);
        assert_eq!((&of_first["reason"], &of_first["state"]), (&json!("The account is mine."), &json!("open")));
        assert_eq!((&of_first["score"], &of_first["threshold"]), (&json!("0.00000"), &json!("20.00000")));
        let path = |review: &Value| format!("/admin/score-reviews/{}", review["id"].as_str().unwrap());
        assert_eq!(&site.get(&path(of_first)).await, of_first);
        let before = format!("/admin/score-reviews?before={}", of_second["id"].as_str().unwrap());
        assert_eq!(site.get(&before).await["score_reviews"], json!([of_first]));

        let decide = |review: &Value| format!("{}/decide", path(review));
        for body in [
            json!({ "decision": "grant" }),
            json!({ "decision": "maybe", "reason": "x" }),
            json!({ "decision": "grant", "reason": " " }),
        ] {
            site.post(&decide(of_first), &body).await.problem(422, "invalid_field");
        }
        let grant = json!({ "decision": "grant", "reason": "It is yours." });
        let decline = json!({ "decision": "decline", "reason": "We cannot tell." });
        let stranger = site.stranger().await.client;
        stranger.post(&decide(of_first), &grant).send().await.problem(404, "not_found");
        stranger.get(&path(of_first)).send().await.problem(404, "not_found");
        site.app.anonymous().post(&decide(of_first), &grant).send().await.problem(401, "unauthenticated");
        let granted = site.post(&decide(of_first), &grant).await.expect(200).json();
        assert_eq!((&granted["state"], &granted["answer"]), (&json!("granted"), &grant["reason"]));
        assert_eq!((&granted["decided_by"], granted["decided_at"].is_string()), (&json!("owner@localhost"), true));
        let declined = site.post(&decide(of_second), &decline).await.expect(200).json();
        assert_eq!((&declined["state"], &declined["answer"]), (&json!("declined"), &decline["reason"]));
        site.post(&decide(of_first), &decline).await.problem(409, "conflict");

        for (state, expected) in [("open", json!([])), ("granted", json!([granted])), ("declined", json!([declined]))] {
            let path = format!("/admin/score-reviews?state={state}");
            assert_eq!(site.get(&path).await["score_reviews"], expected, "{state}");
        }
        for (holder, state, reason) in [(&first, "granted", &grant["reason"]), (&second, "declined", &decline["reason"])] {
            let shown = holder.get_review().await;
            assert_eq!((&shown["state"], &shown["answer"]), (&json!(state), reason));
        }
        let records = site.audited("score_review.").await;
        let kinds: Vec<&str> = records.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["score_review.granted", "score_review.declined"]);
        assert_eq!((&records[0].1["review"], &records[0].1["reason"]), (&granted["id"], &grant["reason"]));
        site.owner.get("/admin/score-reviews/x").send().await.problem(404, "not_found");
        for (query, field, detail) in [
            ("?state=opn", "state", "state: unknown value (did you mean open?); known values: open, granted, declined"),
            ("?before=x", "before", "the id of a review"),
        ] {
            let path = format!("/admin/score-reviews{query}");
            let problem = site.owner.get(&path).send().await.problem(422, "invalid_field");
            assert_eq!(problem["field"], field);
            assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
        }
    }
}
