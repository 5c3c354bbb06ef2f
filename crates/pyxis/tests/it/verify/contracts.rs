//! The EVM source on a real node (`docs/reference/behavior/verification.md#sources`): state that changes from block
//! to block, queried at old heights; failures that never become a no.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_core::proof::Statement;
use pyxis_evm::{AbiWord, abi};
use pyxis_signing::eip712::abi_words;
use pyxis_testkit::anvil::{Anvil, compile};
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address, registration};
use crate::support::Setup;

const CIRCUIT: AbiWord = [7; 32];
pub(super) const ISSUER: u64 = 77;
/// Directory of compiled contracts.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");
const STRATEGY: &str = "/snapshot-strategies/sybil-resistance/gov-id";

/// A node with the contracts of the tests.
pub(super) struct Chain {
    pub(super) anvil: Anvil,
    pub(super) proofs: EvmAddress,
    pub(super) multicall: EvmAddress,
}

pub(super) fn abi_number(number: u64) -> AbiWord {
    abi_words::number(number)
}

pub(super) fn action() -> AbiWord {
    abi_number(123_456_789)
}

fn source() -> std::path::PathBuf {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/chain/Proofs.sol")).to_owned()
}

impl Chain {
    pub(super) async fn start() -> Self {
        let anvil = Anvil::start(10);
        let code = compile(&source(), KEPT.as_ref());
        let proofs = anvil.deploy(&code["Proofs"]).await;
        let multicall = anvil.deploy(&code["Multicall"]).await;
        Self { anvil, proofs, multicall }
    }

    pub(super) async fn send(&self, signature: &str, arguments: &[AbiWord]) -> u64 {
        self.anvil.send(self.proofs, &abi::call(abi::selector(signature), arguments)).await
    }

    pub(super) async fn mint(&self, number: u8, seconds: u64, action: AbiWord, issuer: u64) -> u64 {
        let expiry = self.anvil.timestamp().await + seconds;
        let who = abi_words::address(address(number));
        let arguments = [who, CIRCUIT, abi_number(expiry), action, abi_number(issuer)];
        self.send("mint(address,bytes32,uint256,uint256,uint256)", &arguments).await
    }

    /// The settings of optimism backed by this chain.
    pub(super) fn settings(&self, urls: &[String], change: impl FnOnce(&mut Value)) -> String {
        let mut network = json!({
            "rpc": urls,
            "confirmations": 1,
            "contracts": {
                "unique": {"phone": self.proofs.to_string()},
                "residence": self.proofs.to_string(),
                "hub": {
                    "address": self.proofs.to_string(),
                    "circuits": {"gov-id": {
                        "id": format!("0x{}", hex::encode(&CIRCUIT)), "issuer": ISSUER.to_string(),
                    }},
                },
            },
        });
        change(&mut network);
        json!({"optimism": network}).to_string()
    }

    pub(super) async fn site(&self, change: impl FnOnce(&mut Value)) -> VerifySite {
        self.stage_on(Setup::new(), change).await
    }

    pub(super) async fn stage_on(&self, setup: Setup, change: impl FnOnce(&mut Value)) -> VerifySite {
        let settings = self.settings(&[self.anvil.url()], change);
        VerifySite::with(setup.env("PX_NETWORKS", &settings)).await
    }
}

pub(super) fn strategy_path(snapshot: &str, numbers: std::ops::Range<u8>) -> String {
    let addresses: Vec<String> = numbers.map(|number| address(number).to_string()).collect();
    format!("{STRATEGY}?network=10&snapshot={snapshot}&addresses={}&action-id={ACTION}", addresses.join(","))
}

pub(super) async fn scores(site: &VerifySite, height: u64, numbers: std::ops::Range<u8>) -> Vec<i64> {
    let answer = site.get_json(&strategy_path(&height.to_string(), numbers)).await;
    answer["score"].as_array().unwrap().iter().map(|entry| entry["score"].as_i64().unwrap()).collect()
}

/// Mints, revokes and lets expire, and queries every block afterwards.
async fn old_heights(chain: &Chain, site: &VerifySite) {
    let minted = chain.mint(1, 10_000, action(), ISSUER).await;
    chain.mint(2, 10_000, abi_number(5), ISSUER).await;
    chain.mint(3, 10_000, action(), 99).await;
    let shortly = chain.mint(4, 60, action(), ISSUER).await;
    let who = abi_words::address(address(1));
    let revoked = chain.send("revoke(address,bytes32)", &[who, CIRCUIT]).await;
    let later = chain.anvil.timestamp().await + 61;
    chain.anvil.rpc("evm_setNextBlockTimestamp", json!([later])).await;
    let expired = chain.send("setBroken(bool)", &[abi_number(0)]).await;
    for _ in 0..2 {
        assert_eq!(scores(site, minted - 1, 1..5).await, [0, 0, 0, 0]);
        assert_eq!(scores(site, minted, 1..5).await, [1, 0, 0, 0]);
        assert_eq!(scores(site, shortly, 1..5).await, [1, 0, 0, 1]);
        assert_eq!(scores(site, revoked, 1..5).await, [0, 0, 0, 1]);
        assert_eq!(scores(site, expired, 1..5).await, [0, 0, 0, 0]);
    }
    let told = site.get_json(&format!("{}&explain=true", strategy_path("latest", 1..5))).await;
    let reasons: Vec<&str> =
        told["score"].as_array().unwrap().iter().map(|entry| entry["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["revoked", "other_action", "other_issuer", "none"]);
    let above = site.get(&strategy_path(&(expired + 1).to_string(), 1..2)).await.expect(400).json();
    assert_eq!(above, json!({"error": "Snapshot is invalid"}));
}

engines! {
    async fn contracts_are_asked_at_old_heights_in_batches(setup: Setup) {
        let chain = Chain::start().await;
        let site = chain.stage_on(setup, |_| {}).await;
        old_heights(&chain, &site).await;
    }

    async fn contracts_are_asked_at_old_heights_through_multicall(setup: Setup) {
        let chain = Chain::start().await;
        let multicall = json!(chain.multicall.to_string());
        let before = chain.anvil.height().await - 1;
        let site = chain.stage_on(setup, |network| network["multicall"] = multicall).await;
        old_heights(&chain, &site).await;
        assert_eq!(scores(&site, before, 1..5).await, [0; 4], "there was no Multicall3 in that block yet");
        // If another contract is at its address, several cannot be asked at once; single requests still work.
        let wrong = json!(chain.proofs.to_string());
        let misled = chain.site(|network| network["multicall"] = wrong).await;
        let height = chain.mint(9, 10_000, action(), ISSUER).await;
        let refused = misled.get(&strategy_path(&height.to_string(), 8..10)).await.expect(503).json();
        assert!(refused.get("score").is_none(), "{refused}");
        assert_eq!(scores(&misled, height, 9..10).await, [1]);
    }

    async fn where_contracts_alone_are_asked_no_proof_is_registered(setup: Setup) {
        let chain = Chain::start().await;
        let site = chain.stage_on(setup, |network| network["sources"] = json!(["evm"])).await;
        let height = chain.mint(1, 10_000, action(), ISSUER).await;
        let said = Statement::Register(registration(2, pyxis_core::proof::Kind::GovId, 7));
        let refused = site.submit(said).await.expect(422).json();
        assert!(refused["detail"].as_str().unwrap().contains("its answers come from contracts"), "{refused}");
        assert_eq!(scores(&site, height, 1..4).await, [1, 0, 0]);
    }

    async fn the_registry_and_the_contracts_each_suffice_and_blocks_of_the_chain_stamp_both(setup: Setup) {
        let chain = Chain::start().await;
        let site = chain.stage_on(setup, |_| {}).await;
        chain.mint(1, 10_000, action(), ISSUER).await;
        let height = chain.anvil.height().await;
        let registered = site.register(registration(2, pyxis_core::proof::Kind::GovId, 7)).await;
        assert!(registered["height"].as_u64().unwrap() <= height);
        let both = async || (scores(&site, height, 1..4).await == [1, 1, 0]).then_some(());
        crate::support::until("both proofs", both).await;
        let body = json!({"address": address(1).to_string(), "reason": "sold"});
        site.owner.post("/admin/blocklist", &body).send().await.expect(201);
        let blocked = site.get_json(&format!("{}&explain=true", strategy_path("latest", 1..2))).await;
        assert_eq!(blocked["score"][0]["reason"], "blocked");
        assert_eq!(scores(&site, height, 1..4).await, [1, 1, 0], "what was answered stands");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_older_stores_know_no_expiry_and_a_second_action_is_another_proof() {
    let chain = Chain::start().await;
    let site = chain.site(|_| {}).await;
    let who = abi_words::address(address(1));
    chain.send("setUnique(address,uint256,bool)", &[who, action(), abi_number(1)]).await;
    let first = chain.anvil.height().await;
    chain.send("setUnique(address,uint256,bool)", &[who, abi_number(5), abi_number(1)]).await;
    chain.send("setResident(address,bool)", &[who, abi_number(1)]).await;
    let phone =
        |action: &str| format!("/sybil-resistance/phone/optimism?user={}&action-id={action}", address(1));
    // The newest block is looked for at most once a second.
    let fresh = async || {
        let path = format!("/residence/country/us/optimism?user={}", address(1));
        (site.get_json(&path).await == json!({"result": true})).then_some(())
    };
    crate::support::until("the block of the residence", fresh).await;
    assert_eq!(site.get_json(&phone(ACTION)).await, json!({"result": true}));
    assert_eq!(site.get_json(&phone("5")).await, json!({"result": true}));
    assert_eq!(site.get_json(&phone("6")).await, json!({"result": false}));
    let at = |action: &str| {
        format!(
            "/snapshot-strategies/sybil-resistance/phone?network=10&snapshot={first}&addresses={}&action-id={action}",
            address(1)
        )
    };
    assert_eq!(site.get_json(&at(ACTION)).await["score"][0]["score"], 1);
    assert_eq!(site.get_json(&at("5")).await["score"][0]["score"], 0);
    let resident = async |height: u64| {
        let path = format!(
            "/snapshot-strategies/residence/country/us?network=10&snapshot={height}&addresses={}",
            address(1)
        );
        site.get_json(&path).await["score"][0]["score"].clone()
    };
    assert_eq!((resident(first).await, resident(chain.anvil.height().await).await), (json!(0), json!(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_that_fails_otherwise_is_no_answer() {
    let chain = Chain::start().await;
    let site = chain.site(|_| {}).await;
    let broken = chain.send("setBroken(bool)", &[abi_number(1)]).await;
    let refused = site.get(&strategy_path(&broken.to_string(), 1..3)).await.expect(503).json();
    assert!(refused["error"].is_string() && refused.get("score").is_none());
    // Before the contract existed, there is no answer either.
    site.get(&strategy_path("0", 1..3)).await.expect(503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_in_the_middle_is_an_error_and_the_next_one_takes_over() {
    let mut chain = Chain::start().await;
    let minted = chain.mint(1, 10_000, action(), ISSUER).await;
    // A node that accepts the request and then disappears.
    let dying = Upstream::http().await;
    dying.reply_with(|_| Reply::abort());
    let urls = [dying.url(""), chain.anvil.url()];
    let site = VerifySite::with(Setup::new().env("PX_NETWORKS", &chain.settings(&urls, |_| {}))).await;
    assert_eq!(scores(&site, minted, 1..3).await, [1, 0]);
    assert!(!dying.requests().is_empty());
    chain.anvil.kill();
    site.get(&strategy_path(&(minted - 1).to_string(), 1..3)).await.expect(503);
    site.get(&strategy_path("latest", 1..200)).await.expect(503);
    let networks = site.owner.get("/admin/networks").send().await.expect(200).json();
    assert_eq!(networks["networks"][0]["clock"], "rpc");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_tells_how_every_node_of_every_network_is() {
    let chain = Chain::start().await;
    let other = Anvil::start(1);
    let head = chain.anvil.height().await;
    let gone = Upstream::http().await;
    gone.reply_with(|_| Reply::abort());
    let urls = [format!("{}/?key=canary", chain.anvil.url()), gone.url("/v2/key-canary"), other.url()];
    let site = VerifySite::with(Setup::new().env("PX_NETWORKS", &chain.settings(&urls, |_| {}))).await;
    site.owner.get("/admin/networks").send().await.expect(200);
    let ran = site.app.cli(&["doctor", "--json"]).await.expect(1);
    assert!(!ran.stdout.contains("canary"), "a URL may hold a key: {}", ran.stdout);
    let report = ran.json();
    let find = |part: &str| {
        let parts = report["parts"].as_array().unwrap().iter();
        parts
            .clone()
            .find(|found| found["part"] == part)
            .unwrap_or_else(|| panic!("{part}: {report}"))
            .clone()
    };
    let optimism = find("network optimism");
    assert_eq!(optimism["ok"], true);
    assert_eq!(optimism["detail"], format!("registry and evm, block {head}"));
    let node = find(&format!("network optimism, node {}", chain.anvil.url()));
    let detail = node["detail"].as_str().unwrap();
    assert!(detail.starts_with(&format!("block {head}, ")) && detail.ends_with(" ms"), "{detail}");
    let dead = find(&format!("network optimism, node {}", gone.url("")));
    assert_eq!(dead["ok"], false);
    assert!(dead["wrong"].as_str().unwrap().starts_with("the node cannot be reached: "), "{dead}");
    let stranger = find(&format!("network optimism, node {}", other.url()));
    assert_eq!(stranger["wrong"], "it is on chain 1, not 10");
    let local = find("network base-sepolia");
    assert!(local["detail"].as_str().unwrap().ends_with(" counted here"), "{local}");
    let table = site.app.cli(&["doctor"]).await.expect(1).stdout;
    assert!(table.contains("ok    network optimism: registry and evm, block "), "{table}");
    assert!(table.contains(" is on chain 1, not 10"), "{table}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_on_the_chain_trusts_an_attestation() {
    let chain = Chain::start().await;
    let site = chain.site(|_| {}).await;
    site.register(registration(1, pyxis_core::proof::Kind::GovId, 7)).await;
    let path = format!("/attestation/evm/gov-id/optimism?user={}&action-id={ACTION}", address(1));
    let attested = site.get_json(&path).await;
    let signer: EvmAddress = attested["signer"].as_str().unwrap().parse().unwrap();
    let output = tempfile::tempdir().unwrap();
    let code = [&compile(&source(), output.path())["Attestations"][..], &abi_words::address(signer)].concat();
    let contract = chain.anvil.deploy(&code).await;
    let time = |name: &str| abi_number(attested["message"][name].as_u64().unwrap());
    let trusted = async |anvil: &Anvil, contract: EvmAddress, recipient: EvmAddress| {
        let signature = attested["signature"].as_str().unwrap();
        let head = [
            abi_number(192),
            abi_words::address(recipient),
            action(),
            time("issuedAt"),
            time("expiresAt"),
            abi_number(256),
            abi_number(6),
            padded(b"gov-id"),
            abi_number(65),
        ];
        let data = abi::call(abi::selector("check(string,address,uint256,uint64,uint64,bytes)"), &head);
        let data = format!("0x{}{}{}", hex::encode(&data), &signature[2..], "00".repeat(31));
        let call = json!([{"to": contract.to_string(), "data": data}, "latest"]);
        anvil.rpc("eth_call", call).await.as_str().unwrap().ends_with('1')
    };
    assert!(trusted(&chain.anvil, contract, address(1)).await);
    assert!(!trusted(&chain.anvil, contract, address(2)).await);
    // On another chain it is worthless, and after it has expired it is worthless everywhere.
    let other = Anvil::start(11);
    let elsewhere = other.deploy(&code).await;
    assert!(!trusted(&other, elsewhere, address(1)).await);
    let last = attested["message"]["expiresAt"].as_u64().unwrap();
    for (moment, holds) in [(last - 600, true), (last, false)] {
        chain.anvil.rpc("evm_setNextBlockTimestamp", json!([moment])).await;
        chain.send("setBroken(bool)", &[abi_number(0)]).await;
        assert_eq!(trusted(&chain.anvil, contract, address(1)).await, holds, "{moment} of {last}");
    }
}

fn padded(text: &[u8]) -> AbiWord {
    let mut word = [0; 32];
    word[..text.len()].copy_from_slice(text);
    word
}
