//! Nodes that lack their newest block, and nodes that fail: which of them are asked, how often, and about which block.

use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address};
use crate::support::{HttpResponse, Setup};

/// The newest block of every node here.
const HEAD: u64 = 0x64;

/// An answer to one call, by its id.
type Lag = fn(&Value) -> Value;

const LAGS: [Lag; 5] = [
    |id| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "header not found"}}),
    |id| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32001, "message": "block not found: 0x64"}}),
    |id| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "missing trie node ab (path )"}}),
    |id| json!({"jsonrpc": "2.0", "id": id, "result": "0x"}),
    |id| json!({"jsonrpc": "2.0", "id": id, "result": null}),
];

/// The block that a call of a contract, or a question about its code, is about.
fn block_of(call: &Value) -> Option<u64> {
    let state = ["eth_call", "eth_getCode"].contains(&call["method"].as_str()?);
    let block = call["params"][1].as_str().filter(|_| state)?;
    u64::from_str_radix(block.strip_prefix("0x")?, 16).ok()
}

fn answer(call: &Value, has: u64, lag: Lag) -> Value {
    let id = &call["id"];
    let result = match call["method"].as_str().unwrap() {
        _ if block_of(call).is_some_and(|block| block > has) => return lag(id),
        "eth_call" => json!(format!("0x{:064x}", 1)),
        "eth_getBlockByNumber" => {
            let number = call["params"][0].as_str().filter(|which| *which != "latest");
            json!({"number": number.unwrap_or("0x64"), "timestamp": "0x69000000"})
        }
        "eth_getCode" => json!("0x60"),
        other => panic!("{other}"),
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A node that reports block [`HEAD`] and has the state of `has` and the blocks before.
async fn node(has: u64, lag: Lag) -> Upstream {
    let node = Upstream::http().await;
    node.reply_with(move |request| {
        let body = match serde_json::from_str(request.text()).unwrap() {
            Value::Array(batch) => batch.iter().map(|call| answer(call, has, lag)).collect(),
            one => answer(&one, has, lag),
        };
        Reply::json(&body.to_string())
    });
    node
}

async fn site(nodes: &[&Upstream]) -> VerifySite {
    let contract = address(0xcc).to_string();
    let network = json!({
        "rpc": nodes.iter().map(|node| node.url("")).collect::<Vec<_>>(),
        "rpc_retry_ms": 1,
        "contracts": {"unique": {"phone": contract}, "residence": contract},
    });
    VerifySite::with(Setup::new().env("PX_NETWORKS", &json!({"optimism": network}).to_string())).await
}

fn calls(request: &Received) -> Vec<Value> {
    match serde_json::from_str(request.text()).unwrap() {
        Value::Array(batch) => batch,
        one => vec![one],
    }
}

/// The blocks of the contract calls that a node received, request by request.
fn called_blocks(node: &Upstream) -> Vec<u64> {
    let requests = node.requests();
    let calls = requests.iter().filter_map(|request| {
        let first = calls(request).swap_remove(0);
        block_of(&first).filter(|_| first["method"] == "eth_call")
    });
    calls.collect()
}

fn strategy(snapshot: &str) -> String {
    let users = [address(1), address(2)].map(|user| user.to_string()).join(",");
    format!(
        "/snapshot-strategies/sybil-resistance/phone?network=10&snapshot={snapshot}&addresses={users}&action-id={ACTION}"
    )
}

/// Every request about the newest block.
fn present() -> [String; 4] {
    let user = address(1);
    [
        strategy("latest"),
        format!("/sybil-resistance/phone/optimism?user={user}&action-id={ACTION}"),
        format!("/residence/country/us/optimism?user={user}"),
        format!("/snapshot-strategies/residence/country/us?network=10&snapshot=latest&addresses={user}"),
    ]
}

#[track_caller]
fn yes(path: &str, answer: HttpResponse) {
    let answer = answer.expect(200).json();
    match answer["score"].as_array() {
        Some(scores) => assert!(scores.iter().all(|entry| entry["score"] == 1), "{path}: {answer}"),
        None => assert_eq!(answer["result"], true, "{path}: {answer}"),
    }
}

#[track_caller]
fn unknown(path: &str, answer: HttpResponse) {
    let answer = answer.expect(503).json();
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(1), "{path}: {answer}");
    assert!(answer["error"].is_string(), "{path}: {answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_the_present_goes_back_one_block_after_each_node_was_asked_three_times() {
    for lag in LAGS {
        let (first, second) = (node(HEAD - 1, lag).await, node(HEAD - 1, lag).await);
        let site = site(&[&first, &second]).await;
        yes("latest", site.get(&strategy("latest")).await);
        assert_eq!(
            (called_blocks(&first), called_blocks(&second)),
            (vec![HEAD, HEAD, HEAD, HEAD - 1], vec![HEAD; 3])
        );
        for path in present() {
            yes(&path, site.get(&path).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_keeps_up_answers_for_one_that_lags_and_no_block_is_left_out() {
    for lag in LAGS {
        let (first, second) = (node(HEAD - 1, lag).await, node(HEAD, lag).await);
        let site = site(&[&first, &second]).await;
        yes("latest", site.get(&strategy("latest")).await);
        assert_eq!((called_blocks(&first), called_blocks(&second)), (vec![HEAD; 3], vec![HEAD]));
        yes("head", site.get(&strategy("100")).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_a_block_is_never_answered_from_another_one() {
    for lag in LAGS {
        let (first, second) = (node(HEAD - 1, lag).await, node(HEAD - 1, lag).await);
        let site = site(&[&first, &second]).await;
        let refused = site.get(&strategy("100")).await;
        assert_eq!(refused.headers["retry-after"], "5");
        unknown("100", refused);
        assert_eq!((called_blocks(&first), called_blocks(&second)), (vec![HEAD; 3], vec![HEAD; 3]));
        yes("99", site.get(&strategy("99")).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_lags_by_more_than_two_blocks_is_no_source() {
    for lag in LAGS {
        let node = node(HEAD - 3, lag).await;
        let site = site(&[&node]).await;
        unknown("latest", site.get(&strategy("latest")).await);
        let blocks = called_blocks(&node);
        assert_eq!(blocks, [[HEAD; 3], [HEAD - 1; 3], [HEAD - 2; 3]].concat());
        for path in present() {
            unknown(&path, site.get(&path).await);
        }
    }
}

/// Invalid answers to any request.
const FAILURES: [fn(&Value) -> Reply; 10] = [
    |_| Reply::abort(),
    |_| Reply::new(500).body("<html>no</html>"),
    |_| Reply::new(429).header("retry-after", "1"),
    |_| Reply::ok("<html>maintenance</html>"),
    |_| Reply::json("{}"),
    |_| Reply::json("[]"),
    |id| Reply::json(&json!({"id": id, "result": null}).to_string()),
    |id| Reply::json(&json!({"id": id, "result": "0x"}).to_string()),
    |id| Reply::json(&json!({"id": id, "error": {"code": -32603, "message": "Internal error"}}).to_string()),
    |id| Reply::json(&json!({"id": id, "error": {"code": -32005, "message": "rate limit"}}).to_string()),
];

/// A node that reports its blocks and fails at everything else.
async fn failing(fail: fn(&Value) -> Reply) -> Upstream {
    let node = Upstream::http().await;
    node.reply_with(move |request| {
        let first = calls(request).swap_remove(0);
        match first["method"].as_str() {
            Some("eth_getBlockByNumber") => Reply::json(&answer(&first, HEAD, LAGS[0]).to_string()),
            _ => fail(&first["id"]),
        }
    });
    node
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_node_is_asked_before_a_question_is_given_up_and_a_failure_is_no_answer() {
    let mut nodes = Vec::new();
    for fail in FAILURES {
        nodes.push(failing(fail).await);
    }
    let all: Vec<&Upstream> = nodes.iter().collect();
    let alone = site(&all).await;
    for path in present().into_iter().chain([strategy("100"), strategy("99")]) {
        let before: Vec<usize> = all.iter().map(|node| called_blocks(node).len()).collect();
        unknown(&path, alone.get(&path).await);
        let after = all.iter().map(|node| called_blocks(node).len());
        assert!(
            before.iter().zip(after).all(|(before, after)| after > *before),
            "{path}: a node was left out"
        );
    }
    let sound = node(HEAD, LAGS[0]).await;
    let backed = site(&[all, vec![&sound]].concat()).await;
    yes("100", backed.get(&strategy("100")).await);
    for path in present() {
        yes(&path, backed.get(&path).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_failure_of_a_lone_node_is_no_answer() {
    for (number, fail) in FAILURES.into_iter().enumerate() {
        let node = failing(fail).await;
        let site = site(&[&node]).await;
        for path in present().into_iter().chain([strategy("100")]) {
            unknown(&format!("{number} {path}"), site.get(&path).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_has_no_newest_block_yet_is_asked_again_and_then_the_next() {
    for lag in [LAGS[0], LAGS[4]] {
        let silent = Upstream::http().await;
        silent.reply_with(move |request| Reply::json(&lag(&calls(request)[0]["id"]).to_string()));
        let sound = node(HEAD, lag).await;
        let both = site(&[&silent, &sound]).await;
        yes("latest", both.get(&strategy("latest")).await);
        assert_eq!(silent.requests().len(), 3, "it was asked for its newest block and twice again");
        let alone = site(&[&silent]).await;
        unknown("latest", alone.get(&strategy("latest")).await);
    }
}
