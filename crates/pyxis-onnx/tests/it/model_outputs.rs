//! Answers of models.

use pyxis_onnx::{ModelSpec, Program};
use pyxis_testkit::onnx::{Attribute, Model, Operator, logistic, stump};
use serde_json::Value;

use crate::{EXPORTED, load, spec, spec_for};

#[test]
fn exported_models_answer_what_the_library_that_trained_them_answers() {
    let expected: Value = serde_json::from_str(include_str!("../data/expected.json")).unwrap();
    for (name, bytes) in EXPORTED {
        let program = Program::load(bytes, &spec_for(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        for row in expected[name].as_array().unwrap() {
            let seen: Vec<Option<f32>> = serde_json::from_value(row["features"].clone()).unwrap();
            let seen: Vec<f32> = seen.into_iter().map(|number| number.unwrap_or(f32::NAN)).collect();
            let answer = program.probability(&seen).unwrap();
            let wanted = row["human"].as_f64().unwrap();
            assert!((answer - wanted).abs() < 1e-5, "{name}: {answer} instead of {wanted} for {seen:?}");
        }
    }
}

#[test]
fn a_file_says_what_wrote_it_and_which_column_is_human() {
    let about = |name: &str| {
        let (_, bytes) = EXPORTED.iter().find(|(found, _)| *found == name).unwrap();
        Program::load(bytes, &spec_for(name)).unwrap().metadata().clone()
    };
    let forest = about("forest");
    assert_eq!((forest.output.as_str(), forest.human), ("output_probability", 0));
    assert!(forest.producer.starts_with("skl2onnx 1."), "{}", forest.producer);
    assert_eq!(about("logistic").operators, ["Scaler", "LinearClassifier"]);
    assert_eq!(about("boosted").human, 1);
    // Six trees of two questions each: seven nodes on the way at most, and one base value.
    assert!((18..200).contains(&about("boosted").steps), "{}", about("boosted").steps);
}

#[test]
fn a_logistic_regression_is_the_curve_of_its_sum() {
    let program = load(&logistic(&[0.5, -2.0, 0.0], 0.25).bytes(), 3);
    let program = match program {
        Ok(_) => panic!("NaN times a number is no number"),
        Err(_) => Program::load(
            &logistic(&[0.5, -2.0, 0.0], 0.25).bytes(),
            &ModelSpec { unknown: Some(1.0), ..spec(3) },
        )
        .unwrap(),
    };
    let of = |seen: [f32; 3]| program.probability(&seen).unwrap();
    // 0.25 + 0.5 · 3 - 2 · 0.5 = 0.75, and 1 / (1 + e^-0.75) = 0.679178…
    assert!((of([3.0, 0.5, 9.0]) - 0.679_178_7).abs() < 1e-6);
    // The unknown is 1: 0.25 + 0.5 · 1 - 2 · 0.5 = -0.25.
    assert!((of([f32::NAN, 0.5, 0.0]) - 0.437_823_5).abs() < 1e-6);
}

#[test]
fn a_tree_asks_its_question_and_knows_where_the_unknown_goes() {
    let program = load(&stump(2, 1, 3.0, 0.2, 0.9).bytes(), 2).unwrap();
    let of = |second: f32| program.probability(&[7.0, second]).unwrap();
    for (second, wanted) in [(3.0, 0.2), (2.0, 0.2), (3.5, 0.9), (f32::NAN, 0.2)] {
        assert!((of(second) - wanted).abs() < 1e-6, "{second}");
    }
    assert_eq!(program.metadata().human, 0, "its labels say human first");
}

#[test]
fn which_output_and_which_column_can_be_said() {
    let bytes = stump(2, 0, 0.0, 0.25, 0.75).bytes();
    let sybil = Program::load(&bytes, &ModelSpec { human: Some(1), ..spec(2) }).unwrap();
    assert!((sybil.probability(&[-1.0, 0.0]).unwrap() - 0.75).abs() < 1e-6);
    let two = Model { outputs: vec!["label", "probabilities"], ..stump(2, 0, 0.0, 0.25, 0.75) };
    assert_eq!(load(&two.bytes(), 2).unwrap().metadata().output, "probabilities");
}

/// Two trees over one feature that add to a score, as boosting writes them.
fn regressor(post: &'static str, ids: Vec<i64>) -> Model {
    Model::with_features(1).with(Operator {
        kind: "TreeEnsembleRegressor",
        domain: "ai.onnx.ml",
        inputs: vec!["features"],
        outputs: vec!["probabilities"],
        attributes: vec![
            ("n_targets", Attribute::Int(1)),
            // Places in the file and names of nodes need not agree.
            ("nodes_treeids", Attribute::Ints(vec![4, 4, 4, 9])),
            ("nodes_nodeids", Attribute::Ints(vec![10, 30, 20, 5])),
            ("nodes_featureids", Attribute::Ints(vec![0; 4])),
            ("nodes_values", Attribute::Floats(vec![1.0, 0.0, 0.0, 0.0])),
            ("nodes_modes", Attribute::Texts(vec!["BRANCH_GTE", "LEAF", "LEAF", "LEAF"])),
            ("nodes_truenodeids", Attribute::Ints(vec![20, 0, 0, 0])),
            ("nodes_falsenodeids", Attribute::Ints(vec![30, 0, 0, 0])),
            ("target_treeids", Attribute::Ints(vec![4, 4, 9])),
            ("target_nodeids", Attribute::Ints(vec![20, 30, 5])),
            ("target_ids", Attribute::Ints(ids)),
            ("target_weights", Attribute::Floats(vec![0.5, 0.125, 0.0625])),
            ("base_values", Attribute::Floats(vec![0.25])),
            ("post_transform", Attribute::Text(post)),
        ],
    })
}

#[test]
fn a_regressor_of_trees_adds_up_and_ends_in_its_curve() {
    let plain = load(&regressor("NONE", vec![0, 0, 0]).bytes(), 1).unwrap();
    let of = |seen: f32| plain.probability(&[seen]).unwrap();
    // At least 1: 0.5 + 0.0625 + 0.25. Below, or unknown: 0.125 instead of 0.5.
    assert!((of(1.0) - 0.8125).abs() < 1e-6 && (of(0.5) - 0.4375).abs() < 1e-6);
    assert!((of(f32::NAN) - 0.4375).abs() < 1e-6);
    let curved = load(&regressor("LOGISTIC", vec![0, 0, 0]).bytes(), 1).unwrap();
    assert!((curved.probability(&[2.0]).unwrap() - 1.0 / (1.0 + (-0.8125_f64).exp())).abs() < 1e-6);
    assert!(load(&regressor("NONE", vec![0, 3, 0]).bytes(), 1).is_err(), "a target that is not there");
}

#[test]
fn an_answer_out_of_range_is_a_failure_and_never_a_score() {
    // 0.0002 times the feature: no trial reaches this wallet's value.
    let linear = Model {
        weights: vec![("w", vec![1, 1], vec![0.0002])],
        ..Model::with_features(1).with(Operator {
            kind: "MatMul",
            domain: "",
            inputs: vec!["features", "w"],
            outputs: vec!["probabilities"],
            attributes: Vec::new(),
        })
    };
    let program = Program::load(&linear.bytes(), &ModelSpec { unknown: Some(0.0), ..spec(1) }).unwrap();
    assert!((program.probability(&[1000.0]).unwrap() - 0.2).abs() < 1e-6);
    let failed = program.probability(&[10_000.0]).unwrap_err();
    assert!(failed.to_string().contains("not a probability"), "{failed}");
    assert!(program.probability(&[f32::INFINITY]).is_err());
    assert!(program.probability(&[1.0, 2.0]).is_err(), "too many features");
}
