//! Indexers from the settings to the endpoint and to many scores at once.

use pyxis_testkit::engines;
use pyxis_testkit::indexer::{IndexerFault, IndexerServer};
use serde_json::json;

use super::installation::{ScoringSite, address};
use crate::support::Setup;

/// An indexer that knows wallets 1 to 12, each with two to four transfers.
async fn indexer() -> IndexerServer {
    let indexer = IndexerServer::start().await;
    for number in 1..=12_u8 {
        for step in 0..2 + number % 3 {
            let (to, time) = (address(100 + (number + step) % 7), 1_700_000_000 + u64::from(number * step));
            indexer.add("txlist", address(number), to, time, "1000");
        }
    }
    indexer
}

/// Writes a list of wallets; returns its path and the path for their scores.
fn list(site: &ScoringSite) -> [String; 2] {
    let wanted: Vec<String> = (1..=13).map(|number| address(number).to_string()).collect();
    let [list, out] = ["list.txt", "scores.csv"].map(|name| site.app.directory().join(name));
    std::fs::write(&list, wanted.join("\n")).unwrap();
    [list, out].map(|path| path.to_str().unwrap().to_owned())
}

engines! {
    async fn each_indexer_is_asked_with_its_own_key_and_no_others(setup: Setup) {
        let [base, polygon, zksync] = [indexer().await, indexer().await, indexer().await];
        base.wants_key("key-of-base");
        polygon.wants_key("key-of-polygon");
        let settings = json!({
            "base": { "url": base.url().to_string(), "api_key": "key-of-base", "per_second": 1000 },
            "polygon": { "url": polygon.url().to_string(), "per_second": 1000 },
            "zksync": { "url": zksync.url().to_string(), "api_key": "", "per_second": 1000 },
        });
        let setup = setup.env("PX_INDEXERS", &settings.to_string()).env("PX_INDEXER_API_KEY", "key-of-polygon");
        let site = ScoringSite::with(setup).await;
        let answer = site.api.get(&format!("/v2/models/score/{}?explain=true", address(1))).send().await;
        let answer = answer.expect(200).json();
        let models: Vec<&String> = answer["explain"]["models"].as_object().unwrap().keys().collect();
        assert_eq!(models, ["base", "polygon", "zksync"]);
        assert_eq!(answer["explain"]["company"], json!(false), "only indexers know the wallet");
        for (indexer, key) in [(&base, Some("key-of-base")), (&polygon, Some("key-of-polygon")), (&zksync, None)] {
            let requests = indexer.upstream().requests();
            assert_eq!(requests.len(), 4);
            for request in requests {
                let found = request.target.split("apikey=").nth(1);
                assert_eq!(found, key, "{}", request.target);
            }
        }
        assert!(!site.app.logs().contains("key-of"));
    }

    async fn many_wallets_get_the_scores_of_the_endpoint_in_their_order_or_none_at_all(setup: Setup) {
        let indexer = indexer().await;
        let plain = format!("base={}", indexer.url());
        let site = ScoringSite::with(setup.env("PX_INDEXERS", &plain).env("PX_INDEXER_PER_SECOND", "100000")).await;
        let [list, out] = list(&site);
        let score = ["models", "score", "--addresses", &list, "--out", &out];
        let told = site.app.cli_json(&score).await;
        assert_eq!((&told["addresses"], &told["too_little_data"]), (&json!(13), &json!(1)));
        let whole = std::fs::read_to_string(&out).unwrap();
        for (number, line) in (1..=13).zip(whole.lines().skip(1)) {
            let (of, score) = line.split_once(',').unwrap();
            assert_eq!(of, address(number).to_string());
            let answer = site.api.get(&format!("/v2/models/score/{of}")).send().await;
            let served = &answer.expect(200).json()["details"]["models"]["aggregate"]["score"];
            assert_eq!(served.as_f64().unwrap().to_bits(), score.parse::<f64>().unwrap().to_bits(), "{line}");
        }
        assert_eq!(whole.lines().count(), 14);
        // One that fails is named, and the existing file stays.
        indexer.meets(&[IndexerFault::Gibberish; 300]);
        let failed = site.app.cli(&score).await.expect(1);
        assert!(failed.stderr.contains("cannot score") && failed.stderr.contains("0x"), "{}", failed.stderr);
        assert_eq!(std::fs::read_to_string(&out).unwrap(), whole);
        assert!(!std::path::Path::new(&format!("{out}.part")).exists());
    }
}
