//! Nodes that refuse large batches, each in its own way, and a Multicall3 that answers only some of its calls.

use pyxis_core::hex;
use pyxis_evm::abi::{AbiReader, selector};
use pyxis_signing::eip712::abi_words::number;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address};
use crate::support::Setup;

type Refuse = fn(&[Value]) -> Reply;

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Refusals of a batch that is too large.
const REFUSALS: [Refuse; 5] = [
    |_| Reply::json(&error(&Value::Null, -32600, "batch too large").to_string()),
    |all| {
        let each: Vec<Value> = all.iter().map(|one| error(&one["id"], -32005, "limit exceeded")).collect();
        Reply::json(&json!(each).to_string())
    },
    |_| Reply::new(413).body("too large"),
    |_| Reply::abort(),
    |_| Reply::new(400).body(error(&Value::Null, -32600, "batch limit 10 exceeded").to_string()),
];

/// The answer to one call. A Multicall3 answers every other one of its calls.
fn answer(call: &Value) -> Value {
    let result = match call["method"].as_str().unwrap() {
        "eth_call" if call["params"][0]["to"] == address(0xaa).to_string() => {
            json!(half_answered(call["params"][0]["data"].as_str().unwrap()))
        }
        "eth_call" => json!(format!("0x{:064x}", 1)),
        "eth_getBlockByNumber" => json!({"number": "0x5", "timestamp": "0x69000000"}),
        "eth_chainId" => json!("0xa"),
        "eth_getCode" => json!("0x60"),
        other => panic!("{other}"),
    };
    json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
}

/// Results of Multicall3: the first, third and so on are a yes, the others failed without data.
fn half_answered(data: &str) -> String {
    let data = hex::decode_prefixed(data).unwrap();
    assert_eq!(data[..4], selector("aggregate3((address,bool,bytes)[])"));
    let (count, _) = AbiReader::new(&data[4..]).tail(0).unwrap().array().unwrap();
    let (mut heads, mut tails) = (Vec::new(), Vec::new());
    for place in 0..count {
        heads.extend(number((32 * count + tails.len()) as u64));
        let answered = place % 2 == 0;
        for word in [u64::from(answered), 64, if answered { 32 } else { 0 }] {
            tails.extend(number(word));
        }
        if answered {
            tails.extend(number(1));
        }
    }
    let all = [&number(32)[..], &number(count as u64), &heads, &tails].concat();
    format!("0x{}", hex::encode(&all))
}

/// A node that accepts batches of at most this many calls.
async fn node(most: usize, refuse: Refuse) -> Upstream {
    let node = Upstream::http().await;
    node.reply_with(move |request| match serde_json::from_str(request.text()).unwrap() {
        Value::Array(batch) if batch.len() > most => refuse(&batch),
        Value::Array(batch) => Reply::json(&batch.iter().map(answer).collect::<Value>().to_string()),
        one => Reply::json(&answer(&one).to_string()),
    });
    node
}

async fn site(nodes: &[&Upstream], multicall: bool) -> VerifySite {
    let mut network = json!({
        "rpc": nodes.iter().map(|node| node.url("")).collect::<Vec<_>>(),
        "rpc_retry_ms": 1,
        "contracts": {"unique": {"phone": address(0xcc).to_string()}},
    });
    if multicall {
        network["multicall"] = address(0xaa).to_string().into();
    }
    VerifySite::with(Setup::new().env("PX_NETWORKS", &json!({"optimism": network}).to_string())).await
}

async fn all_yes(site: &VerifySite, count: u8) {
    let users: Vec<String> = (0..count).map(|number| address(number).to_string()).collect();
    let path = format!(
        "/snapshot-strategies/sybil-resistance/phone?network=10&snapshot=5&addresses={}&action-id={ACTION}",
        users.join(",")
    );
    let scores = site.get_json(&path).await["score"].as_array().unwrap().clone();
    assert_eq!(scores.len(), usize::from(count));
    assert!(scores.iter().all(|entry| entry["score"] == 1), "{scores:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_names_each_node_that_refuses_large_batches_and_all_are_answered() {
    let mut nodes = Vec::new();
    for refuse in REFUSALS {
        nodes.push(node(10, refuse).await);
    }
    nodes.push(node(1, REFUSALS[2]).await);
    nodes.push(node(100, REFUSALS[0]).await);
    let staged = site(&nodes.iter().collect::<Vec<_>>(), false).await;
    let report = staged.app.cli(&["doctor", "--json"]).await.json();
    for (place, node) in nodes.iter().enumerate() {
        let part = format!("network optimism, node {}", node.url(""));
        let found = report["parts"].as_array().unwrap().iter().find(|found| found["part"] == part.as_str());
        let found = found.unwrap_or_else(|| panic!("{part}: {report}"));
        let detail = found["detail"].as_str().unwrap();
        assert_eq!(found["ok"], true, "{found}");
        match place {
            0..5 => {
                assert!(detail.ends_with(" ms, refuses batches of more than 10 calls"), "{place}: {detail}");
            }
            5 => assert!(detail.ends_with(" ms, refuses batches"), "{detail}"),
            _ => assert!(detail.ends_with(" ms"), "{detail}"),
        }
        let alone = site(&[node], false).await;
        all_yes(&alone, 150).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_a_multicall_leaves_out_are_made_on_their_own_and_no_others() {
    let node = node(100, REFUSALS[0]).await;
    let site = site(&[&node], true).await;
    all_yes(&site, 101).await;
    let requests = node.requests();
    let calls = requests.iter().flat_map(|request| match serde_json::from_str(request.text()).unwrap() {
        Value::Array(batch) => batch,
        one => vec![one],
    });
    let to = |to: &Value| to == &json!(address(0xaa).to_string());
    let (together, alone): (Vec<Value>, Vec<Value>) =
        calls.filter(|call| call["method"] == "eth_call").partition(|call| to(&call["params"][0]["to"]));
    assert_eq!((together.len(), alone.len()), (1, 50));
}
