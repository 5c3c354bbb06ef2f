//! Calls that use up all gas, on a real node: the address without an answer is named, and the others get one.

use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::abi_words;
use pyxis_testkit::anvil::compile;
use serde_json::{Value, json};

use super::contracts::{Chain, abi_number};
use super::installation::{ACTION, VerifySite};
use crate::support::HttpResponse;

const KEPT: &str = env!("CARGO_TARGET_TMPDIR");
/// The number of the address that uses up all gas.
const HEAVY: u64 = 249;

/// A contract that uses up all gas for [`HEAVY`]; returns it with its block, which is followed by others.
async fn glutton(chain: &Chain, endless: bool) -> (EvmAddress, u64) {
    let source = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/chain/Glutton.sol"));
    let code = compile(source, KEPT.as_ref());
    let code =
        [&code["Glutton"][..], &abi_words::address(numbered(HEAVY)), &abi_number(endless.into())].concat();
    let contract = chain.anvil.deploy(&code).await;
    let height = chain.anvil.height().await;
    for _ in 0..3 {
        chain.send("setBroken(bool)", &[abi_number(0)]).await;
    }
    (contract, height)
}

fn numbered(number: u64) -> EvmAddress {
    let mut bytes = [0x11; 20];
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

/// A question about the addresses with these numbers.
async fn request_scores(
    site: &VerifySite,
    snapshot: &str,
    numbers: impl Iterator<Item = u64>,
) -> HttpResponse {
    let addresses: Vec<String> = numbers.map(|number| numbered(number).to_string()).collect();
    let body = json!({
        "options": {"additionalParameters": format!("action-id={ACTION}")},
        "network": "10", "snapshot": snapshot, "addresses": addresses,
    });
    site.anyone.post("/snapshot-strategies/sybil-resistance/phone", &body).send().await
}

/// All addresses except [`HEAVY`].
fn others() -> impl Iterator<Item = u64> {
    (0..500).filter(|number| *number != HEAVY)
}

#[track_caller]
fn all_scored(answer: HttpResponse) {
    let answer = answer.expect(200).json();
    let scores: Vec<i64> =
        answer["score"].as_array().unwrap().iter().map(|entry| entry["score"].as_i64().unwrap()).collect();
    assert_eq!(scores, others().map(|number| i64::from(number % 2 == 1)).collect::<Vec<_>>());
}

#[track_caller]
fn assert_names_contract(answer: HttpResponse, contract: EvmAddress, answered: usize) {
    let refused = answer.expect(503).json();
    let rest = match answered {
        0 => String::new(),
        count => format!(" The other {count} can be asked without it."),
    };
    let said = format!(
        "Contract {contract} gave no answer for {}: the call needs more gas or time than the nodes allow.{rest}",
        numbered(HEAVY)
    );
    assert_eq!(refused, json!({ "error": said }));
}

/// One address out of 500 uses up all gas, with these settings of the network. With `gas`, the calldata of 500 calls
/// alone costs more than the node allows.
async fn one_among_many(endless: bool, gas: Option<u64>, multicall: bool) {
    let mut chain = Chain::start().await;
    let (contract, height) = glutton(&chain, endless).await;
    // Blocks from here on have this limit, and calls in their state too.
    let height = match gas {
        Some(gas) => {
            chain.anvil.rpc("evm_setBlockGasLimit", json!([format!("{gas:#x}")])).await;
            let mined = chain.send("setBroken(bool)", &[abi_number(0)]).await;
            chain.send("setBroken(bool)", &[abi_number(0)]).await;
            mined
        }
        None => height,
    };
    let at = height.to_string();
    let site = chain
        .site(|network: &mut Value| {
            network["contracts"] = json!({"unique": {"phone": contract.to_string()}});
            if multicall {
                network["multicall"] = chain.multicall.to_string().into();
            }
        })
        .await;
    assert_names_contract(request_scores(&site, &at, 0..500).await, contract, 499);
    assert_names_contract(request_scores(&site, &at, HEAVY..=HEAVY).await, contract, 0);
    // Nothing is cached for the newest block, and the others are answered anyway.
    assert_names_contract(request_scores(&site, "latest", 0..500).await, contract, 499);
    all_scored(request_scores(&site, "latest", others()).await);
    // The block can no longer change: the answers given along with the refusal are cached.
    chain.anvil.kill();
    all_scored(request_scores(&site, &at, others()).await);
    request_scores(&site, &at, 500..501).await.expect(503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_takes_all_gas_of_a_multicall_is_named_and_the_others_are_kept() {
    one_among_many(false, None, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_call_in_a_multicall_is_named_and_the_others_are_kept() {
    one_among_many(true, None, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_takes_all_gas_of_a_batch_is_named_and_the_others_are_kept() {
    one_among_many(false, None, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_multicall_over_the_gas_limit_of_the_node_is_split() {
    one_among_many(false, Some(600_000), true).await;
}
