//! Activity from indexers: pages, limits, refusals. A failing source gives 502, never a score.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use pyxis_core::address::EvmAddress;
use pyxis_core::secret::SecretString;
use pyxis_models::activity_reader::Reader;
use pyxis_models::features::{self, Features, WALLET};
use pyxis_models::graph::Builder;
use pyxis_models::scope::{Chain, ChainScope};
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_scoring::activity::{import, rebuild, renew_claim};
use pyxis_scoring::models::{ActivitySource, ImportedActivity, Indexer, IndexerChain};
use pyxis_testkit::indexer::{IndexerFault, IndexerServer};
use serde_json::json;
use url::Url;

use super::scene::{START, Scene, wallet};

const DOWN: &str = "The source of activity does not answer. Try again later.";

/// An indexer of Base that queries the stand-in; loopback is allowed if `open`.
fn indexer(
    scene: &Scene,
    stand_in: &IndexerServer,
    key: Option<&str>,
    open: bool,
) -> Arc<dyn ActivitySource> {
    let allowed = if open { vec![stand_in.upstream().addr()] } else { Vec::new() };
    asking(scene, allowed, indexer_chain(Chain::Base, stand_in.url(), key))
}

/// An indexer of another chain, without a key.
fn indexer_of(scene: &Scene, chain: Chain, stand_in: &IndexerServer) -> Arc<dyn ActivitySource> {
    asking(scene, vec![stand_in.upstream().addr()], indexer_chain(chain, stand_in.url(), None))
}

fn indexer_chain(chain: Chain, url: Url, key: Option<&str>) -> IndexerChain {
    let api_key = key.map(|key| SecretString::new(key.to_owned()));
    IndexerChain { chain, url, api_key, per_second: 1_000_000, first_wait: Duration::from_millis(1) }
}

fn asking(scene: &Scene, allowed: Vec<SocketAddr>, chain: IndexerChain) -> Arc<dyn ActivitySource> {
    let net = Client::new(&ClientConfig::new(Guard::new(Vec::new(), allowed))).unwrap();
    Arc::new(Indexer::new(net, scene.state.store.clone(), vec![chain]))
}

fn reader(text: String) -> Reader {
    Reader::new(Box::new(std::io::Cursor::new(text.into_bytes()))).unwrap()
}

/// Imports an activity file.
async fn import_text(scene: &Scene, source: &str, text: String) {
    let reader = reader(text);
    let store = &scene.state.store;
    import(store, source, source, reader, START, |_| ()).await.unwrap();
    let held = scene.state.models.current().await.unwrap();
    rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
}

/// A model's score from a node that uses activity from `source`, or imported activity.
async fn number(scene: &Scene, source: Option<&Arc<dyn ActivitySource>>, of: EvmAddress, model: &str) -> f64 {
    let key = scene.add_key(|key| (key.models_tier, key.models_limit) = (4, Some(10_000))).await;
    let path = format!("/v2/models/score/{of}?model={model}");
    let answer = match source {
        Some(source) => scene.node_asking(Arc::clone(source)).get(&key, &path).await,
        None => scene.get_as(&key, &path).await,
    };
    answer.json()["details"]["models"][model]["score"].as_f64().unwrap()
}

async fn score(scene: &Scene, source: &Arc<dyn ActivitySource>, of: EvmAddress) -> (StatusCode, String) {
    let key = scene.add_key(|key| (key.models_tier, key.models_limit) = (4, Some(10_000))).await;
    let node = scene.node_asking(Arc::clone(source));
    let answer = node.get(&key, &format!("/v2/models/score/{of}?model=base")).await;
    (answer.status, answer.text)
}

#[tokio::test]
async fn every_list_and_every_page_counts() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    for number in 0..2500 {
        stand_in.add("tokentx", wallet(1), wallet(100 + number % 7), 1_700_000_000 + number, "1000000");
    }
    stand_in.add("txlist", wallet(50), wallet(1), 1_600_000_000, "1");
    stand_in.add("txlistinternal", wallet(51), wallet(1), 1_650_000_000, "1234567");
    stand_in.add("tokennfttx", wallet(1), wallet(52), 1_650_000_000, "");
    let source = indexer(&scene, &stand_in, None, true);
    let found = source.fetch_features(wallet(1), START).await.unwrap().unwrap();
    let seen = found.scope_input(ChainScope::Chain(Chain::Base)).unwrap();
    // Counts sent and received, then recipients.
    assert_eq!(seen[WALLET..WALLET + 4], [2501.0, 2.0, 8.0, 2.0]);
    // Three pages of tokens, one of each other list.
    assert_eq!(stand_in.upstream().requests().len(), 6);
    let (status, text) = score(&scene, &source, wallet(1)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!text.contains("-1"), "{text}");
    assert_eq!(stand_in.upstream().requests().len(), 6, "what was asked a moment ago is known");
}

#[tokio::test]
async fn nothing_on_the_chain_is_minus_one() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let (status, text) = score(&scene, &indexer(&scene, &stand_in, None, true), wallet(1)).await;
    let wanted = json!({ "address": wallet(1), "details": { "models": { "base": { "score": -1 } } } });
    assert_eq!((status, text), (StatusCode::OK, wanted.to_string()));
}

#[tokio::test]
async fn a_passing_trouble_is_waited_out() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    stand_in.add("txlist", wallet(1), wallet(2), 1_600_000_000, "1");
    stand_in.add("txlist", wallet(2), wallet(1), 1_600_000_001, "1");
    stand_in.meets(&[IndexerFault::RateLimit, IndexerFault::Down, IndexerFault::RateLimit]);
    let found = indexer(&scene, &stand_in, None, true).fetch_features(wallet(1), START).await.unwrap();
    assert!(found.is_some());
    assert_eq!(stand_in.upstream().requests().len(), 7);
}

#[tokio::test]
async fn a_source_that_fails_is_502_and_never_a_score() {
    let scene = Scene::on_sqlite().await;
    let wrong = json!({ "detail": DOWN }).to_string();
    for troubles in
        [vec![IndexerFault::Down; 9], vec![IndexerFault::RateLimit; 9], vec![IndexerFault::Gibberish; 9]]
    {
        let stand_in = IndexerServer::start().await;
        stand_in.meets(&troubles);
        let answer = score(&scene, &indexer(&scene, &stand_in, None, true), wallet(1)).await;
        assert_eq!(answer, (StatusCode::BAD_GATEWAY, wrong.clone()), "{troubles:?}");
    }
    let stand_in = IndexerServer::start().await;
    stand_in.wants_key("right");
    let answer = score(&scene, &indexer(&scene, &stand_in, Some("wrong"), true), wallet(1)).await;
    assert_eq!(answer, (StatusCode::BAD_GATEWAY, wrong.clone()));
    assert_eq!(stand_in.upstream().requests().len(), 1, "a wrong key stays wrong");
    let right = indexer(&scene, &stand_in, Some("right"), true).fetch_features(wallet(1), START).await;
    assert_eq!(right.unwrap(), None);
}

#[tokio::test]
async fn half_a_list_is_asked_for_again_and_then_502_and_nothing_is_kept() {
    let scene = Scene::on_sqlite().await;
    let wrong = json!({ "detail": DOWN }).to_string();
    let halves =
        (0..3).flat_map(|status| [IndexerFault::Unprocessed(status), IndexerFault::UnprocessedEmpty(status)]);
    for trouble in halves.chain([IndexerFault::CutOff, IndexerFault::Gibberish]) {
        let stand_in = IndexerServer::start().await;
        stand_in.add("txlist", wallet(1), wallet(2), 1_600_000_000, "1");
        stand_in.add("txlist", wallet(2), wallet(1), 1_600_000_001, "1");
        let source = indexer(&scene, &stand_in, None, true);
        stand_in.meets(&[trouble; 4]);
        assert_eq!(score(&scene, &source, wallet(1)).await, (StatusCode::BAD_GATEWAY, wrong.clone()));
        assert_eq!(stand_in.upstream().requests().len(), 4, "{trouble:?}");
        // Failures are not cached, and temporary ones are waited out.
        stand_in.meets(&[trouble; 3]);
        let (status, text) = score(&scene, &source, wallet(1)).await;
        assert_eq!(status, StatusCode::OK, "{trouble:?}: {text}");
        assert_eq!(stand_in.upstream().requests().len(), 4 + 3 + 4, "{trouble:?}");
    }
}

#[tokio::test]
async fn one_odd_entry_does_not_cost_the_wallet() {
    let scene = Scene::on_sqlite().await;
    for odd in [
        json!({ "from": wallet(1), "to": null, "timeStamp": "1600000002", "value": "0", "isError": "0", "input": "0x60" }),
        json!({ "from": wallet(1), "to": "", "timeStamp": "1600000002", "value": null, "isError": "0", "input": null }),
        json!({ "from": wallet(1), "timeStamp": 1_600_000_002, "value": 5, "isError": 0 }),
        json!({ "from": "GENESIS", "to": wallet(1), "timeStamp": "1438269973", "value": "1", "isError": "0" }),
        json!({ "from": null, "to": wallet(1), "timeStamp": "", "value": "1" }),
    ] {
        let stand_in = IndexerServer::start().await;
        stand_in.add("txlist", wallet(1), wallet(2), 1_600_000_000, "1");
        stand_in.add("txlist", wallet(2), wallet(1), 1_600_000_001, "1");
        stand_in.add_raw("txlist", wallet(1), odd.clone());
        let found =
            indexer(&scene, &stand_in, None, true).fetch_features(wallet(1), START).await.unwrap().unwrap();
        let seen = found.scope_input(ChainScope::Chain(Chain::Base)).unwrap();
        assert_eq!(seen[WALLET..WALLET + 2].iter().sum::<f32>().to_bits(), 3.0_f32.to_bits(), "{odd}");
    }
}

#[tokio::test]
async fn the_egress_guard_stands_before_indexers_too() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let (status, text) = score(&scene, &indexer(&scene, &stand_in, None, false), wallet(1)).await;
    assert_eq!((status, text), (StatusCode::BAD_GATEWAY, json!({ "detail": DOWN }).to_string()));
    assert!(stand_in.upstream().requests().is_empty());
}

#[tokio::test]
async fn who_never_sent_anything_has_no_score_wherever_that_is_known_from() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    for time in [1_600_000_000, 1_600_000_001] {
        stand_in.add("tokentx", wallet(9), wallet(1), time, "1");
        stand_in.add("tokentx", wallet(9), wallet(2), time, "1");
    }
    stand_in.add("txlist", wallet(2), wallet(9), 1_600_000_002, "1");
    let source = indexer(&scene, &stand_in, None, true);
    assert_eq!(source.fetch_features(wallet(1), START).await.unwrap(), None, "somebody sent it spam");
    assert!(source.fetch_features(wallet(2), START).await.unwrap().is_some());
    // A wallet that acted on an imported chain has received on this one.
    let moves = format!("chain,from,to\npolygon,{0},{1}\npolygon,{0},{1}\n", wallet(1), wallet(9));
    import_text(&scene, "aa", moves).await;
    let again =
        indexer(&scene, &stand_in, None, true).fetch_features(wallet(1), START).await.unwrap().unwrap();
    let scopes: Vec<ChainScope> = again.scopes.iter().map(|(scope, _)| *scope).collect();
    assert_eq!(scopes, [ChainScope::Chain(Chain::Base), ChainScope::Chain(Chain::Polygon)]);
}

#[tokio::test]
async fn imported_tokens_of_a_kind_count_next_to_an_indexer() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let [own, other] = [wallet(1), wallet(2)];
    let moves = format!("chain,kind,from,to\nzksync,nft,{own},{other}\nzksync,nft,{other},{own}\n");
    import_text(&scene, "aa", moves).await;
    let imported = number(&scene, None, own, "nft").await;
    assert!(imported >= 0.0);
    // An indexer that knows nothing of the wallet changes nothing.
    let quiet = indexer(&scene, &stand_in, None, true);
    for model in ["nft", "zksync", "aggregate"] {
        let (both, alone) =
            (number(&scene, Some(&quiet), own, model).await, number(&scene, None, own, model).await);
        assert_eq!(both.to_bits(), alone.to_bits(), "{model}");
    }
    stand_in.add("tokennfttx", own, wallet(3), 1_650_000_000, "");
    stand_in.add("tokennfttx", own, wallet(4), 1_650_000_001, "");
    let found = indexer(&scene, &stand_in, None, true).fetch_features(own, START).await.unwrap().unwrap();
    let seen = found.scope_input(ChainScope::Nft).unwrap();
    // Sent and received, then recipients and senders: two here and two there.
    assert_eq!(seen[WALLET..WALLET + 4], [3.0, 1.0, 3.0, 1.0]);
}

#[tokio::test]
async fn a_known_first_bridging_is_enough_for_ethereum_with_an_indexer_too() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let bridged = format!("address,first_bridge_unix,bridge_volume_usd\n{},1640000000,100\n", wallet(1));
    import_text(&scene, "aa", bridged).await;
    let imported = number(&scene, None, wallet(1), "ethereum_activity").await;
    assert!(imported >= 0.0);
    let source = indexer_of(&scene, Chain::Ethereum, &stand_in);
    let both = number(&scene, Some(&source), wallet(1), "ethereum_activity").await;
    assert_eq!(both.to_bits(), imported.to_bits());
    // One transfer is too little for a chain, but is seen.
    stand_in.add("txlist", wallet(1), wallet(2), 1_650_000_000, "1");
    let found = indexer_of(&scene, Chain::Ethereum, &stand_in)
        .fetch_features(wallet(1), START)
        .await
        .unwrap()
        .unwrap();
    let seen = found.scope_input(ChainScope::Chain(Chain::Ethereum)).unwrap();
    assert_eq!(seen[WALLET..WALLET + 2], [1.0, 0.0]);
    let elsewhere =
        indexer(&scene, &stand_in, None, true).fetch_features(wallet(1), START).await.unwrap().unwrap();
    assert!(
        elsewhere.scope_input(ChainScope::Chain(Chain::Ethereum)).is_some(),
        "of a chain that has no indexer"
    );
}

#[tokio::test]
async fn a_wallet_is_the_chains_that_were_imported_and_those_that_were_asked() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let own = wallet(1);
    let mut moves = "chain,kind,from,to\n".to_owned();
    for other in 2..5 {
        writeln!(moves, "polygon,erc20,{own},{}", wallet(other)).unwrap();
    }
    // For Base the indexer knows better.
    writeln!(moves, "base,native,{own},{0}\nbase,native,{own},{0}", wallet(7)).unwrap();
    import_text(&scene, "aa", moves).await;
    stand_in.add("txlist", own, wallet(20), 1_700_000_000, "123");
    stand_in.add("txlist", wallet(21), own, 1_700_000_000, "123");
    let found = indexer(&scene, &stand_in, None, true).fetch_features(own, START).await.unwrap().unwrap();
    for (name, wanted) in [
        ("wallet_out_transfers", 4.0),
        ("wallet_in_transfers", 1.0),
        ("wallet_parties", 5.0),
        ("wallet_token_share", 0.6),
        ("wallet_repeat_share", 0.0),
        ("chains", 2.0),
        // Only the import knows its counterparties.
        ("peers", 0.0),
    ] {
        let value = feature_value(&found, name);
        assert!((value - wanted).abs() < 1e-6, "{name}: {value}");
    }
    assert_eq!(found.scope_input(ChainScope::Chain(Chain::Base)).unwrap()[WALLET..WALLET + 2], [1.0, 1.0]);
}

#[tokio::test]
async fn an_indexer_tells_what_models_of_wallets_that_are_known_alone_learned_from() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let own = wallet(1);
    // A shop that never sends anything, and an address that was not imported.
    let mut moves = "chain,from,to\n".to_owned();
    for other in 2..9 {
        writeln!(moves, "base,{},{}", wallet(other), wallet(20)).unwrap();
    }
    import_text(&scene, "aa", moves.clone()).await;
    for to in [20, 20, 30] {
        stand_in.add("txlist", own, wallet(to), 1_700_000_000, "123");
    }
    let told = indexer(&scene, &stand_in, None, true).fetch_features(own, START).await.unwrap().unwrap();
    assert!((feature_value(&told, "wallet_out_popularity_max") - 8.0_f32.ln()).abs() < 1e-6, "seven others");
    let mean = feature_value(&told, "wallet_out_popularity_mean");
    assert!((mean - 8.0_f32.ln()).abs() < 1e-6, "of the other nothing is known: {mean}");
    // The same wallet as models see it. An indexer also knows its time and its fee.
    for to in [20, 20, 30] {
        writeln!(moves, "base,{own},{}", wallet(to)).unwrap();
    }
    let mut builder = Builder::default();
    for record in reader(moves) {
        builder.add_record(record.unwrap().unwrap());
    }
    let graph = builder.build();
    let learned = Features::alone_in(&graph, graph.find(own).unwrap(), true).unwrap();
    let known = (0..WALLET).filter(|place| !learned.wallet[*place].is_nan());
    let differ: Vec<String> = known
        .filter(|place| told.wallet[*place].to_bits() != learned.wallet[*place].to_bits())
        .map(features::feature_name)
        .collect();
    assert_eq!(differ, Vec::<String>::new());
    assert!(!told.knows_company());
}

fn feature_value(found: &Features, wanted: &str) -> f32 {
    found.wallet[(0..WALLET).find(|place| features::feature_name(*place) == wanted).unwrap()]
}

#[tokio::test]
async fn a_damaged_import_is_an_error_until_it_is_recomputed() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let moves = format!("chain,from,to\npolygon,{0},{1}\npolygon,{0},{1}\n", wallet(1), wallet(2));
    import_text(&scene, "aa", moves).await;
    let whole = number(&scene, None, wallet(1), "polygon").await;
    scene.sql("UPDATE activity_wallets SET features = x'00'").await;
    let source = indexer(&scene, &stand_in, None, true);
    assert_eq!(score(&scene, &source, wallet(1)).await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(ImportedActivity::new(scene.state.store.clone()).fetch_features(wallet(1), START).await.is_err());
    let held = scene.state.models.current().await.unwrap();
    let store = &scene.state.store;
    assert_eq!(rebuild(store, &held.bundle, |_, _| ()).await.unwrap().changed, 0, "the digest is the same");
    assert_eq!(renew_claim(store, &held.bundle, |_, _| ()).await.unwrap().changed, 1);
    assert_eq!(number(&scene, None, wallet(1), "polygon").await.to_bits(), whole.to_bits());
}

#[tokio::test]
async fn an_indexer_that_names_a_wait_is_asked_again_after_it_unless_it_is_too_long() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    stand_in.add("txlist", wallet(1), wallet(2), 1_600_000_000, "1");
    stand_in.add("txlist", wallet(2), wallet(1), 1_600_000_001, "1");
    stand_in.meets(&[IndexerFault::Wait(0), IndexerFault::Wait(1)]);
    assert!(indexer(&scene, &stand_in, None, true).fetch_features(wallet(1), START).await.unwrap().is_some());
    assert_eq!(stand_in.upstream().requests().len(), 6);
    let patient = IndexerServer::start().await;
    patient.meets(&[IndexerFault::Wait(3600)]);
    assert!(indexer(&scene, &patient, None, true).fetch_features(wallet(1), START).await.is_err());
    assert_eq!(patient.upstream().requests().len(), 1, "an hour is no wait");
}

#[tokio::test]
async fn of_a_longer_list_the_first_ten_thousand_entries_count() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    for number in 0..10_500 {
        stand_in.add("tokentx", wallet(1), wallet(100 + number % 7), 1_700_000_000 + number, "1");
    }
    let found =
        indexer(&scene, &stand_in, None, true).fetch_features(wallet(1), START).await.unwrap().unwrap();
    assert_eq!(
        found.scope_input(ChainScope::Chain(Chain::Base)).unwrap()[WALLET..WALLET + 3],
        [10_000.0, 0.0, 7.0]
    );
    assert_eq!(stand_in.upstream().requests().len(), 13);
}

#[tokio::test]
async fn the_query_of_an_indexers_address_is_kept() {
    let (scene, stand_in) = (Scene::on_sqlite().await, IndexerServer::start().await);
    let mut url = stand_in.url();
    url.set_query(Some("chainid=8453"));
    let source = asking(&scene, vec![stand_in.upstream().addr()], indexer_chain(Chain::Base, url, Some("k")));
    assert_eq!(source.fetch_features(wallet(1), START).await.unwrap(), None);
    let requests = stand_in.upstream().requests();
    assert_eq!(requests.len(), 4);
    for request in requests {
        assert!(request.target.starts_with("/api?chainid=8453&module=account&action="), "{}", request.target);
        assert!(request.target.ends_with("&apikey=k"), "{}", request.target);
    }
}
