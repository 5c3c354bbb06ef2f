//! Operators compared with ONNX Runtime and the reference evaluator of ONNX (tests/data/operators.py).

use serde_json::Value;

use super::OPERATORS;
use crate::graph::{self, Planned};
use crate::proto::Model;
use crate::spec::ModelSpec;
use crate::tensor::TensorData;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
}

fn is_near(found: f64, wanted: f64) -> bool {
    let tolerance = 1e-5 * wanted.abs() + 1e-5;
    let same = found.total_cmp(&wanted).is_eq() || found.is_nan() && wanted.is_nan();
    same || (found - wanted).abs() <= tolerance
}

/// Runs one case; returns the differences from the expected answers.
fn differences(case: &Value) -> Option<String> {
    let file = bytes(case["onnx"].as_str().unwrap());
    let model = Model::read(&file).unwrap();
    let spec = ModelSpec { features: 6, ..ModelSpec::default() };
    let planned = graph::check(&model, &spec).and_then(|checked| checked.plan(6));
    let Planned { plan, shape, .. } = match planned {
        Ok(planned) => planned,
        Err(why) => return Some(format!("{}: {why}", case["name"])),
    };
    for row in case["rows"].as_array().unwrap() {
        let features = texts(&row["row"]).map(|number| number.parse::<f32>().unwrap());
        let answer = plan.run(features, Clone::clone).unwrap();
        let is_right = match &answer {
            TensorData::Int(ints) => {
                let wanted: Vec<i128> = texts(&row["answer"]).map(|number| number.parse().unwrap()).collect();
                *ints == wanted
            }
            TensorData::F32(_) | TensorData::F64(_) => {
                let wanted: Vec<f64> = texts(&row["answer"]).map(|number| number.parse().unwrap()).collect();
                let found = |index| answer.number(index).unwrap();
                answer.len() == wanted.len()
                    && (0..wanted.len()).all(|index| is_near(found(index), wanted[index]))
            }
        };
        let wanted: Vec<usize> = serde_json::from_value(row["shape"].clone()).unwrap();
        if !is_right || shape != wanted {
            return Some(format!(
                "{}: {shape:?} {answer:?} instead of {wanted:?} {}",
                case["name"], row["answer"]
            ));
        }
    }
    None
}

#[test]
fn every_operator_answers_what_other_evaluators_answer() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../tests/data/operators.json")).expect("a list of cases");
    let wrong: Vec<String> = cases.iter().filter_map(differences).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let named =
        |kind: &str| cases.iter().any(|case| case["name"].as_str().unwrap().split(' ').next() == Some(kind));
    let missing: Vec<&&str> = OPERATORS.iter().filter(|kind| !named(kind) && **kind != "ZipMap").collect();
    assert!(missing.is_empty(), "operators without a case: {missing:?}");
}
