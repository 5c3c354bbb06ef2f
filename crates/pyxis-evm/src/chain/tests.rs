//! Nodes on loopback that limit batches and gas, or lag.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_net::{Client, ClientConfig, Guard};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Call, CallResult, Chain, Settings};

/// Reply of a node: a status and a body, or no reply.
type Reply = Option<(u16, Value)>;

/// Starts a node that answers each request with `answer`. Returns its URL and request counter.
async fn node(answer: impl Fn(&Value, usize) -> Reply + Send + Sync + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (count, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answer, counted) = (Arc::clone(&answer), Arc::clone(&counted));
            tokio::spawn(async move {
                let request = request(&mut stream).await;
                let Some((status, body)) = answer(&request, counted.fetch_add(1, Ordering::SeqCst)) else {
                    return;
                };
                let (body, close) = (body.to_string(), "connection: close");
                let head =
                    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{close}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            });
        }
    });
    (url, count)
}

async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Value {
    let mut text = Vec::new();
    loop {
        let mut some = [0; 4096];
        let read = stream.read(&mut some).await.unwrap();
        text.extend_from_slice(&some[..read]);
        let whole = String::from_utf8_lossy(&text).into_owned();
        if let Some((_, body)) = whole.split_once("\r\n\r\n")
            && let Ok(value) = serde_json::from_str(body)
        {
            return value;
        }
        assert_ne!(read, 0, "{whole}");
    }
}

fn chain(urls: &[&String], multicall: Option<EvmAddress>) -> Chain {
    let net = Client::new(&ClientConfig::new(Guard::new(Vec::new(), Vec::new()))).unwrap();
    let urls = urls.iter().map(|url| (*url).clone()).collect();
    let (timeout, pause) = (Duration::from_secs(30), Duration::from_millis(1));
    Chain::new(&net, &Settings { urls, timeout, pause, multicall })
}

fn calls(count: u8) -> Vec<Call> {
    (0..count).map(|number| Call { to: EvmAddress([9; 20]), data: vec![number; 4] }).collect()
}

/// Answers one call with the call's own data, as a word.
fn echo(call: &Value) -> Value {
    let result = match call["method"].as_str().unwrap() {
        "eth_call" => json!(format!("0x{:0>64}", &call["params"][0]["data"].as_str().unwrap()[2..10])),
        "eth_getCode" => json!("0x"),
        "eth_chainId" => json!("0xa"),
        _ => json!({"number": "0x5", "timestamp": "0x69000000"}),
    };
    // Some nodes return the id as a string.
    json!({"jsonrpc": "2.0", "id": call["id"].to_string(), "result": result})
}

fn echoes(request: &Value) -> (u16, Value) {
    (200, request.as_array().map_or_else(|| echo(request), |all| all.iter().map(echo).collect()))
}

fn echoed(number: u8) -> CallResult {
    CallResult::Data([vec![0; 28], vec![number; 4]].concat().into())
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[tokio::test]
async fn a_node_that_refuses_large_batches_is_asked_in_smaller_ones() {
    let refusals: [fn(&[Value]) -> Reply; 6] = [
        |_| Some((200, error(&Value::Null, -32600, "batch too large"))),
        |_| Some((400, error(&Value::Null, -32600, "batch limit 10 exceeded"))),
        |all| Some((200, all.iter().map(|one| error(&one["id"], -32005, "limit exceeded")).collect())),
        |all| Some((200, json!([error(&all[0]["id"], -32600, "batch too large")]))),
        |_| Some((413, json!("too large"))),
        |_| None,
    ];
    for refuse in refusals {
        let (url, count) = node(move |request, _| match request.as_array() {
            Some(all) if all.len() > 10 => refuse(all),
            _ => Some(echoes(request)),
        })
        .await;
        let chain = chain(&[&url], None);
        let answers = chain.call_many(5, &calls(100)).await.unwrap();
        assert_eq!(answers, (0..100).map(echoed).collect::<Vec<_>>());
        let learned = count.swap(0, Ordering::SeqCst);
        chain.call_many(5, &calls(100)).await.unwrap();
        assert!(count.load(Ordering::SeqCst) < learned, "the size is kept");
        assert_eq!(chain.nodes().await[0].batch, Some(10));
    }
}

#[tokio::test]
async fn batches_begin_with_ten_calls_and_grow_while_the_node_accepts_them() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = sizes.clone();
    let (url, _) = node(move |request, _| {
        seen.lock().unwrap().push(request.as_array().map_or(1, Vec::len));
        Some(echoes(request))
    })
    .await;
    let chain = chain(&[&url], None);
    for _ in 0..2 {
        let answers = chain.call_many(5, &calls(210)).await.unwrap();
        assert_eq!(answers, (0..210).map(echoed).collect::<Vec<_>>());
    }
    assert_eq!(*sizes.lock().unwrap(), [10, 20, 40, 80, 60, 100, 100, 10]);
}

#[tokio::test]
async fn a_call_that_takes_all_gas_leaves_the_answers_of_the_others() {
    let multicall = EvmAddress([7; 20]);
    for words in ["out of gas", "invalid opcode: INVALID", "execution aborted (timeout = 5s)", "odd"] {
        let (url, _) = node(move |request, _| {
            let one = |call: &Value| {
                let heavy = call["params"][0]["data"] == "0x03030303"
                    || call["params"][0]["to"] == multicall.to_string();
                if heavy { error(&call["id"], -32000, words) } else { echo(call) }
            };
            Some((200, request.as_array().map_or_else(|| one(request), |all| all.iter().map(one).collect())))
        })
        .await;
        for multicall in [None, Some(multicall)] {
            let answers = chain(&[&url], multicall).call_many(5, &calls(60)).await.unwrap();
            for (number, answer) in (0..60).zip(answers) {
                let wanted = if number == 3 { CallResult::Unfinished } else { echoed(number) };
                assert_eq!(answer, wanted, "{words} {number}");
            }
        }
    }
}

#[tokio::test]
async fn a_node_that_lags_is_asked_again_and_then_the_next() {
    let lags: [fn(&Value) -> Value; 3] = [
        |call| error(&call["id"], -32000, "header not found"),
        |call| json!({"id": call["id"], "result": "0x"}),
        |call| json!({"id": call["id"], "result": null}),
    ];
    for lag in lags {
        let (once, count) = node(
            move |request, before| {
                if before == 0 { Some((200, lag(request))) } else { Some(echoes(request)) }
            },
        )
        .await;
        assert_eq!(chain(&[&once], None).call_many(5, &calls(1)).await.unwrap(), [echoed(0)]);
        assert_eq!(count.load(Ordering::SeqCst), 2);
        let (always, _) = node(move |request, _| Some((200, lag(request)))).await;
        let (next, _) = node(|request, _| Some(echoes(request))).await;
        assert_eq!(chain(&[&always, &next], None).call_many(5, &calls(1)).await.unwrap(), [echoed(0)]);
        let failed = chain(&[&always], None).call_many(5, &calls(1)).await.unwrap_err();
        assert!(failed.is_behind(), "{failed}");
    }
    let (url, _) = node(|request, before| match before {
        0 => Some((200, json!({"id": request["id"], "result": null}))),
        _ => Some(echoes(request)),
    })
    .await;
    assert_eq!(chain(&[&url], None).newest(UnixMillis(0)).await.unwrap().number, 5);
}
