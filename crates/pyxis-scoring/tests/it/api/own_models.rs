//! Custom models at the endpoint (`docs/reference/behavior/scoring.md#model-scores`).

use std::fmt::Write;

use http::StatusCode;
use pyxis_models::calibration::Curve;
use pyxis_models::custom::{Custom, ModelUse};
use pyxis_models::features;
use pyxis_models::scope::Model;
use pyxis_store::models;
use pyxis_testkit::engines;
use pyxis_testkit::onnx::{Attribute, logistic, stump};
use serde_json::json;

use super::models::{get, imported, key, path, score};
use super::scene::{START, Scene, wallet};

fn feature_index(name: &str) -> i64 {
    let found = (0..features::ALL).find(|place| features::feature_name(*place) == name).unwrap();
    i64::try_from(found).unwrap()
}

fn wanted(model: Model, unknown: Option<f32>) -> ModelUse {
    ModelUse {
        model,
        name: "mine".to_owned(),
        description: None,
        output: None,
        human: None,
        unknown,
        calibration: Curve::PLAIN,
        weight: None,
        added_at: "2026-01-01T00:00:00Z".to_owned(),
    }
}

/// Installs a model in place of the active ones.
async fn add(scene: &Scene, custom: Custom) {
    let held = scene.state.models.current().await.unwrap();
    let mut bundle = held.bundle.clone();
    bundle.add(custom);
    let (fingerprint, bytes) = (bundle.fingerprint(), bundle.to_bytes());
    let store = &scene.state.store;
    assert!(models::install(store, held.revision, &fingerprint, bytes, START).await.unwrap().is_some());
}

engines! {
    async fn a_model_of_ones_own_answers_for_its_name_from_the_next_request_on(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let before = score(&get(scene, &key, &path(wallet(5), "?model=polygon")).await, "polygon");
        // Two outgoing transfers on Polygon, to two addresses.
        let file = stump(features::ALL, feature_index("out_transfers"), 1.0, 0.1, 0.625).bytes();
        add(scene, Custom::new(&file, wanted(Model::Polygon, None)).unwrap()).await;
        let answer = get(scene, &key, &path(wallet(5), "?model=polygon&explain=true")).await;
        assert!((score(&answer, "polygon") - 62.5).abs() < 1e-9 && (before - 62.5).abs() > 1e-3);
        let told = &answer.json()["explain"]["models"]["polygon"];
        assert_eq!((&told["custom"]["name"], &told["transferred"], &told["weight"]), (&json!("mine"), &json!(false), &json!(1.0)));
        assert_eq!(told["custom"]["file_sha256"].as_str().map(str::len), Some(64));
        assert_eq!(told["features"][0]["name"], "out_transfers");
        assert_eq!(told["features"].as_array().unwrap().len(), 1);
        // Others are unchanged and do not mention it.
        let aggregate = get(scene, &key, &path(wallet(5), "?explain=true")).await.json();
        assert_eq!(aggregate["explain"]["models"]["base"]["custom"], json!(null));
        assert_eq!(aggregate["explain"]["models"]["polygon"]["custom"]["name"], "mine");
        for (of, model) in [(40, "polygon"), (5, "nft")] {
            let answer = get(scene, &key, &path(wallet(of), &format!("?model={model}"))).await;
            assert!((score(&answer, model) + 1.0).abs() < f64::EPSILON, "too little data stays -1");
        }
    }

    async fn an_aggregate_of_ones_own_is_the_only_model_that_its_explanation_names(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let file = stump(features::WALLET, feature_index("wallet_out_transfers"), 3.0, 0.25, 0.75).bytes();
        add(scene, Custom::new(&file, wanted(Model::Aggregate, None)).unwrap()).await;
        let answer = get(scene, &key, &path(wallet(5), "?explain=true")).await;
        assert!((score(&answer, "aggregate") - 75.0).abs() < 1e-9, "{}", answer.text);
        let models = answer.json()["explain"]["models"].clone();
        assert_eq!(models.as_object().unwrap().keys().collect::<Vec<_>>(), ["aggregate"]);
        assert_eq!(models["aggregate"]["custom"]["name"], "mine");
        let plain = get(scene, &key, &path(wallet(5), "")).await;
        assert!((score(&plain, "aggregate") - 75.0).abs() < 1e-9);
    }

    async fn a_model_that_fails_on_a_wallet_is_a_server_error_and_never_a_score(scene: &Scene) {
        imported(scene).await;
        let key = key(scene).await;
        let column = usize::try_from(feature_index("out_transfers")).unwrap();
        let mut numbers = vec![0.0; features::ALL];
        numbers[column] = 0.25;
        let mut file = logistic(&numbers, 0.0);
        file.operators[0].kind = "LinearRegressor";
        file.operators[0].outputs = vec!["probabilities"];
        file.operators[0].attributes =
            vec![("coefficients", Attribute::Floats(numbers)), ("intercepts", Attribute::Floats(vec![0.25]))];
        // Trials with many transfers detect it.
        let why = Custom::new(&file.bytes(), wanted(Model::Polygon, Some(0.0))).unwrap_err();
        assert!(why.to_string().contains("must return a probability"), "{why}");
        // So small that only a wallet with very many transfers would show it.
        let small = |scale: f32| {
            let mut numbers = vec![0.0; features::ALL];
            numbers[column] = scale;
            numbers
        };
        file.operators[0].attributes[0].1 = Attribute::Floats(small(-0.000_2));
        file.operators[0].attributes[1].1 = Attribute::Floats(vec![0.2]);
        let custom = Custom::new(&file.bytes(), wanted(Model::Polygon, Some(0.0))).unwrap();
        add(scene, custom).await;
        let mut many = String::from("chain,from,to\n");
        for number in 0..1_100 {
            writeln!(many, "polygon,{},{}", wallet(50), wallet(60 + number)).unwrap();
        }
        let reader = pyxis_models::activity_reader::Reader::new(Box::new(std::io::Cursor::new(many.into_bytes()))).unwrap();
        let store = &scene.state.store;
        pyxis_scoring::activity::import(store, "cc", "many.csv", reader, START, |_| ()).await.unwrap();
        let plain = pyxis_models::built_in().unwrap();
        pyxis_scoring::activity::rebuild(store, &plain, |_, _| ()).await.unwrap();
        assert!((score(&get(scene, &key, &path(wallet(5), "?model=polygon")).await, "polygon") - 19.96).abs() < 0.01);
        for query in ["?model=polygon", "", "?explain=true"] {
            let answer = get(scene, &key, &path(wallet(50), query)).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{query}: {}", answer.text);
            assert!(!answer.text.contains("score"), "{}", answer.text);
        }
    }
}
