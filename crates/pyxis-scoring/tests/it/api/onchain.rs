//! On-chain Stamps: conditions read from a real node (`docs/reference/behavior/scoring.md#own-stamps`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_evm::{AbiWord, Chain, Settings, abi};
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_scoring::service::onchain_stamps::{self, ConditionInput};
use pyxis_scoring::service::own_stamps::OwnStampInput;
use pyxis_scoring::service::{Error, Result};
use pyxis_scoring::{CheckScope, EvmNetwork, RecheckCount, recheck_stamps};
use pyxis_signing::eip712::abi_words;
use pyxis_store::stamps;
use pyxis_testkit::anvil::{Anvil, compile};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::own_stamps::{actor, points, result_code};
use super::scene::{Node, Scene, request, send, wallet};

const SCHEMA: AbiWord = [0x5c; 32];
/// Time after which everything is checked again.
const LATER: Duration = Duration::from_mins(31);

/// A node of Pyxis that reads a chain with a contract of every kind.
struct ChainTest<'s> {
    scene: &'s Scene,
    anvil: Anvil,
    contract: pyxis_core::address::EvmAddress,
    node: Node,
    scorer: ScorerId,
}

fn number(number: u64) -> AbiWord {
    abi_words::number(number)
}

fn who(number: u64) -> AbiWord {
    abi_words::address(wallet(number))
}

impl<'s> ChainTest<'s> {
    async fn start(scene: &'s Scene) -> Self {
        let anvil = Anvil::start(31_337);
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/chain/Holdings.sol"));
        let code = compile(source, env!("CARGO_TARGET_TMPDIR").as_ref());
        let contract = anvil.deploy(&code["Holdings"]).await;
        let net = Client::new(&ClientConfig::new(Guard::new(Vec::new(), Vec::new()))).unwrap();
        let settings = Settings {
            urls: vec![anvil.url()],
            timeout: Duration::from_secs(5),
            pause: Duration::from_millis(10),
            multicall: None,
        };
        let chain = Arc::new(Chain::new(&net, &settings));
        let network = EvmNetwork { name: "local".parse().unwrap(), chain_id: 31_337, chain };
        let node = scene.node_reading([network].into_iter().collect());
        let scorer = scene.scorer("5", &[]).await;
        Self { scene, anvil, contract, node, scorer }
    }

    async fn set(&self, function: &str, arguments: &[AbiWord]) {
        self.anvil.send(self.contract, &abi::call(abi::selector(function), arguments)).await;
        // The newest block is remembered for a second.
        self.scene.clock.advance(Duration::from_secs(2));
    }

    async fn define(&self, name: &str, kind: &str, settings: &[(&str, &str)]) -> Result<()> {
        let contract = self.contract.to_string();
        let mut all: BTreeMap<String, String> = BTreeMap::from([("contract".to_owned(), contract)]);
        all.extend(settings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        let condition = ConditionInput { kind: kind.to_owned(), network: "local".to_owned(), settings: all };
        let input = OwnStampInput {
            name: name.parse().unwrap(),
            description: "Holds it".to_owned(),
            valid_days: 30,
            weight: Some((self.scorer, "5".parse().unwrap())),
        };
        onchain_stamps::create(&self.node.state, &actor(self.scene), input, condition).await.map(drop)
    }

    /// Outcome of a request: a status, or the code of a refusal.
    async fn issue(&self, holder: u64, name: &str, items: &[&str]) -> String {
        let body = json!({ "stamps": [{ "provider": name, "items": items }] }).to_string();
        let path = format!("/v2/stamps/{}/issue", wallet(holder));
        result_code(&send(&self.node.router, request(http::Method::POST, &path, &self.scene.key, body)).await)
    }

    async fn recheck(&self) -> RecheckCount {
        self.scene.clock.advance(LATER);
        recheck_stamps(&self.node.state, CheckScope::All).await.unwrap()
    }

    async fn stamps(&self, holder: u64) -> Value {
        self.scene.score(self.scorer, wallet(holder)).await["stamps"].clone()
    }

    /// Nullifiers of the stored Stamp `Person`.
    async fn nullifiers(&self, holder: u64) -> Vec<String> {
        let (store, name) = (&self.node.state.store, "Person".parse().unwrap());
        let stamp = stamps::find(store, self.scene.workspace, wallet(holder), &name).await.unwrap().unwrap();
        stamp.nullifiers.iter().map(ToString::to_string).collect()
    }

    async fn points(&self, holder: u64) -> String {
        points(self.scene, self.scorer, holder).await
    }
}

fn refused(result: Result<()>) -> String {
    match result {
        Err(Error::InvalidField { field, .. }) => field,
        other => panic!("{other:?}"),
    }
}

/// Balances of three standards, and the answer of a function.
async fn holdings(test: &ChainTest<'_>) {
    test.define("Coins", "erc20", &[("at_least", "1000000000000000000")]).await.unwrap();
    test.define("Pictures", "erc721", &[("at_least", "2")]).await.unwrap();
    test.define("Ticket", "erc1155", &[("token_id", "7")]).await.unwrap();
    let function = ("function", "rankOf(address,bytes4)");
    let arguments = ("arguments", "{holder},0x01020304");
    let rank = [function, arguments, ("result", "1"), ("at_least", "3"), ("reverts", "no")];
    test.define("Rank", "call", &rank).await.unwrap();
    let equals = [function, arguments, ("result", "1"), ("equals", "4"), ("reverts", "no")];
    test.define("Fourth", "call", &equals).await.unwrap();
    // A stranger's call reverts, and here no one said that this means no.
    assert_eq!(refused(test.define("Broken", "call", &rank[..4]).await), "settings");
    for name in ["Coins", "Pictures", "Ticket", "Rank", "Fourth"] {
        assert_eq!(test.issue(1, name, &[]).await, "condition_not_met", "{name}");
    }
    test.set("setBalance(address,uint256)", &[who(1), number(1_000_000_000_000_000_000)]).await;
    test.set("setAmount(address,uint256,uint256)", &[who(1), number(7), number(1)]).await;
    test.set("setAmount(address,uint256,uint256)", &[who(2), number(8), number(1)]).await;
    test.set("setRank(address,uint256)", &[who(1), number(3)]).await;
    for name in ["Coins", "Pictures", "Ticket", "Rank"] {
        assert_eq!(test.issue(1, name, &[]).await, "accepted", "{name}");
        assert_eq!(test.issue(2, name, &[]).await, "condition_not_met", "{name}");
    }
    assert_eq!(test.issue(1, "Fourth", &[]).await, "condition_not_met");
    assert_eq!(test.points(1).await, "20.00000");
    test.set("setRank(address,uint256)", &[who(3), number(4)]).await;
    assert_eq!(test.issue(3, "Fourth", &[]).await, "accepted");
    assert_eq!(test.points(3).await, "5.00000");
    // Equal means equal: a higher rank is another one.
    test.set("setRank(address,uint256)", &[who(3), number(5)]).await;
    assert_eq!(test.recheck().await, RecheckCount { held: 4, withdrawn: 1, failed: 0 });
    assert_eq!(test.points(3).await, "0.00000");
    // A unit less, and a contract that gives no answer: one is a no, the other is not.
    test.set("setBalance(address,uint256)", &[who(1), number(999_999_999_999_999_999)]).await;
    assert_eq!(test.recheck().await, RecheckCount { held: 3, withdrawn: 1, failed: 0 });
    assert_eq!(test.points(1).await, "15.00000");
    test.set("setBroken(bool)", &[number(1)]).await;
    assert_eq!(test.issue(1, "Coins", &[]).await, "no_answer");
    assert_eq!(test.recheck().await, RecheckCount { held: 2, withdrawn: 0, failed: 1 });
    assert_eq!(test.points(1).await, "15.00000");
    test.set("setBroken(bool)", &[number(0)]).await;
    test.set("setRank(address,uint256)", &[who(1), number(0)]).await;
    assert_eq!(test.recheck().await, RecheckCount { held: 2, withdrawn: 1, failed: 0 });
    assert_eq!(test.points(1).await, "10.00000");
    assert_eq!(
        onchain_stamps::remove(&test.node.state, &actor(test.scene), &"Ticket".parse().unwrap())
            .await
            .unwrap(),
        1
    );
    assert_eq!(test.points(1).await, "5.00000");
}

/// Tokens that the holder names count for one address at a time, and move with their transfer.
async fn tokens(test: &ChainTest<'_>) {
    test.define("Seat", "erc721", &[("dedup", "token")]).await.unwrap();
    for id in [1, 2] {
        test.set("setOwner(uint256,address)", &[number(id), who(11)]).await;
    }
    let many: Vec<String> = (1..=33).map(|id| id.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (items, outcome) in [
        (&["3"][..], "condition_not_met"),
        (&[], "invalid_items"),
        (&["one"], "invalid_items"),
        (&["1", "0x1"], "invalid_items"),
        (&many, "invalid_items"),
        (&["2", "1"], "accepted"),
        (&["1", "2"], "unchanged"),
    ] {
        assert_eq!(test.issue(11, "Seat", items).await, outcome, "{items:?}");
    }
    assert_eq!(test.points(11).await, "5.00000");
    test.set("setOwner(uint256,address)", &[number(2), who(12)]).await;
    assert_eq!(test.issue(12, "Seat", &["2"]).await, "accepted");
    // Until the earlier owner is checked again, the token is the earlier owner's.
    test.points(12).await;
    assert_eq!(test.stamps(12).await["Seat"]["dedup"], true);
    let done = test.recheck().await;
    assert_eq!((done.withdrawn, done.failed), (1, 0));
    assert_eq!((test.points(11).await, test.points(12).await), ("0.00000".into(), "5.00000".into()));
}

/// Identities that a contract gives count for one address at a time, and end when the contract gives another one.
async fn identities(test: &ChainTest<'_>) {
    let function = ("function", "identityOf(address)");
    let by_result = ("dedup", "result");
    for (settings, field) in [
        (&[function, by_result][..], "settings.equals"),
        (&[function, by_result, ("equals", "0")], "settings.equals"),
        (&[function, ("at_least", "1"), ("dedup", "token")], "settings.dedup"),
    ] {
        assert_eq!(refused(test.define("Person", "call", settings).await), field);
    }
    test.define("Person", "call", &[function, by_result, ("at_least", "1")]).await.unwrap();
    let give = async |holder: u64, identity: u64| {
        test.set("setIdentity(address,uint256)", &[who(holder), number(identity)]).await;
    };
    for stranger in [1, 2] {
        assert_eq!(test.issue(stranger, "Person", &[]).await, "condition_not_met");
    }
    for (holder, identity) in [(1, 7), (2, 7), (3, 8)] {
        give(holder, identity).await;
        assert_eq!(test.issue(holder, "Person", &[]).await, "accepted");
    }
    let points = async || (test.points(1).await, test.points(2).await, test.points(3).await);
    let expected = |all: [&str; 3]| (all[0].to_owned(), all[1].to_owned(), all[2].to_owned());
    assert_eq!(points().await, expected(["5.00000", "0.00000", "5.00000"]));
    assert_eq!(test.stamps(2).await["Person"]["dedup"], true);
    assert_eq!(
        test.nullifiers(1).await,
        [format!("eip155:31337/call:{}/identityOf(address)/7", test.contract)]
    );
    assert_eq!(test.recheck().await, RecheckCount { held: 3, withdrawn: 0, failed: 0 });
    // Another identity: the Stamp of the earlier one ends, which then counts for its other address.
    give(1, 9).await;
    assert_eq!(test.issue(1, "Person", &[]).await, "unchanged");
    assert_eq!(test.recheck().await, RecheckCount { held: 2, withdrawn: 1, failed: 0 });
    assert_eq!(points().await, expected(["0.00000", "5.00000", "5.00000"]));
    assert_eq!(test.issue(1, "Person", &[]).await, "accepted");
    assert_eq!(points().await, expected(["5.00000", "5.00000", "5.00000"]));
    assert_eq!(
        test.nullifiers(1).await,
        [format!("eip155:31337/call:{}/identityOf(address)/9", test.contract)]
    );
    // No identity any more.
    give(3, 0).await;
    assert_eq!(test.recheck().await, RecheckCount { held: 2, withdrawn: 1, failed: 0 });
    assert_eq!(points().await, expected(["5.00000", "5.00000", "0.00000"]));
    // A renewal reads the identity again, and the earlier one does not stay with the address.
    give(1, 6).await;
    test.scene.clock.advance(Duration::from_hours(24 * 16));
    assert_eq!(test.issue(1, "Person", &[]).await, "accepted");
    give(3, 9).await;
    assert_eq!(test.issue(3, "Person", &[]).await, "accepted");
    assert_eq!(points().await, expected(["5.00000", "5.00000", "5.00000"]));
}

/// Attestations: by an indexer or by their UID; revoked and expired ones.
async fn attestations(test: &ChainTest<'_>) {
    let schema = format!("0x{}", hex::encode(&SCHEMA));
    let (attester, indexer) = (wallet(90).to_string(), test.contract.to_string());
    let by_indexer = [("schema", &*schema), ("attester", &*attester), ("indexer", &*indexer)];
    test.define("Verified", "eas", &by_indexer).await.unwrap();
    test.define("Named", "eas", &by_indexer[..2]).await.unwrap();
    let attest = async |uid: u64, holder: u64, by: u64, expires: u64| {
        let arguments = [number(uid), SCHEMA, who(holder), who(by), number(expires)];
        test.set("attest(bytes32,bytes32,address,address,uint64)", &arguments).await;
    };
    assert_eq!(test.issue(21, "Verified", &[]).await, "condition_not_met");
    let soon = test.anvil.timestamp().await + 10_000;
    attest(1, 21, 90, 0).await;
    attest(2, 22, 90, soon).await;
    attest(3, 23, 91, 0).await;
    for (holder, outcome) in [(21, "accepted"), (22, "accepted"), (23, "condition_not_met")] {
        assert_eq!(test.issue(holder, "Verified", &[]).await, outcome, "{holder}");
    }
    let uid = format!("0x{}", hex::encode(&number(1)));
    assert_eq!(test.issue(21, "Named", &[&uid]).await, "accepted");
    assert_eq!(test.issue(22, "Named", &[&uid]).await, "condition_not_met");
    assert_eq!(test.issue(22, "Named", &[]).await, "invalid_items");
    assert_eq!((test.points(21).await, test.points(22).await), ("10.00000".into(), "5.00000".into()));
    test.set("revoke(bytes32)", &[number(1)]).await;
    let done = test.recheck().await;
    assert_eq!((done.withdrawn, done.failed), (2, 0));
    assert_eq!((test.points(21).await, test.points(22).await), ("0.00000".into(), "5.00000".into()));
    assert_eq!(test.issue(21, "Verified", &[]).await, "condition_not_met");
    test.anvil.rpc("evm_setNextBlockTimestamp", json!([soon])).await;
    test.set("setBroken(bool)", &[number(0)]).await;
    assert_eq!(test.recheck().await.withdrawn, 1);
    assert_eq!(test.points(22).await, "0.00000");
}

/// A node that is gone: nothing is issued and nothing is withdrawn.
async fn silence(test: &mut ChainTest<'_>) {
    test.anvil.kill();
    let before = test.scene.count("issued_stamps").await;
    assert_eq!(test.issue(31, "Coins", &[]).await, "no_answer");
    let done = test.recheck().await;
    assert_eq!((done.held, done.withdrawn), (0, 0));
    assert_eq!((done.failed > 0, test.scene.count("issued_stamps").await), (true, before));
    let defined = test.define("Later", "erc20", &[]).await;
    assert!(matches!(defined, Err(Error::Unavailable { .. })), "{defined:?}");
}

engines! {
    async fn an_identity_that_a_contract_gives_counts_for_one_address_and_ends_when_it_changes(scene: &Scene) {
        identities(&ChainTest::start(scene).await).await;
    }

    async fn stamps_follow_the_chain_and_never_its_silence(scene: &Scene) {
        let mut test = ChainTest::start(scene).await;
        holdings(&test).await;
        tokens(&test).await;
        attestations(&test).await;
        assert_eq!(refused(test.define("Wrong", "erc42", &[]).await), "kind");
        assert_eq!(refused(test.define("Wrong", "erc20", &[("at_leats", "1")]).await), "settings.at_leats");
        assert_eq!(refused(test.define("Wrong", "erc20", &[("contract", &wallet(99).to_string())]).await), "settings.contract");
        silence(&mut test).await;
    }
}
