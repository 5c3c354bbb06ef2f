//! Trees, compared with the reference evaluator of the standard.

use super::*;
use crate::proto::Attribute;

fn ints<'a>(name: &'a str, ints: &[i64]) -> Attribute<'a> {
    Attribute { name, ints: ints.to_vec(), ..Attribute::default() }
}

fn floats<'a>(name: &'a str, floats: &[f32]) -> Attribute<'a> {
    Attribute { name, floats: floats.to_vec(), ..Attribute::default() }
}

fn texts<'a>(name: &'a str, texts: &[&'a str]) -> Attribute<'a> {
    let strings = texts.iter().map(|text| text.as_bytes()).collect();
    Attribute { name, strings, ..Attribute::default() }
}

fn text<'a>(name: &'a str, text: &'a str) -> Attribute<'a> {
    Attribute { name, s: text.as_bytes(), ..Attribute::default() }
}

/// A leaf for each tree, with these answers: tree, class, weight.
fn leaves(labels: &[i64], answers: &[(i64, i64, f32)], more: Vec<Attribute<'static>>) -> GraphNode<'static> {
    let trees: Vec<i64> = (0..=answers.iter().map(|(tree, ..)| *tree).max().unwrap()).collect();
    let zeros = vec![0; trees.len()];
    let mut attributes = vec![
        ints("classlabels_int64s", labels),
        ints("nodes_treeids", &trees),
        ints("nodes_nodeids", &zeros),
        ints("nodes_featureids", &zeros),
        floats("nodes_values", &vec![0.0; trees.len()]),
        texts("nodes_modes", &vec!["LEAF"; trees.len()]),
        ints("nodes_truenodeids", &zeros),
        ints("nodes_falsenodeids", &zeros),
        ints("class_treeids", &answers.iter().map(|(tree, ..)| *tree).collect::<Vec<_>>()),
        ints("class_nodeids", &vec![0; answers.len()]),
        ints("class_ids", &answers.iter().map(|(_, class, _)| *class).collect::<Vec<_>>()),
        floats("class_weights", &answers.iter().map(|(.., weight)| *weight).collect::<Vec<_>>()),
    ];
    attributes.extend(more);
    GraphNode { op_type: "TreeEnsembleClassifier", attributes, ..GraphNode::default() }
}

fn answer(node: &GraphNode<'_>) -> Vec<f32> {
    let trees = Trees::read(node).unwrap();
    let mut into = vec![0.0; trees.columns(1)];
    trees.compute(&[0.0], &mut into);
    into
}

fn near(found: &[f32], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((f64::from(*found) - wanted).abs() < 1e-6, "{found} instead of {wanted}");
    }
}

#[test]
fn votes_of_a_forest_are_added_class_by_class() {
    near(&answer(&leaves(&[0, 1], &[(0, 0, 0.25), (0, 1, 0.25), (1, 1, 0.5)], vec![])), &[0.25, 0.75]);
}

#[test]
fn one_score_of_two_classes_is_the_second_and_its_curve_both() {
    let score = [(0, 0, 0.5), (1, 0, -0.25)];
    near(&answer(&leaves(&[0, 1], &score, vec![])), &[0.75, 0.25]);
    let base = floats("base_values", &[0.75]);
    let logistic = leaves(&[0, 1], &score, vec![base, text("post_transform", "LOGISTIC")]);
    // 0.5 - 0.25 + 0.75 = 1.
    near(&answer(&logistic), &[0.268_941_421, 0.731_058_579]);
    // The exporter may call the one class 1.
    near(&answer(&leaves(&[0, 1], &[(0, 1, 0.3)], vec![])), &[0.7, 0.3]);
}

#[test]
fn several_scores_go_through_softmax_together() {
    let scores = [(0, 0, 1.0), (0, 1, 2.0), (0, 2, 3.0)];
    let softmax = leaves(&[0, 1, 2], &scores, vec![text("post_transform", "SOFTMAX")]);
    near(&answer(&softmax), &[0.090_030_573, 0.244_728_471, 0.665_240_956]);
}

#[test]
fn what_is_not_understood_is_named() {
    let wrong = |more: Attribute<'static>| {
        Trees::read(&leaves(&[0, 1], &[(0, 0, 0.5), (0, 1, 0.5)], vec![more])).unwrap_err()
    };
    assert!(wrong(text("post_transform", "PROBIT")).contains("PROBIT"));
    assert!(wrong(floats("base_values", &[0.1, 0.2, 0.3])).contains("3 base values"));
    assert!(wrong(floats("base_values", &[f32::NAN, 0.0])).contains("not a number"));
    assert!(wrong(floats("nodes_values_as_tensor", &[])).contains("single precision"));
}
