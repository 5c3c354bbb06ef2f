//! The sandbox's wallets on every route (`docs/reference/sandbox.md`), and votes by score.

use pyxis_core::proof::{Kind, Registration, Subject};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, registration};
use crate::support::{Client, Setup, until};

/// Each state with its score, whether it passes, and its live Stamps.
const WALLETS: [(&str, &str, bool, usize); 6] = [
    ("passes", "20.00000", true, 2),
    ("fails_by_one", "19.00000", false, 1),
    ("duplicate", "1.00000", false, 2),
    ("expired", "0.00000", false, 0),
    ("revoked", "0.00000", false, 0),
    ("unknown", "0.00000", false, 0),
];

/// A server with the sandbox, which is its second scorer.
struct Sandbox {
    site: VerifySite,
    api: Client,
    wallets: Vec<String>,
}

impl Sandbox {
    async fn start(setup: Setup) -> Self {
        let site = VerifySite::with(setup.env("PX_VOTE_SCORERS", "1, 2")).await;
        let made = site.app.cli_json(&["scorer", "sandbox"]).await;
        assert_eq!(made["scorer_id"], 2, "{made}");
        let wallet = |(state, ..): &(&str, _, _, _)| made["wallets"][state].as_str().unwrap().to_owned();
        let wallets = WALLETS.iter().map(wallet).collect();
        let api = site.app.anonymous().with("x-api-key", site.app.bootstrap["api_key"].as_str().unwrap());
        Self { site, api, wallets }
    }

    async fn read(&self, path: &str) -> Value {
        self.api.get(path).send().await.expect(200).json()
    }

    /// The results of a vote by score about every wallet, with their reasons.
    async fn vote(&self, snapshot: &str, parameters: &str) -> (Vec<Value>, Vec<Value>) {
        let addresses = self.wallets.join(",");
        let path = "/snapshot-strategies/score?network=10";
        let path = format!("{path}&snapshot={snapshot}&addresses={addresses}&{parameters}&explain=true");
        let answer = self.site.get_json(&path).await;
        let entries = answer["score"].as_array().unwrap();
        for (entry, wallet) in entries.iter().zip(&self.wallets) {
            assert_eq!(entry["address"], **wallet);
        }
        let all = |member: &str| entries.iter().map(|entry| entry[member].clone()).collect();
        (all("score"), all("reason"))
    }
}

fn values<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Vec<Value> {
    values.into_iter().map(Into::into).collect()
}

async fn routes_of_scores(sandbox: &Sandbox) {
    let body = json!({"addresses": sandbox.wallets});
    let batch = sandbox.api.post("/v2/stamps/2/scores", &body).send().await.expect(200).json();
    let elsewhere = sandbox.api.post("/v2/stamps/1/scores", &body).send().await.expect(200).json();
    for (index, ((state, score, passes, stamps), wallet)) in WALLETS.iter().zip(&sandbox.wallets).enumerate()
    {
        let path = format!("/v2/stamps/2/score/{wallet}");
        let record = sandbox.read(&path).await;
        assert_eq!((&record["score"], &record["passing_score"]), (&json!(score), &json!(passes)), "{state}");
        assert_eq!(record["stamps"].as_object().unwrap().len(), *stamps, "{state}");
        assert_eq!(record["stamps"]["Sandbox#Human"]["dedup"] == true, *state == "duplicate", "{record}");
        for member in ["score", "passing_score", "stamps"] {
            assert_eq!(batch["items"][index][member], record[member], "{state}");
        }
        let explained = sandbox.read(&format!("{path}?explain=true")).await;
        assert_eq!(explained["explain"]["stamps"].as_object().unwrap().len(), *stamps, "{state}");
        let signed = sandbox.read(&format!("{path}?signed=jwt")).await;
        assert!(signed["jwt"].is_string() && signed["passing_score"] == *passes, "{signed}");
        let earlier = sandbox.read(&format!("/registry/score/2/{wallet}")).await;
        assert_eq!(earlier["score"], *score, "{state}");
        let page = sandbox.read(&format!("/v2/stamps/{wallet}")).await;
        assert_eq!(page["items"].as_array().unwrap().len(), *stamps, "{state}");
        let history = sandbox.read(&format!("{path}/history?created_at=2999-01-01")).await;
        let answered = history["items"].as_array().unwrap();
        assert_eq!(answered.len(), usize::from(*state != "unknown"), "{state}");
        let model = sandbox.read(&format!("/v2/models/score/{wallet}")).await;
        assert_eq!(model["details"]["models"]["aggregate"]["score"], -1, "{state}");
        let check = format!("/sybil-resistance/gov-id/optimism?user={wallet}&action-id={ACTION}");
        assert_eq!(sandbox.site.get_json(&check).await, json!({"result": false}), "{state}");
        // Nothing of it counts in another scorer.
        assert_eq!(elsewhere["items"][index]["score"], "0.00000", "{state}");
    }
}

async fn routes_of_votes(sandbox: &Sandbox) {
    let own = sandbox.vote("latest", "scorer-id=2&threshold=scorer").await;
    let low = "below_threshold";
    let reasons = values(["valid", low, low, "no_score", "no_score", "no_score"]);
    assert_eq!(own, (values([1, 0, 0, 0, 0, 0]), reasons));
    assert_eq!(sandbox.vote("latest", "scorer-id=2&threshold=19").await.0, values([1, 1, 0, 0, 0, 0]));
    assert_eq!(sandbox.vote("latest", "scorer-id=2").await.0, values([20, 19, 1, 0, 0, 0]));
    let units = sandbox.vote("latest", "scorer-id=2&decimals=5").await.0;
    assert_eq!(units, values([2_000_000, 1_900_000, 100_000, 0, 0, 0]));
    assert_eq!(sandbox.vote("latest", "scorer-id=1").await.0, values([0; 6]));
    // Combined with proofs, of the wallet that lacks a point.
    let wallet = sandbox.wallets[1].parse().unwrap();
    let proof = Registration { subject: Subject::Evm(wallet), ..registration(1, Kind::GovId, 71) };
    sandbox.site.register(proof).await;
    let action = format!("action-id={ACTION}");
    let either = sandbox.vote("latest", &format!("scorer-id=2&threshold=20&or=gov-id,phone&{action}")).await;
    assert_eq!(either.0, values([1, 1, 0, 0, 0, 0]));
    let both = sandbox.vote("latest", &format!("scorer-id=2&and=gov-id&{action}")).await;
    let reasons = values(["none", "valid", "none", "no_score", "no_score", "no_score"]);
    assert_eq!(both, (values([0, 19, 0, 0, 0, 0]), reasons));
    let two = sandbox.vote("latest", &format!("scorer-id=2&and=gov-id,residence-us&{action}")).await;
    assert_eq!(two.0, values([0; 6]));
}

async fn past_blocks(sandbox: &Sandbox) {
    // Before the wallets had Stamps.
    assert_eq!(sandbox.vote("1", "scorer-id=2").await.0, values([0; 6]));
    let made = sandbox.site.head().await;
    let later = async || Some(sandbox.site.head().await).filter(|head| *head > made + 1);
    let later = until("a block after the sandbox", later).await.to_string();
    let wanted = values([20, 19, 1, 0, 0, 0]);
    assert_eq!(sandbox.vote(&later, "scorer-id=2").await.0, wanted);
    let gone = format!("/v2/stamps/{}?provider=Sandbox%23Human", sandbox.wallets[0]);
    sandbox.api.call("DELETE", &gone).send().await.expect(200);
    assert_eq!(sandbox.vote("latest", "scorer-id=2").await.0, values([1, 19, 1, 0, 0, 0]));
    assert_eq!(sandbox.vote(&later, "scorer-id=2").await.0, wanted, "the past stays as it was");
    // The command issues again what is missing.
    sandbox.site.app.cli_json(&["scorer", "sandbox"]).await;
    assert_eq!(sandbox.vote("latest", "scorer-id=2").await.0, wanted);
    let issuers = sandbox.site.app.cli_json(&["issuer", "list"]).await;
    assert_eq!(issuers, json!([]), "its issuer is trusted only while it issues");
}

engines! {
    async fn every_route_answers_for_every_wallet_of_the_sandbox(setup: Setup) {
        let sandbox = Sandbox::start(setup).await;
        let keys = sandbox.site.app.cli_json(&["api-key", "list"]).await;
        let key = keys[0]["id"].as_str().unwrap().to_owned();
        sandbox.site.app.cli_json(&["api-key", "allow-history", &key]).await;
        routes_of_scores(&sandbox).await;
        routes_of_votes(&sandbox).await;
        past_blocks(&sandbox).await;
    }
}

#[tokio::test]
async fn a_vote_by_score_that_is_malformed_says_what_is_allowed() {
    let site = VerifySite::with(Setup::new().env("PX_VOTE_SCORERS", "1")).await;
    let user = super::installation::address(1);
    let path =
        |rest: &str| format!("/snapshot-strategies/score?network=10&snapshot=1&addresses={user}&{rest}");
    for (rest, status, said) in [
        ("", 400, "Request query params do not include scorer-id"),
        ("scorer-id=2", 404, "Unknown scorer"),
        ("scorer-id=one", 404, "Unknown scorer"),
        ("scorer-id=1&threshold=0", 400, "Invalid strategy: threshold must be"),
        ("scorer-id=1&threshold=high", 400, "Invalid strategy: threshold must be"),
        ("scorer-id=1&decimals=6", 400, "Invalid strategy: decimals must be"),
        ("scorer-id=1&decimals=2&threshold=3", 400, "Invalid strategy: decimals is for scores"),
        ("scorer-id=1&or=residence-us", 400, "Invalid strategy: or needs threshold"),
        ("scorer-id=1&and=residence-us&or=residence-us", 400, "Invalid strategy: and and or exclude"),
        ("scorer-id=1&threshold=scorer&and=&action-id=1", 400, "Invalid strategy: and is empty"),
        ("scorer-id=1&threshold=&explain=true", 400, "Invalid strategy: threshold is empty"),
        ("scorer-id=1&And=gov-id", 400, "Invalid strategy: \"And\" is not a parameter; write and"),
        (
            "scorer-id=1&threshold=20&action_id=1",
            400,
            "Invalid strategy: \"action_id\" is not a parameter; write action-id",
        ),
        ("scorer-id=1&and=residence-us&and=gov-id", 400, "Invalid strategy: and is given twice"),
        ("scorer-id=1&explain=yes", 400, "Invalid explain: must be true, false, 1 or 0"),
        ("scorer-id=1&strict=maybe", 400, "Invalid strict: must be true, false, 1 or 0"),
        ("scorer-id=1&and=gov-id", 400, "Request query params do not include action-id"),
        ("scorer-id=1&and=passport", 404, "Unknown credential type"),
        ("scorer-id=1&snapshot=999999999", 400, "Snapshot is invalid"),
        ("scorer-id=1&network=77", 400, "Unsupported network"),
        ("scorer-id=1&network=84532&and=residence-us", 400, "Unsupported network"),
    ] {
        let answer = site.get(&path(rest)).await.expect(status);
        let said_there = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(said_there.starts_with(said), "{rest}: {said_there}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{rest}");
    }
    let unknown = site.get(&path("scorer-id=2")).await.json();
    assert_eq!(unknown["known"], json!(["1"]));
    let options = json!({"additionalParameters": "scorer-id=1&threshold=scorer"});
    let body = json!({"options": options, "network": 10, "snapshot": "latest", "addresses": [user, "0x1"]});
    let answer = site.anyone.post("/snapshot-strategies/score", &body).send().await.expect(200).json();
    assert_eq!(answer["score"][0], json!({"address": user.to_string(), "score": 0}));
    assert_eq!((&answer["score"][1]["score"], &answer["score"][1]["error"]["index"]), (&json!(0), &json!(1)));
    let posted = async |query: &str| {
        site.anyone.post(&format!("/snapshot-strategies/score?{query}"), &body).send().await
    };
    posted("threshold=scorer").await.expect(200);
    let twice = posted("threshold=5").await.expect(400).json();
    assert!(twice["error"].as_str().unwrap().contains("threshold is given twice"), "{twice}");
    // No scorer is open unless the operator opens it.
    let closed = VerifySite::with(Setup::new()).await;
    assert_eq!(closed.get(&path("scorer-id=1")).await.expect(404).json()["known"], Value::Null);
    let sandbox = closed.app.cli_json(&["scorer", "sandbox"]).await["scorer_id"].to_string();
    for (scorer, name) in [("1", "Sandbox#Human=19"), (&*sandbox, "Google=1")] {
        let refused =
            crate::support::app::run(closed.app.command(&["scorer", "set-weights", scorer, name])).await;
        let refused = refused.expect(1);
        assert!(refused.stderr.contains("sandbox scorer"), "{refused:?}");
    }
}
