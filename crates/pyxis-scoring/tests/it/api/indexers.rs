//! Activity from indexers: pages, limits, refusals. A source that fails is 502, never a score.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use pyxis_core::address::EvmAddress;
use pyxis_core::secret::SecretString;
use pyxis_models::chain::{Chain, Scope};
use pyxis_models::features::WALLET;
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_scoring::models::{Indexer, IndexerChain, Source};
use pyxis_testkit::indexer::{Indexer as StandIn, Trouble};
use serde_json::json;

use super::world::{START, World, wallet};

const DOWN: &str = "The source of activity does not answer. Try again later.";

/// An indexer of Base that asks the stand-in; loopback is opened where `open`.
fn indexer(world: &World, stand_in: &StandIn, key: Option<&str>, open: bool) -> Arc<dyn Source> {
    let allowed = if open { vec![stand_in.upstream().addr()] } else { Vec::new() };
    let net = Client::new(&ClientConfig::new(Guard::new(Vec::new(), allowed))).unwrap();
    let chain = IndexerChain {
        chain: Chain::Base,
        url: stand_in.url(),
        api_key: key.map(|key| SecretString::new(key.to_owned())),
        per_second: 1_000_000,
        first_wait: Duration::from_millis(1),
    };
    Arc::new(Indexer::new(net, world.state.store.clone(), vec![chain]))
}

async fn score(world: &World, source: &Arc<dyn Source>, of: EvmAddress) -> (StatusCode, String) {
    let key = world.add_key(|key| (key.models_tier, key.models_limit) = (4, Some(10_000))).await;
    let node = world.node_asking(Arc::clone(source));
    let answer = node.get(&key, &format!("/v2/models/score/{of}?model=base")).await;
    (answer.status, answer.text)
}

#[tokio::test]
async fn every_list_and_every_page_counts() {
    let (world, stand_in) = (World::on_sqlite().await, StandIn::start().await);
    for number in 0..2500 {
        stand_in.add("tokentx", wallet(1), wallet(100 + number % 7), 1_700_000_000 + number, "1000000");
    }
    stand_in.add("txlist", wallet(50), wallet(1), 1_600_000_000, "1");
    stand_in.add("txlistinternal", wallet(51), wallet(1), 1_650_000_000, "1234567");
    stand_in.add("tokennfttx", wallet(1), wallet(52), 1_650_000_000, "");
    let source = indexer(&world, &stand_in, None, true);
    let found = source.look(wallet(1), START).await.unwrap().unwrap();
    let seen = found.seen(Scope::Chain(Chain::Base)).unwrap();
    // Sent and received, then to how many.
    assert_eq!(seen[WALLET..WALLET + 4], [2501.0, 2.0, 8.0, 2.0]);
    // Three pages of tokens, one of each other list.
    assert_eq!(stand_in.upstream().requests().len(), 6);
    let (status, text) = score(&world, &source, wallet(1)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!text.contains("-1"), "{text}");
    assert_eq!(stand_in.upstream().requests().len(), 6, "what was asked a moment ago is known");
}

#[tokio::test]
async fn nothing_on_the_chain_is_minus_one() {
    let (world, stand_in) = (World::on_sqlite().await, StandIn::start().await);
    let (status, text) = score(&world, &indexer(&world, &stand_in, None, true), wallet(1)).await;
    let wanted = json!({ "address": wallet(1), "details": { "models": { "base": { "score": -1 } } } });
    assert_eq!((status, text), (StatusCode::OK, wanted.to_string()));
}

#[tokio::test]
async fn a_passing_trouble_is_waited_out() {
    let (world, stand_in) = (World::on_sqlite().await, StandIn::start().await);
    stand_in.add("txlist", wallet(1), wallet(2), 1_600_000_000, "1");
    stand_in.add("txlist", wallet(2), wallet(1), 1_600_000_001, "1");
    stand_in.meets(&[Trouble::RateLimit, Trouble::Down, Trouble::RateLimit]);
    let found = indexer(&world, &stand_in, None, true).look(wallet(1), START).await.unwrap();
    assert!(found.is_some());
    assert_eq!(stand_in.upstream().requests().len(), 7);
}

#[tokio::test]
async fn a_source_that_fails_is_502_and_never_a_score() {
    let world = World::on_sqlite().await;
    let wrong = json!({ "detail": DOWN }).to_string();
    for troubles in [vec![Trouble::Down; 9], vec![Trouble::RateLimit; 9], vec![Trouble::Gibberish]] {
        let stand_in = StandIn::start().await;
        stand_in.meets(&troubles);
        let answer = score(&world, &indexer(&world, &stand_in, None, true), wallet(1)).await;
        assert_eq!(answer, (StatusCode::BAD_GATEWAY, wrong.clone()), "{troubles:?}");
    }
    let stand_in = StandIn::start().await;
    stand_in.wants_key("right");
    let answer = score(&world, &indexer(&world, &stand_in, Some("wrong"), true), wallet(1)).await;
    assert_eq!(answer, (StatusCode::BAD_GATEWAY, wrong.clone()));
    assert_eq!(stand_in.upstream().requests().len(), 1, "a wrong key stays wrong");
    let right = indexer(&world, &stand_in, Some("right"), true).look(wallet(1), START).await;
    assert_eq!(right.unwrap(), None);
}

#[tokio::test]
async fn the_egress_guard_stands_before_indexers_too() {
    let (world, stand_in) = (World::on_sqlite().await, StandIn::start().await);
    let (status, text) = score(&world, &indexer(&world, &stand_in, None, false), wallet(1)).await;
    assert_eq!((status, text), (StatusCode::BAD_GATEWAY, json!({ "detail": DOWN }).to_string()));
    assert!(stand_in.upstream().requests().is_empty());
}
