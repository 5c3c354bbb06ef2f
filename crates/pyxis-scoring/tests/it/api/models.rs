//! Model scores (`docs/reference/behavior/scoring.md#model-scores`).

use std::fmt::Write;
use std::io::Read;

use http::{Method, StatusCode};
use pyxis_core::address::EvmAddress;
use pyxis_models::activity_reader::Reader;
use pyxis_models::scope::Model;
use pyxis_scoring::activity::{import, lags, rebuild};
use pyxis_scoring::models::{ActivitySource, ImportedActivity};
use pyxis_store::usage::{self, Surface};
use pyxis_store::{activity, models};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{HttpResponse, START, Scene, wallet};

const NAMES: &str = "aggregate, ethereum_activity, nft, arbitrum, base, optimism, polygon, zksync";

fn reader(text: String) -> Reader {
    Reader::new(Box::new(std::io::Cursor::new(text.into_bytes()))).unwrap()
}

/// Wallets 1 to 30 pass coins along on Polygon and Base. Wallet 1 also has tokens of a kind; wallet 40 has one
/// transfer.
fn activity() -> String {
    let mut text = String::from("chain,kind,from,to,time\n");
    let mut line = |chain: &str, kind: &str, from: u64, to: u64| {
        writeln!(text, "{chain},{kind},{},{},{}", wallet(from), wallet(to), 1_700_000_000 + from).unwrap();
    };
    for number in 1..30 {
        for chain in ["polygon", "base"] {
            line(chain, "erc20", number, number + 1);
            line(chain, "native", number, 100 + number % 3);
        }
    }
    line("base", "nft", 1, 2);
    line("zksync", "nft", 3, 1);
    line("polygon", "native", 40, 41);
    text
}

pub(super) async fn imported(scene: &Scene) {
    let store = &scene.state.store;
    import(store, "aa", "activity.csv", reader(activity()), START, |_| ()).await.unwrap();
    let held = scene.state.models.current().await.unwrap();
    rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
}

/// A key with enough budget for a test.
pub(super) async fn key(scene: &Scene) -> String {
    scene.add_key(|key| (key.models_tier, key.models_limit) = (4, Some(10_000))).await
}

pub(super) async fn get(scene: &Scene, key: &str, path: &str) -> HttpResponse {
    scene.send_with_key(Method::GET, path, key, String::new()).await
}

pub(super) fn path(of: EvmAddress, query: &str) -> String {
    format!("/v2/models/score/{of}{query}")
}

pub(super) fn score(answer: &HttpResponse, model: &str) -> f64 {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let body = answer.json();
    let models = body["details"]["models"].as_object().unwrap();
    assert_eq!(models.len(), 1, "{body}");
    models[model]["score"].as_f64().unwrap()
}

engines! {
    async fn a_score_is_a_number_under_the_name_of_its_model_and_aggregate_is_the_default(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let answer = get(scene, &key, &path(wallet(5), "")).await;
        let number = score(&answer, "aggregate");
        assert!((0.0..=100.0).contains(&number), "{number}");
        let members: Vec<String> = answer.json().as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, ["address", "details"]);
        assert_eq!(answer.json()["address"], wallet(5).to_string());
        for model in Model::ALL {
            let found = score(&get(scene, &key, &path(wallet(5), &format!("?model={model}"))).await, model.as_str());
            let has_data = matches!(model, Model::Aggregate | Model::Polygon | Model::Base);
            assert!(if has_data { (0.0..=100.0).contains(&found) } else { found.to_bits() == (-1.0_f64).to_bits() }, "{model}: {found}");
        }
        // In capitals it is the same address; the response has lower case.
        let loud = wallet(5).to_string().to_uppercase().replacen("0X", "0x", 1);
        let answer = get(scene, &key, &format!("/v2/models/score/{loud}")).await;
        assert_eq!((score(&answer, "aggregate").to_bits(), answer.json()["address"].clone()), (number.to_bits(), json!(wallet(5))));
    }

    async fn too_little_data_is_minus_one_and_no_failure(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        for (of, model) in [(5, "ethereum_activity"), (5, "nft"), (40, "polygon"), (40, "aggregate"), (999, "aggregate")] {
            let answer = get(scene, &key, &path(wallet(of), &format!("?model={model}"))).await;
            assert!((score(&answer, model) + 1.0).abs() < f64::EPSILON, "{of} {model}");
            assert!(answer.text.contains("\"score\":-1}"), "{}", answer.text);
        }
        let answer = get(scene, &key, &path(wallet(1), "?model=nft")).await;
        assert!(score(&answer, "nft") >= 0.0, "two tokens on two chains");
    }

    async fn an_explanation_names_models_weights_and_features(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let answer = get(scene, &key, &path(wallet(5), "?explain=true")).await;
        let plain = score(&get(scene, &key, &path(wallet(5), "")).await, "aggregate");
        assert!((score(&answer, "aggregate") - plain).abs() < f64::EPSILON);
        let explain = &answer.json()["explain"];
        let models = explain["models"].as_object().unwrap();
        assert_eq!(models.keys().collect::<Vec<_>>(), ["base", "polygon"]);
        let weight = |model: &Value| model["weight"].as_f64().unwrap();
        assert!((models.values().map(weight).sum::<f64>() - 1.0).abs() < 1e-3);
        // The aggregate is the calibrated weighted mean of the models' log odds.
        let odds = |score: f64| (score / (100.0 - score)).ln();
        let log_odds = |model: &Value| odds(model["score"].as_f64().unwrap());
        let mean: f64 = models.values().map(|model| weight(model) * log_odds(model)).sum();
        let bundle = pyxis_models::built_in().unwrap();
        let wanted = 100.0 * bundle.with_context.aggregate.probability(mean);
        assert!((wanted - plain).abs() < 0.2, "{wanted} and {plain}");
        assert_eq!((&models["base"]["transferred"], &models["polygon"]["transferred"]), (&json!(true), &json!(false)));
        let feature = &models["polygon"]["features"][0];
        assert!(feature["contribution"].as_f64().unwrap() != 0.0);
        assert!(feature["words"].as_str().is_some_and(|words| !words.is_empty()));
        assert_eq!((&explain["missing"], &explain["company"]), (&Value::Null, &json!(true)));
        let nothing = get(scene, &key, &path(wallet(40), "?explain=true&model=polygon")).await.json();
        assert!(nothing["explain"]["missing"].as_str().unwrap().contains("fewer than 2 known transfers"));
        assert_eq!(nothing["explain"]["models"], json!({}));
    }

    async fn one_model_at_a_time_and_only_a_known_one(scene: &Scene) {
        let key = key(scene).await;
        let wrong = |name: &str| format!("Invalid model name(s): {name}. Must be one of {NAMES}");
        for (query, name) in [
            ("?model=foo", "foo"),
            ("?model=Aggregate", "Aggregate"),
            ("?model=polygon,base", "polygon,base"),
            ("?model=polygon&model=base", "polygon,base"),
            ("?model=gnosis", "gnosis"),
        ] {
            get(scene, &key, &path(wallet(1), query)).await.refuses(400, &wrong(name));
        }
        let answer = get(scene, &key, &path(wallet(1), "?model=")).await;
        assert!(score(&answer, "aggregate") < 0.0);
    }

    async fn checks_come_in_order_key_parameters_permission_address(scene: &Scene) {
        get(scene, "px_api_wrong", "/v2/models/score/nobody?model=foo").await.refuses(401, "Invalid API Key.");
        let blind = scene.add_key(|key| key.can_read = false).await;
        let answer = get(scene, &blind, "/v2/models/score/nobody?explain=maybe").await;
        answer.complains_about("query", "explain");
        let wrong = format!("Invalid model name(s): foo. Must be one of {NAMES}");
        get(scene, &blind, "/v2/models/score/nobody?model=foo").await.refuses(400, &wrong);
        get(scene, &blind, "/v2/models/score/nobody").await.refuses(403, "Invalid permissions for action.");
        let key = key(scene).await;
        for address in ["nobody", "vitalik.eth", &"0".repeat(42), "0x12"] {
            get(scene, &key, &format!("/v2/models/score/{address}")).await.refuses(400, "Invalid address.");
        }
    }

    async fn models_have_a_limit_of_their_own(scene: &Scene) {
        let (key, row) = scene.add_key_row(|_| ()).await;
        for number in 0..15 {
            let answer = get(scene, &key, &path(wallet(1), "")).await;
            assert_eq!(answer.status, StatusCode::OK);
            assert_eq!(answer.header("ratelimit-limit"), "15");
            assert_eq!(answer.header("ratelimit-remaining"), (14 - number).to_string());
        }
        let answer = get(scene, &key, &path(wallet(1), "")).await;
        answer.refuses(429, "You have been rate limited!");
        assert!(!answer.header("retry-after").is_empty());
        // The Stamps endpoints are unaffected.
        assert_eq!(get(scene, &key, "/v2/stamps/metadata").await.status, StatusCode::OK);
        scene.state.flush().await;
        let (from, to) = (START, pyxis_core::clock::UnixMillis(START.0 + 1));
        let windows = usage::windows(&scene.state.store, scene.workspace, row.id, from, to).await.unwrap();
        let counted: Vec<_> = windows.iter().map(|row| (row.surface, row.admitted, row.refused)).collect();
        assert_eq!(counted, [(Surface::Models, 15, 1), (Surface::Stamps, 1, 0)]);
    }

    async fn the_earlier_path_answers_alike_and_names_its_successor(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let new = get(scene, &key, &path(wallet(5), "?model=polygon")).await;
        let old = get(scene, &key, &format!("/passport/analysis/{}?model_list=polygon", wallet(5))).await;
        assert_eq!((old.status, &old.text), (StatusCode::OK, &new.text));
        assert_eq!(old.header("deprecation"), "@1793491200");
        let successor = format!("</v2/models/score/{}>; rel=\"successor-version\"", wallet(5));
        assert_eq!(old.header("link"), successor);
        let left = |answer: &HttpResponse| answer.header("ratelimit-remaining").parse::<u32>().unwrap();
        assert_eq!(left(&old), left(&new) - 1, "one counter");
    }

    async fn what_was_served_is_counted(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        for _ in 0..3 {
            get(scene, &key, &path(wallet(40), "?model=base")).await;
        }
        get(scene, &key, &path(wallet(5), "")).await;
        // Counting follows the responses; only this test waits for it.
        loop {
            let served = models::serves(&scene.state.store).await.unwrap();
            if served.iter().map(|(_, _, count)| count).sum::<i64>() == 4 {
                assert_eq!(served[1], ("base".to_owned(), -1, 3));
                assert_eq!((served[0].0.as_str(), served[0].2), ("aggregate", 1));
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn new_activity_changes_only_the_wallets_that_it_touches(scene: &Scene) {
        imported(scene).await;
        let store = &scene.state.store;
        let held = scene.state.models.current().await.unwrap();
        let again = rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
        assert_eq!((again.changed, again.removed), (0, 0));
        let before = ImportedActivity::new(store.clone()).fetch_features(wallet(40), START).await.unwrap();
        assert_eq!(before, None);
        let more = format!("chain,from,to\npolygon,{},{}\nbroken\n", wallet(40), wallet(41));
        let done = import(store, "bb", "more.csv", reader(more.clone()), START, |_| ()).await.unwrap();
        assert_eq!((done.accepted, done.rejected, done.rejects.first().map(|(line, _)| *line)), (1, 1, Some(3)));
        let done = rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
        assert_eq!(done.changed, 1);
        assert!(ImportedActivity::new(store.clone()).fetch_features(wallet(40), START).await.unwrap().is_some());
        let known = import(store, "bb", "more.csv", reader(more), START, |_| ()).await.unwrap();
        assert!(!known.new);
    }

    async fn installed_models_are_in_force_with_the_next_request(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let held = scene.state.models.current().await.unwrap();
        assert_eq!(held.revision, None);
        let mut other = held.bundle.clone();
        (other.of_program, other.with_context.aggregate.offset) = (false, other.with_context.aggregate.offset + 5.0);
        let before = score(&get(scene, &key, &path(wallet(5), "")).await, "aggregate");
        models::install(&scene.state.store, None, &other.fingerprint(), other.to_bytes(), START).await.unwrap();
        let after = score(&get(scene, &key, &path(wallet(5), "")).await, "aggregate");
        assert!(after > before, "{after} {before}");
        models::uninstall(&scene.state.store, START).await.unwrap();
        let back = score(&get(scene, &key, &path(wallet(5), "")).await, "aggregate");
        assert!((back - before).abs() < f64::EPSILON);
    }

    async fn scores_kept_in_memory_are_those_computed_again(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let held = scene.state.models.current().await.unwrap();
        for number in 1..30 {
            let found = ImportedActivity::new(scene.state.store.clone()).fetch_features(wallet(number), START).await.unwrap().unwrap();
            let computed = held.bundle.scores(&found).unwrap().get(Model::Aggregate).unwrap();
            for _ in 0..2 {
                let served = score(&get(scene, &key, &path(wallet(number), "")).await, "aggregate");
                assert!((served - computed).abs() < f64::EPSILON);
            }
        }
    }

    async fn an_interrupted_import_goes_on_behind_what_was_stored(scene: &Scene) {
        let store = &scene.state.store;
        let mut text = "from,to\n".to_owned();
        for number in 0..70_000 {
            writeln!(text, "{},{}", wallet(number % 50), wallet(100 + number % 7)).unwrap();
        }
        // The disk fails after the first part.
        let (start, _) = text.split_at(text.len() - 1_000);
        let broken = std::io::Cursor::new(start.to_owned().into_bytes()).chain(Broken);
        let reader_of_start = Reader::new(Box::new(broken)).unwrap();
        import(store, "aa", "a.csv", reader_of_start, START, |_| ()).await.unwrap_err();
        let stopped = &activity::list_imports(store).await.unwrap()[0];
        assert_eq!((stopped.lines, stopped.finished_at), (65_536, None));
        let mut told = Vec::new();
        let done = import(store, "aa", "a.csv", reader(text), START, |lines| told.push(lines)).await.unwrap();
        assert_eq!((done.lines, done.accepted, done.new, told), (70_000, 70_000, true, vec![70_000]));
        assert_eq!(activity::chunks(store).await.unwrap().len(), 2);
        let held = scene.state.models.current().await.unwrap();
        assert!(lags(store, &held.bundle).await.unwrap());
        let rebuilt = rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
        assert_eq!((rebuilt.transfers, rebuilt.wallets), (70_000, 50));
        assert!(!lags(store, &held.bundle).await.unwrap());
        let mut other = held.bundle.clone();
        (other.of_program, other.with_context.aggregate.offset) = (false, other.with_context.aggregate.offset + 5.0);
        assert!(lags(store, &other).await.unwrap(), "groups are of the models in force");
    }

    async fn tiers_give_more_requests_to_models(scene: &Scene) {
        for (tier, limit) in [(2, "350"), (3, "2000")] {
            let key = scene.add_key(|key| key.models_tier = tier).await;
            let answer = get(scene, &key, &path(wallet(1), "")).await;
            assert_eq!((answer.status, answer.header("ratelimit-limit")), (StatusCode::OK, limit));
        }
    }
}

/// A disk that fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the disk fails"))
    }
}
