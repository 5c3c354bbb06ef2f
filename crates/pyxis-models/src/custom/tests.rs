//! Custom models together with the built-in ones.

use pyxis_testkit::onnx::{Model as File, logistic, stump};

use super::*;
use crate::bundle::{Bundle, score};
use crate::features::scope::ScopedTransfer;
use crate::scope::{Chain, ChainScope, Kind};

/// A wallet with this many transfers on Polygon and on Base.
fn wallet(transfers: u32) -> Features {
    let mut events = Vec::new();
    for chain in [Chain::Polygon, Chain::Base] {
        for number in 0..transfers {
            events.push(ScopedTransfer {
                chain,
                kind: Kind::Erc20,
                party: Some(number),
                outgoing: true,
                time: None,
                round: None,
            });
        }
    }
    Features::of_alone(&events, &|_| 3.0, None).unwrap()
}

fn model_use(model: Model) -> ModelUse {
    ModelUse {
        model,
        name: "mine".to_owned(),
        description: None,
        output: None,
        human: None,
        unknown: None,
        calibration: Curve::PLAIN,
        weight: None,
        added_at: "2026-01-01T00:00:00Z".to_owned(),
    }
}

fn feature_index(name: &str) -> usize {
    (0..features::ALL).find(|place| features::feature_name(*place) == name).unwrap()
}

/// A tree that tests for more than ten sent transfers in the model's scope.
fn busy(model: Model) -> File {
    let asked = if model == Model::Aggregate { "wallet_out_transfers" } else { "out_transfers" };
    stump(features::feature_count(model), i64::try_from(feature_index(asked)).unwrap(), 10.0, 0.2, 0.8)
}

fn bundle_with(customs: Vec<Custom>) -> Bundle {
    let mut bundle = crate::built_in().unwrap();
    for custom in customs {
        bundle.add(custom);
    }
    bundle
}

fn custom_model(model: Model, wanted: ModelUse) -> Custom {
    Custom::new(&busy(model).bytes(), wanted).unwrap()
}

#[test]
fn it_answers_for_its_model_and_only_for_that() {
    let bundle = bundle_with(vec![custom_model(Model::Base, model_use(Model::Base))]);
    let plain = crate::built_in().unwrap();
    for (transfers, expected) in [(5, 20.0), (11, 80.0)] {
        let found = wallet(transfers);
        let scores = bundle.scores(&found).unwrap();
        assert_eq!(scores.get(Model::Base), Some(expected));
        assert_eq!(scores.get(Model::Polygon), plain.scores(&found).unwrap().get(Model::Polygon));
        let single = scores.singles.iter().find(|single| single.model == Model::Base).unwrap();
        assert!(single.custom && !single.transferred);
        // It has the weight of the model that it replaces.
        let before = plain.scores(&found).unwrap().singles;
        assert!(
            (single.weight - before.iter().find(|single| single.model == Model::Base).unwrap().weight).abs()
                < 1e-12
        );
        assert_ne!(scores.aggregate, plain.scores(&found).unwrap().aggregate);
    }
    assert_eq!(
        bundle.scores(&wallet(11)).unwrap().get(Model::Zksync),
        None,
        "too little data stays too little"
    );
}

#[test]
fn calibration_and_weight_are_its_own() {
    let curve = Curve { slope: 2.0, offset: 0.5 };
    let custom = custom_model(
        Model::Base,
        ModelUse { calibration: curve, weight: Some(1e6), ..model_use(Model::Base) },
    );
    let bundle = bundle_with(vec![custom]);
    let scores = bundle.scores(&wallet(11)).unwrap();
    let log_odds = 2.0 * 4.0_f64.ln() + 0.5;
    assert_eq!(scores.get(Model::Base), Some(score(log_odds)));
    // So heavy that it determines the aggregate alone.
    let aggregate = bundle.indexer_only.as_ref().unwrap().aggregate.log_odds(log_odds);
    assert!((scores.aggregate.unwrap() - aggregate).abs() < 1e-3);
}

#[test]
fn an_aggregate_of_the_users_own_looks_at_the_whole_wallet() {
    let bundle = bundle_with(vec![custom_model(Model::Aggregate, model_use(Model::Aggregate))]);
    assert_eq!(bundle.scores(&wallet(5)).unwrap().get(Model::Aggregate), Some(20.0));
    let busy = wallet(6);
    assert_eq!(bundle.scores(&busy).unwrap().get(Model::Aggregate), Some(80.0), "twelve on both chains");
    let why = bundle.explain(Model::Aggregate, &busy).unwrap().unwrap();
    assert_eq!(why.contributions.len(), 1);
    assert_eq!(features::feature_name(why.contributions[0].feature), "wallet_out_transfers");
    // From 0.2 if unknown to 0.8: twice the logarithm of four.
    assert!((why.contributions[0].moved - 2.0 * 4.0_f64.ln()).abs() < 1e-5);
    assert!((why.start - 0.25_f64.ln()).abs() < 1e-5);
    // Activity on a chain that no model reads is too little for it as well.
    let gnosis =
        Features { scopes: vec![(ChainScope::Chain(Chain::Gnosis), [1.0; features::SCOPE])], ..wallet(5) };
    assert_eq!(bundle.scores(&gnosis).unwrap().get(Model::Aggregate), None);
    assert_eq!(bundle.explain(Model::Aggregate, &gnosis).unwrap(), None);
}

#[test]
fn a_stored_bundle_brings_it_back_beside_the_models_of_the_program() {
    let bundle = bundle_with(vec![
        custom_model(Model::Base, model_use(Model::Base)),
        custom_model(Model::Aggregate, model_use(Model::Aggregate)),
    ]);
    let bytes = bundle.to_bytes();
    assert!(bytes.len() < 200_000, "the program's own models are not stored: {}", bytes.len());
    let again = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!((again.fingerprint(), again.of_program), (bundle.fingerprint(), true));
    assert_eq!(again.scores(&wallet(7)).unwrap(), bundle.scores(&wallet(7)).unwrap());
    assert_ne!(bundle.fingerprint(), crate::built_in().unwrap().fingerprint());
    for length in [bytes.len() - 1, bytes.len() - 100] {
        assert!(Bundle::from_bytes(&bytes[..length]).is_err());
    }
    let mut damaged = bytes;
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(Bundle::from_bytes(&damaged).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn a_card_says_what_it_is() {
    let card = custom_model(Model::Base, ModelUse { unknown: Some(-1.0), ..model_use(Model::Base) }).card;
    assert_eq!((card.model.as_str(), card.name.as_str(), card.features), ("base", "mine", features::ALL));
    assert_eq!(card.features_sha256, features::digest(Model::Base));
    assert_eq!(card.file_sha256, hex::encode(&Sha256::digest(busy(Model::Base).bytes())));
    assert_eq!((card.human_column, card.output.as_str()), (0, "probabilities"));
    assert_ne!(features::digest(Model::Base), features::digest(Model::Aggregate));
    let mut other = card.clone();
    other.features_sha256 = features::digest(Model::Aggregate);
    let why = Custom::restore(other, &busy(Model::Base).bytes()).unwrap_err();
    assert!(why.to_string().contains("other features"), "{why}");
}

#[test]
fn a_model_of_the_same_name_takes_its_place() {
    let second = ModelUse { name: "second".to_owned(), ..model_use(Model::Base) };
    let bundle = bundle_with(vec![
        custom_model(Model::Base, model_use(Model::Base)),
        custom_model(Model::Base, second),
    ]);
    assert_eq!(bundle.customs.len(), 1);
    assert_eq!(bundle.custom(Model::Base).unwrap().card.name, "second");
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let why = Custom::new(b"no model", model_use(Model::Base)).unwrap_err();
    assert!(why.to_string().starts_with("the model is refused: this is not an ONNX file"), "{why}");
    let narrow = stump(3, 0, 1.0, 0.2, 0.8).bytes();
    let why = Custom::new(&narrow, model_use(Model::Base)).unwrap_err();
    assert!(why.to_string().contains("pyxis models features"), "{why}");
}

#[test]
fn what_fails_on_a_wallet_is_an_error_and_no_score() {
    // The more transfers, the further beyond 1; no trial has that many.
    let mut coefficients = vec![0.0; features::ALL];
    coefficients[feature_index("out_transfers")] = 0.9e-3;
    let mut file = logistic(&coefficients, 0.0);
    file.operators[0].kind = "LinearRegressor";
    file.operators[0].outputs = vec!["probabilities"];
    file.operators[0].attributes = vec![
        ("coefficients", pyxis_testkit::onnx::Attribute::Floats(coefficients.clone())),
        ("intercepts", pyxis_testkit::onnx::Attribute::Floats(vec![0.01])),
    ];
    let custom =
        Custom::new(&file.bytes(), ModelUse { unknown: Some(0.0), ..model_use(Model::Base) }).unwrap();
    let bundle = bundle_with(vec![custom]);
    assert!(bundle.scores(&wallet(10)).is_ok());
    let why = bundle.scores(&wallet(2_000)).unwrap_err();
    assert!(why.to_string().contains("the custom model mine failed"), "{why}");
}
