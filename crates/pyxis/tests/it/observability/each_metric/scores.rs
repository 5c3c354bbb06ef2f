//! Scores, Stamps, and the networks and indexes that verification asks.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::Effect::{Becomes, By, Rises};
use super::{causes, measured};
use crate::scoring::installation::{ScoringSite, address};
use crate::support::{App, PATIENCE, Setup};

/// Asks for scores with a key of 125 requests until one is refused.
async fn exceed(site: &ScoringSite) {
    let made = site.app.cli_json(&["api-key", "add", "narrow", "--tier", "1"]).await;
    let client = site.app.anonymous().with("x-api-key", made["key"].as_str().unwrap());
    let path = format!("/v2/stamps/{}/score/{}", site.scorer(), address(1));
    let refused = async { while client.get(&path).send().await.status != 429 {} };
    tokio::time::timeout(PATIENCE, refused).await.expect("a refusal");
}

async fn score_in_a_job(site: &ScoringSite) {
    let file = site.app.directory().join("addresses.csv");
    std::fs::write(&file, format!("{}\n", address(1))).unwrap();
    let (file, scorer) = (file.to_str().unwrap(), site.scorer());
    site.app.cli_json(&["score-job", "create", file, "--scorer", &scorer]).await;
}

/// Issues a Stamp of an allow list whose next check is due.
async fn issue_and_let_it_be_checked(site: &ScoringSite) {
    site.app.cli(&["allow-list", "create", "EarlyMember"]).await.expect(0);
    let addresses = json!({"addresses": [address(5)]});
    site.post("/admin/allow-lists/EarlyMember/addresses", &addresses).await.expect(200);
    let body = json!({"stamps": [{"provider": "EarlyMember"}]});
    let path = format!("/v2/stamps/{}/issue", address(5));
    let answer = site.api.post(&path, &body).send().await.expect(200).json();
    assert_eq!(answer["items"][0]["status"], "accepted", "{answer}");
    site.app.sql("UPDATE issued_stamps SET check_at = 1");
}

engines! {
    async fn scores_and_their_sources_are_measured(setup: Setup) {
        let mut site = ScoringSite::with(measured(setup)).await;
        causes(&site.app, async || drop(site.stamp(1, "Discord", "account").await), &[
            ("pyxis_stamps_stored_total", By(1.0)),
        ]).await;
        // The first answer is computed and stored, later ones come from the store.
        let ask = async || {
            for _ in 0..3 {
                site.score(1).await;
            }
        };
        causes(&site.app, ask, &[
            ("pyxis_scores_total{source=\"computed\"}", Rises), ("pyxis_scores_total{source=\"stored\"}", Rises),
        ]).await;
        causes(&site.app, async || exceed(&site).await, &[("pyxis_score_limit_refusals_total", Rises)]).await;
        causes(&site.app, async || score_in_a_job(&site).await, &[
            ("pyxis_score_job_rows_total{result=\"scored\"}", By(1.0)),
            ("pyxis_score_jobs_total{state=\"done\"}", By(1.0)),
        ]).await;
        issue_and_let_it_be_checked(&site).await;
        // A start checks what is due.
        site.app.restart().await;
        let held = "pyxis_stamp_checks_total{outcome=\"held\"}";
        crate::support::until("a check", async || {
            let page = crate::support::metrics::page(&site.app).await;
            crate::support::metrics::value(&page, held).filter(|count| *count > 0.0)
        }).await;
    }
}

/// A node that answers every call.
fn answer(call: &Value) -> Value {
    let result = match call["method"].as_str().unwrap() {
        "eth_call" => json!(format!("0x{:064x}", 1)),
        "eth_getBlockByNumber" => json!({"number": "0x64", "timestamp": "0x69000000"}),
        _ => json!("0x60"),
    };
    json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_fail_and_answer_are_measured() {
    let (broken, sound) = (Upstream::http().await, Upstream::http().await);
    broken.reply_with(|_| Reply::new(500));
    sound.reply_with(|request| {
        let body = match serde_json::from_str(request.text()).unwrap() {
            Value::Array(batch) => batch.iter().map(answer).collect(),
            one => answer(&one),
        };
        Reply::json(&body.to_string())
    });
    let contract = address(0xcc).to_string();
    let network = |nodes: &[&Upstream]| {
        json!({
            "rpc": nodes.iter().map(|node| node.url("")).collect::<Vec<_>>(), "rpc_retry_ms": 1,
            "contracts": {"unique": {"phone": contract}, "residence": contract},
        })
    };
    let networks = json!({"optimism": network(&[&broken, &sound]), "base-sepolia": network(&[&broken])});
    let app = App::start(measured(Setup::new()).env("PX_NETWORKS", &networks.to_string())).await;
    let ask = async |network: &str, number: u8| {
        let path = format!("/sybil-resistance/phone/{network}?user={}&action-id=123456789", address(number));
        app.anonymous().get(&path).send().await
    };
    causes(
        &app,
        async || drop(ask("optimism", 1).await),
        &[
            ("pyxis_chain_questions_total{result=\"answered\"}", Rises),
            ("pyxis_chain_question_seconds_count", Rises),
            ("pyxis_chain_failovers_total", Rises),
        ],
    )
    .await;
    causes(
        &app,
        async || drop(ask("base-sepolia", 2).await),
        &[("pyxis_chain_questions_total{result=\"failed\"}", Rises)],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_fails_opens_its_breaker() {
    let index = Upstream::http().await;
    index.reply_with(|_| Reply::new(500));
    let setup = measured(Setup::new()).env("PX_ATTESTATION_SCAN_URL", &index.url(""));
    let attester = "0xABCDEFabcdefABCDEFabcdefABCDEFabcdefABCD";
    let app = App::start(setup.env("PX_AUTHORIZED_ATTESTER", attester)).await;
    let ask = async || {
        for number in 1..=6 {
            let answer =
                app.anonymous().get(&format!("/attestation/clean-hands/{}", address(number))).send().await;
            assert!(answer.status >= 500, "{answer:?}");
        }
    };
    causes(&app, ask, &[("pyxis_index_breaker_open", Becomes(1.0))]).await;
}
