//! Files that are refused, each with a message that says what to do.

use pyxis_onnx::{LoadError, MOST_BYTES, ModelSpec, Program};
use pyxis_testkit::onnx::{Attribute, Model, Operator, logistic, stump};

use crate::{load, spec};

/// Checks that a model is refused with these words.
fn refused(model: &Model, features: usize, words: &str) -> LoadError {
    let why = load(&model.bytes(), features).err().unwrap_or_else(|| panic!("accepted, but: {words}"));
    assert!(why.to_string().contains(words), "{why}");
    why
}

fn operator(kind: &'static str, inputs: Vec<&'static str>, output: &'static str) -> Operator {
    Operator { kind, domain: "", inputs, outputs: vec![output], attributes: Vec::new() }
}

#[test]
fn what_is_no_onnx_file_is_refused() {
    for bytes in [&b""[..], b"hello", b"PK\x03\x04zip", &[0xff; 64], b"address,label\n0x,human\n"] {
        let why = load(bytes, 3).unwrap_err();
        assert!(matches!(why, LoadError::NotOnnx(_)), "{bytes:?}: {why}");
        assert!(why.to_string().contains("export the model with"), "{why}");
    }
    let why = load(&vec![0; MOST_BYTES + 1], 3).unwrap_err();
    assert_eq!(why, LoadError::TooLarge(MOST_BYTES + 1));
}

#[test]
fn an_input_of_another_shape_or_type_is_refused() {
    let model = stump(3, 0, 1.0, 0.2, 0.8);
    refused(&model, 80, "of shape [n, 3]; it must be one float tensor of shape [n, 80]");
    refused(&Model { kind: 11, ..model.clone() }, 3, "of type double");
    refused(&Model { shape: vec![Some(3)], ..model.clone() }, 3, "of shape [3]");
    refused(&Model { shape: vec![Some(32), Some(3)], ..model.clone() }, 3, "free first dimension");
    let free = Model { shape: vec![None, None], ..model.clone() };
    assert!(load(&free.bytes(), 3).is_ok(), "a free second dimension becomes the features");
    let single = Model { shape: vec![Some(1), Some(3)], ..model };
    assert!(load(&single.bytes(), 3).is_ok(), "one row at a time is how it is asked");
}

#[test]
fn operators_that_are_not_known_are_named() {
    let loops = Model::with_features(2).with(operator("Loop", vec!["features"], "probabilities"));
    refused(&loops, 2, "the model uses Loop, which is not supported");
    let mut foreign = stump(2, 0, 1.0, 0.2, 0.8);
    foreign.operators[0].domain = "com.example";
    refused(&foreign, 2, "TreeEnsembleClassifier");
    // Nodes that the probability does not depend on are left out, whatever they are.
    let with_labels = stump(2, 0, 1.0, 0.2, 0.8).with(operator("StringNormalizer", vec!["label"], "name"));
    assert!(load(&with_labels.bytes(), 2).is_ok());
}

#[test]
fn outputs_that_leave_a_choice_want_a_name() {
    let two = Model { outputs: vec!["a", "b"], ..stump(2, 0, 1.0, 0.2, 0.8) };
    refused(&two, 2, "(outputs: a, b): name one of them with --output");
    let one = Model { outputs: vec!["a"], ..stump(2, 0, 1.0, 0.2, 0.8) };
    refused(&one, 2, "no operator computes the output a");
    let bytes = stump(2, 0, 1.0, 0.2, 0.8).bytes();
    let why = Program::load(&bytes, &ModelSpec { output: Some("x".to_owned()), ..spec(2) }).unwrap_err();
    assert!(matches!(why, LoadError::Output { .. }), "{why}");
    let why = Program::load(&bytes, &ModelSpec { human: Some(2), ..spec(2) }).unwrap_err();
    assert_eq!(why, LoadError::Column { columns: 2, wanted: 2 });
}

#[test]
fn answers_that_are_no_probabilities_are_refused() {
    let known = |model: &Model| Program::load(&model.bytes(), &ModelSpec { unknown: Some(0.0), ..spec(2) });
    let mut margins = logistic(&[1.0, 1.0], 0.0);
    margins.operators[0].attributes[4].1 = Attribute::Text("NONE");
    let why = known(&margins).unwrap_err();
    assert!(matches!(why, LoadError::NoProbability { tried: "0", .. }), "{why}");
    assert!(why.to_string().contains("predict_proba"), "{why}");
    // Two columns that are each in range, but do not add up to 1.
    let mut odd = logistic(&[1.0, 1.0], 0.0);
    odd.operators[0].attributes[2].1 = Attribute::Floats(vec![5.0, 5.0]);
    assert!(matches!(known(&odd).unwrap_err(), LoadError::NoProbability { .. }));
    let wide = Model::with_features(2).with(operator("Sigmoid", vec!["features"], "probabilities"));
    assert!(matches!(known(&wide).unwrap_err(), LoadError::NoProbability { .. }), "columns must add up to 1");
    let three = Model::with_features(3).with(operator("Sigmoid", vec!["features"], "probabilities"));
    let why = Program::load(&three.bytes(), &ModelSpec { unknown: Some(0.0), ..spec(3) }).unwrap_err();
    assert!(why.to_string().contains("3 numbers"), "{why}");
}

#[test]
fn a_model_that_knows_no_unknown_says_what_helps() {
    let why = refused(&logistic(&[1.0, -1.0], 0.0), 2, "--unknown");
    assert_eq!(why, LoadError::Unknown);
}

/// The stump with one attribute changed.
fn changed(name: &str, to: Attribute) -> Model {
    let mut model = stump(2, 0, 1.0, 0.2, 0.8);
    let found = model.operators[0].attributes.iter_mut().find(|(found, _)| *found == name);
    found.expect("an attribute of a stump").1 = to;
    model
}

#[test]
fn trees_that_lead_nowhere_or_in_a_circle_are_refused() {
    for (name, to, words) in [
        ("nodes_truenodeids", Attribute::Ints(vec![7, 0, 0]), "leads to a missing node"),
        ("nodes_truenodeids", Attribute::Ints(vec![0, 0, 0]), "a cycle"),
        ("nodes_falsenodeids", Attribute::Ints(vec![1, 0, 0]), "a cycle"),
        ("nodes_nodeids", Attribute::Ints(vec![0, 1, 1]), "two nodes 1"),
        ("nodes_modes", Attribute::Texts(vec!["LEAF", "LEAF", "LEAF"]), "cannot be reached"),
        ("nodes_modes", Attribute::Texts(vec!["BRANCH_MEMBER", "LEAF", "LEAF"]), "BRANCH_MEMBER"),
        ("nodes_featureids", Attribute::Ints(vec![-1, 0, 0]), "reads the feature -1"),
        ("nodes_values", Attribute::Floats(vec![1.0]), "differ in length"),
        ("class_ids", Attribute::Ints(vec![0, 1, 0, 5]), "the class 5, but there are 2"),
        ("class_weights", Attribute::Floats(vec![f32::NAN, 0.8, 0.2, 0.8]), "not a number"),
        ("class_nodeids", Attribute::Ints(vec![1]), "differ in length"),
    ] {
        refused(&changed(name, to), 2, words);
    }
    // A feature index past the last one.
    refused(&changed("nodes_featureids", Attribute::Ints(vec![2, 0, 0])), 2, "2");
}

#[test]
fn wiring_in_circles_and_weights_without_bounds_are_refused() {
    let circle = Model::with_features(2)
        .with(operator("Sigmoid", vec!["b"], "a"))
        .with(operator("Sigmoid", vec!["a"], "b"))
        .with(operator("Sigmoid", vec!["b"], "probabilities"));
    refused(&circle, 2, "before it is computed");
    let twice = Model::with_features(2)
        .with(operator("Sigmoid", vec!["features"], "probabilities"))
        .with(operator("Tanh", vec!["features"], "probabilities"));
    refused(&twice, 2, "computed twice");
    let huge = Model {
        weights: vec![("w", vec![1 << 20, 1 << 20], vec![1.0])],
        ..Model::with_features(2).with(operator("MatMul", vec!["features", "w"], "probabilities"))
    };
    refused(&huge, 2, "weights of the shape");
    // Weights that would multiply.
    let grown = Model {
        weights: vec![("w", vec![8192, 1], vec![1.0; 8192]), ("v", vec![1, 8192], vec![1.0; 8192])],
        ..Model::with_features(2).with(operator("MatMul", vec!["w", "v"], "all")).with(operator(
            "MatMul",
            vec!["features", "all"],
            "probabilities",
        ))
    };
    refused(&grown, 2, "fold constants");
    let doubled: Vec<Operator> =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"]
            .windows(2)
            .map(|pair| Operator {
                attributes: vec![("axis", Attribute::Int(1))],
                ..operator("Concat", vec![if pair[0] == "a" { "features" } else { pair[0] }; 2], pair[1])
            })
            .collect();
    let doubled = Model { operators: doubled, outputs: vec!["q"], ..Model::with_features(2) };
    refused(&doubled, 2, "operators");
    let many = (0..600).fold(Model::with_features(1), |model, step| {
        let name = |step: usize| -> &'static str { Box::leak(format!("t{step}").into_boxed_str()) };
        let from = if step == 0 { "features" } else { name(step) };
        model.with(operator("Sigmoid", vec![from], name(step + 1)))
    });
    refused(&Model { outputs: vec!["t600"], ..many }, 1, "600 operators");
}

#[test]
fn what_costs_too_much_is_refused_by_counting_not_by_waiting() {
    let wide = |side: usize| Model {
        weights: vec![
            ("w", vec![1, side as u64], vec![0.0; side]),
            ("v", vec![side as u64, side as u64], vec![0.0; side * side]),
        ],
        ..Model::with_features(1).with(operator("MatMul", vec!["features", "w"], "h")).with(operator(
            "MatMul",
            vec!["h", "v"],
            "probabilities",
        ))
    };
    let why = refused(&wide(2_040), 1, "steps");
    assert_eq!(why, LoadError::TooSlow(2_040 + 2_040 * 2_040));
}

#[test]
fn tensors_that_grow_by_broadcasting_are_counted() {
    let names = ["t0", "t1", "t2", "t3", "t4"];
    let grown = Model {
        weights: vec![("a", vec![256, 1], vec![0.0; 256]), ("b", vec![1, 256], vec![0.0; 256])],
        outputs: vec!["t4"],
        ..Model::with_features(1).with(operator("Add", vec!["features", "a"], "column")).with(operator(
            "Add",
            vec!["column", "b"],
            "t0",
        ))
    };
    let grown = names
        .windows(2)
        .fold(grown, |model, pair| model.with(operator("MatMul", vec![pair[0], pair[0]], pair[1])));
    let why = Program::load(&grown.bytes(), &ModelSpec { unknown: Some(0.0), ..spec(1) }).unwrap_err();
    assert!(matches!(why, LoadError::TooSlow(steps) if steps >= 256 * 256 * 256), "{why}");
}

#[test]
fn a_file_of_many_parts_is_refused_before_it_takes_memory() {
    let nodes = [0x0a, 0x00].repeat(1 << 19);
    let mut file = vec![0x3a, 0x80, 0x80, 0x40];
    file.extend(nodes);
    let why = load(&file, 1).unwrap_err();
    assert_eq!(why, LoadError::NotOnnx("it has too many parts".to_owned()));
}

#[test]
fn shapes_and_types_that_do_not_fit_are_named() {
    let known = |model: &Model, words: &str| {
        let spec = ModelSpec { unknown: Some(0.0), ..spec(2) };
        let why = Program::load(&model.bytes(), &spec).err().unwrap_or_else(|| panic!("accepted: {words}"));
        assert!(why.to_string().contains(words), "{why}");
    };
    let weighted = |operator: Operator, shape: Vec<u64>| {
        let elements = shape.iter().product::<u64>();
        let numbers = vec![0.5; usize::try_from(elements).unwrap()];
        Model { weights: vec![("w", shape, numbers)], ..Model::with_features(2).with(operator) }
    };
    let read = |kind| operator(kind, vec!["features", "w"], "probabilities");
    known(&weighted(read("MatMul"), vec![3, 1]), "MatMul of shapes [1, 2] and [3, 1]");
    known(&weighted(read("Add"), vec![3]), "Add of shapes [1, 2] and [3]");
    known(&weighted(read("Gather"), vec![1]), "Gather with indices of type float");
    known(&weighted(read("Reshape"), vec![2]), "not integer weights");
    known(&weighted(read("Sigmoid"), vec![2]), "Sigmoid with 2 inputs");
    let alone = |kind| Model::with_features(2).with(operator(kind, vec!["features"], "probabilities"));
    known(&alone("Not"), "Not of type float");
    known(&alone("MatMul"), "MatMul with 1 inputs");
    let with = |kind, name, attribute| {
        let attributes = vec![(name, attribute)];
        Model::with_features(2)
            .with(Operator { attributes, ..operator(kind, vec!["features"], "probabilities") })
    };
    known(&with("Softmax", "axis", Attribute::Int(2)), "Softmax along axis 2 of 2 dimensions");
    known(
        &with("Softmax", "axis", Attribute::Float(1.0)),
        "the attribute axis of Softmax has the wrong type",
    );
    known(&with("Cast", "to", Attribute::Int(8)), "tensors of type string");
    let mut narrow = logistic(&[1.0, 1.0, 1.0], 0.0);
    narrow.shape = vec![None, Some(2)];
    known(&narrow, "LinearClassifier reads 3 features, but its input has 2");
}
