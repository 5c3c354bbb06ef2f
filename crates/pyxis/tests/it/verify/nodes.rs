//! Nodes that are silent, failing or gone, and answers about final blocks, which stay valid
//! (`docs/reference/verification.md#nodes`).

use std::sync::{Arc, Mutex};

use pyxis_core::proof::{Kind, Registration};
use pyxis_testkit::upstream::{Received, Release, Reply, Upstream};
use serde_json::{Value, json};

use super::contracts::{Chain, ISSUER, abi_number, action, scores, strategy_path};
use super::installation::{ACTION, VerifySite, address, now, registration};
use crate::support::Setup;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_final_answer_outlives_the_node_and_no_other_does() {
    let mut chain = Chain::start().await;
    let site = chain.site(|_| {}).await;
    let early = chain.mint(1, 10_000, action(), ISSUER).await;
    let late = chain.mint(2, 10_000, action(), ISSUER).await;
    // One block behind the newest is final here.
    assert_eq!(scores(&site, late, 1..4).await, [1, 1, 0]);
    assert_eq!(scores(&site, early, 1..4).await, [1, 0, 0]);
    chain.anvil.kill();
    assert_eq!(scores(&site, early, 1..4).await, [1, 0, 0]);
    let refused = site.get(&strategy_path(&late.to_string(), 1..4)).await.expect(503).json();
    assert!(refused.get("score").is_none(), "{refused}");
    // About the same block, but not asked before.
    site.get(&strategy_path(&early.to_string(), 4..5)).await.expect(503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_killed_in_the_middle_of_a_batch_gives_no_scores() {
    let mut chain = Chain::start().await;
    let site = chain.site(|network| network["rpc_timeout_ms"] = json!(60_000)).await;
    let early = chain.mint(1, 10_000, action(), ISSUER).await;
    let late = chain.mint(2, 10_000, action(), ISSUER).await;
    // The newest block and the time of the early one are known from now on: only the batch is left to ask.
    assert_eq!(scores(&site, late, 1..4).await, [1, 1, 0]);
    assert_eq!(scores(&site, early, 1..4).await, [1, 0, 0]);
    chain.anvil.pause();
    let path = strategy_path(&early.to_string(), 4..154);
    let (answer, ()) = tokio::join!(site.get(&path), async {
        let batch_is_there = async || (chain.anvil.unread() > 2_000).then_some(());
        crate::support::until("a batch before the node", batch_is_there).await;
        chain.anvil.kill();
    });
    let refused = answer.expect(503).json();
    assert!(refused["error"].is_string() && refused.get("score").is_none(), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_timestamp_of_a_block_is_kept_only_once_it_is_final() {
    let chain = Chain::start().await;
    let site = chain.site(|network| network["confirmations"] = json!(2)).await;
    let said = Registration { expires_at: now() + 1000, ..registration(1, Kind::Phone, 7) };
    let until = u64::try_from(said.expires_at).unwrap();
    site.register(said).await;
    let fork = chain.anvil.rpc("evm_snapshot", json!([])).await;
    let mine = async |timestamp: u64| {
        chain.anvil.rpc("evm_setNextBlockTimestamp", json!([timestamp])).await;
        chain.send("setBroken(bool)", &[abi_number(0)]).await
    };
    let held_at = async |height: u64| {
        let path = format!(
            "/snapshot-strategies/sybil-resistance/phone?network=10&snapshot={height}&addresses={}&action-id={ACTION}",
            address(1)
        );
        site.get_json(&path).await["score"][0]["score"].clone()
    };
    let height = mine(until - 10).await;
    assert_eq!(held_at(height).await, 1);
    chain.anvil.rpc("evm_revert", json!([fork])).await;
    assert_eq!(mine(until + 10).await, height);
    assert_eq!(held_at(height).await, 0, "it is another block now, in which the proof has expired");
    // Two blocks later, it is asked for once more and then cached.
    mine(until + 20).await;
    let newest = mine(until + 30).await;
    assert_eq!((held_at(newest).await, held_at(height).await), (json!(0), json!(0)));
}

/// A node that accepts every request and never answers, as long as the second value lives.
async fn silent() -> (Upstream, Arc<Mutex<Vec<Release>>>) {
    let (node, held) = (Upstream::http().await, Arc::new(Mutex::new(Vec::new())));
    let kept = Arc::clone(&held);
    node.reply_with(move |_| {
        let (reply, release) = Reply::new(200).hold();
        kept.lock().unwrap().push(release);
        reply
    });
    (node, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_node_is_given_up_and_the_next_one_asked() {
    let chain = Chain::start().await;
    let minted = chain.mint(1, 10_000, action(), ISSUER).await;
    let (silent, _held) = silent().await;
    let patient = |urls: &[String]| chain.settings(urls, |network| network["rpc_timeout_ms"] = json!(3000));
    let both = patient(&[silent.url(""), chain.anvil.url()]);
    let site = VerifySite::with(Setup::new().env("PX_NETWORKS", &both)).await;
    assert_eq!(scores(&site, minted, 1..3).await, [1, 0]);
    assert!(!silent.requests().is_empty());
    let alone = VerifySite::with(Setup::new().env("PX_NETWORKS", &patient(&[silent.url("")]))).await;
    let refused = alone.get(&strategy_path("latest", 1..3)).await.expect(503).json();
    assert!(refused.get("score").is_none(), "{refused}");
}

/// A node with one block, on which every contract says yes until the node has answered `calls` batches of calls.
fn yes(request: &Received, calls: &Mutex<usize>) -> Reply {
    let answer = |call: &Value| {
        let result = if call["method"] == "eth_call" {
            json!(format!("0x{:064x}", 1))
        } else {
            json!({"number": "0x5", "timestamp": "0x69000000"})
        };
        json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
    };
    match serde_json::from_str(request.text()).unwrap() {
        Value::Array(batch) => {
            let mut left = calls.lock().unwrap();
            if *left == 0 {
                return Reply::abort();
            }
            *left -= 1;
            Reply::json(&Value::Array(batch.iter().map(answer).collect()).to_string())
        }
        // A failure for batches is also one for single calls: otherwise smaller ones would be answered.
        one if one["method"] == "eth_call" && *calls.lock().unwrap() == 0 => Reply::abort(),
        one => Reply::json(&answer(&one).to_string()),
    }
}

/// The settings of optimism with these nodes, with contracts for uniqueness and for residence.
fn stores(url: &str) -> Setup {
    let contract = address(0xcc).to_string();
    let network = json!({
        "rpc": [url],
        "contracts": {"unique": {"phone": contract, "gov-id": contract}, "residence": contract},
    });
    Setup::new().env("PX_NETWORKS", &json!({"optimism": network}).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_between_two_batches_gives_no_scores_at_all() {
    let node = Upstream::http().await;
    // 10, 20, 40 and 80 calls the first time, 100 and 50 the second time.
    let calls = Arc::new(Mutex::new(4));
    let left = Arc::clone(&calls);
    node.reply_with(move |request| yes(request, &left));
    let site = VerifySite::with(stores(&node.url(""))).await;
    let whole = site.get_json(&strategy_path("5", 0..150)).await;
    assert_eq!(whole["score"].as_array().map(Vec::len), Some(150));
    assert_eq!((&whole["score"][149]["score"], *calls.lock().unwrap()), (&json!(1), 0));
    *calls.lock().unwrap() = 1;
    let refused = site.get(&strategy_path("5", 0..150)).await.expect(503).json();
    assert!(refused["error"].is_string() && refused.get("score").is_none(), "{refused}");
    assert_eq!(*calls.lock().unwrap(), 0, "the first batch was answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_endpoint_takes_a_dead_node_for_a_no() {
    let dead = Upstream::http().await;
    dead.reply_with(|_| Reply::abort());
    let site = VerifySite::with(stores(&dead.url(""))).await;
    let user = address(1);
    for path in [
        format!("/sybil-resistance/phone/optimism?user={user}&action-id={ACTION}"),
        format!("/sybil-resistance/phone/optimism?user={user}&action-id={ACTION}&explain=true"),
        format!("/residence/country/us/optimism?user={user}"),
        format!("/attestation/evm/phone/optimism?user={user}&action-id={ACTION}"),
        strategy_path("latest", 1..3),
        format!("/snapshot-strategies/residence/country/us?network=10&snapshot=latest&addresses={user}"),
    ] {
        let refused = site.get(&path).await.expect(503).json();
        assert_eq!(refused.as_object().map(serde_json::Map::len), Some(1), "{path}: {refused}");
        assert!(refused["error"].is_string(), "{path}: {refused}");
    }
    let body = json!({
        "options": {"additionalParameters": format!("action-id={ACTION}")},
        "network": "10", "snapshot": "latest", "addresses": [user.to_string()],
    });
    let posted = site.anyone.post("/snapshot-strategies/sybil-resistance/phone", &body).send().await;
    assert!(posted.expect(503).json().get("score").is_none());
}
