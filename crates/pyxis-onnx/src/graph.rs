//! What a file holds, looked through before anything of it runs: only what leads from the features to the
//! probability is kept, by names that are known, in sizes that are bounded.

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension};
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, type_proto,
};

use crate::ask::Ask;
use crate::attributes::Attributes;
use crate::operators::{OPERATORS, TREES};
use crate::trees::Trees;
use crate::{MOST_OPERATORS, MOST_STEPS, Refused};

/// Operators that weights alone may go through: they do not grow by it.
const OF_WEIGHTS: &[&str] =
    &["Cast", "Constant", "Flatten", "Identity", "Neg", "Reshape", "Squeeze", "Unsqueeze"];
/// The largest side of a table of weights, and the most tables that are put side by side.
const MOST_SIDE: i64 = 8_192;
const MOST_CONCATENATED: usize = 16;
/// Operators that hand the unknown on as it is.
const HANDING_ON: &[&str] = &[
    "ArrayFeatureExtractor",
    "Cast",
    "Concat",
    "Dropout",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Scaler",
    "Squeeze",
    "Unsqueeze",
];
/// Operators that know the unknown: what comes out of them is known.
const KNOWING: &[&str] = &["IsNaN", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "Where"];

/// A file that was looked through.
pub(crate) struct Checked {
    /// What is left of it.
    pub(crate) model: ModelProto,
    /// The output that holds the probability, by the name that the file gives it.
    pub(crate) output: String,
    /// The column that labels in the file call human.
    pub(crate) human: Option<usize>,
    /// Operators by name, each once.
    pub(crate) operators: Vec<String>,
    /// What an answer costs at most.
    pub(crate) steps: usize,
    /// Whether the unknown (NaN) only meets operators that know it. Others may make a number of it.
    pub(crate) knows_unknown: bool,
}

/// Looks a file through.
pub(crate) fn check(mut model: ModelProto, ask: &Ask) -> Result<Checked, Refused> {
    let graph = model.graph.take().ok_or_else(|| Refused::NotOnnx("it holds no model".to_owned()))?;
    if !graph.sparse_initializer.is_empty() || !model.functions.is_empty() {
        return Err(Refused::Operators("sparse weights or functions of its own".to_owned()));
    }
    let given: HashSet<&str> = graph.initializer.iter().map(|weights| weights.name.as_str()).collect();
    let input = input(&graph, &given, ask.features)?;
    let input_name = input.name.clone();
    let makers = makers(&graph, &given, &input_name)?;
    let output = output(&graph, ask)?;
    // A list of maps is the table below it, in another shape.
    let mut table = output.as_str();
    while let Some(node) = makers.get(table).map(|place| &graph.node[*place])
        && node.op_type == "ZipMap"
    {
        table = node.input.first().map_or("", String::as_str);
    }
    if !makers.contains_key(table) {
        return Err(Refused::Damaged(format!("nothing computes the output {output}")));
    }
    let kept = leading_to(&graph, &makers, table);
    let mut sizes = Sizes::of(&graph, &kept)?;
    let mut nodes = Vec::with_capacity(kept.len());
    let (mut human, mut operators) = (None, Vec::new());
    let mut from_input: HashSet<&str> = HashSet::from([input_name.as_str()]);
    let mut concatenated = 0;
    for node in kept.iter().map(|place| &graph.node[*place]) {
        let alone = !node.input.iter().any(|name| from_input.contains(name.as_str()));
        if alone && !OF_WEIGHTS.contains(&node.op_type.as_str()) {
            return Err(Refused::Damaged(format!(
                "{} computes with weights alone: fold constants when exporting",
                node.op_type
            )));
        }
        if !alone {
            from_input.extend(node.output.iter().map(String::as_str));
        }
        if node.op_type == "Concat" {
            concatenated += node.input.len();
        }
        human = human_column(node).or(human);
        if !operators.contains(&node.op_type) {
            operators.push(node.op_type.clone());
        }
        nodes.push(prepared(node, &mut sizes)?);
    }
    if concatenated > MOST_CONCATENATED {
        return Err(Refused::TooMany(concatenated));
    }
    if sizes.steps > MOST_STEPS {
        return Err(Refused::TooSlow(sizes.steps));
    }
    let kept_nodes: Vec<&NodeProto> = kept.iter().map(|place| &graph.node[*place]).collect();
    let knows_unknown = knows_unknown(&kept_nodes, &input_name);
    if let Some(class) = kept_nodes.iter().find_map(|node| class_in_use(node, &kept_nodes, table)) {
        return Err(Refused::Damaged(format!(
            "it computes with the class {class:?}, not with probabilities"
        )));
    }
    let (table, steps) = (table.to_owned(), sizes.steps);
    let wanted: HashSet<String> = nodes.iter().flat_map(|node| node.input.iter().cloned()).collect();
    let graph = GraphProto {
        name: "model".to_owned(),
        initializer: graph.initializer.into_iter().filter(|weights| wanted.contains(&weights.name)).collect(),
        input: vec![one_row(input, ask.features)],
        output: vec![ValueInfoProto { name: table, r#type: None, doc_string: String::new() }],
        node: nodes,
        ..GraphProto::default()
    };
    model.graph = Some(graph);
    model.metadata_props.clear();
    Ok(Checked { model, output, human, operators, steps, knows_unknown })
}

/// The one input that is not weights.
fn input(graph: &GraphProto, given: &HashSet<&str>, features: usize) -> Result<ValueInfoProto, Refused> {
    let refused = |found: String, hint| Refused::Input { found, features, hint };
    let open: Vec<&ValueInfoProto> =
        graph.input.iter().filter(|input| !given.contains(input.name.as_str())).collect();
    let [input] = open[..] else {
        let names: Vec<&str> = open.iter().map(|input| input.name.as_str()).collect();
        return Err(refused(
            format!("{} inputs ({})", names.len(), names.join(", ")),
            "export with one input for all features (initial_types of skl2onnx)",
        ));
    };
    let Some(type_proto::Value::TensorType(tensor)) =
        input.r#type.as_ref().and_then(|kind| kind.value.as_ref())
    else {
        return Err(refused("no tensor".to_owned(), "export with FloatTensorType([None, features])"));
    };
    if DataType::try_from(tensor.elem_type) != Ok(DataType::Float) {
        let found = DataType::try_from(tensor.elem_type)
            .map_or_else(|_| "unknown".to_owned(), |kind| format!("{kind:?}").to_lowercase());
        return Err(refused(
            format!("of type {found}"),
            "export in single precision (FloatTensorType, or float32)",
        ));
    }
    let sides: Vec<Option<i64>> = tensor.shape.iter().flat_map(|shape| &shape.dim).map(side).collect();
    let fits = |side: i64| usize::try_from(side).is_ok_and(|side| side == features);
    match sides[..] {
        [rows, columns] if rows.is_none_or(|rows| rows == 1) && columns.is_none_or(fits) => Ok(input.clone()),
        [rows, _] if rows.is_none_or(|rows| rows == 1) => Err(refused(
            shape_words(&sides),
            "train on the features in their documented order (pyxis models features prints it)",
        )),
        _ => Err(refused(shape_words(&sides), "export with a free first dimension")),
    }
}

fn side(dimension: &Dimension) -> Option<i64> {
    match &dimension.value {
        Some(dimension::Value::DimValue(side)) if *side > 0 => Some(*side),
        _ => None,
    }
}

fn shape_words(sides: &[Option<i64>]) -> String {
    let words: Vec<String> =
        sides.iter().map(|side| side.map_or_else(|| "n".to_owned(), |side| side.to_string())).collect();
    format!("of shape [{}]", words.join(", "))
}

fn one_row(mut input: ValueInfoProto, features: usize) -> ValueInfoProto {
    if let Some(type_proto::Value::TensorType(tensor)) =
        input.r#type.as_mut().and_then(|kind| kind.value.as_mut())
    {
        let sides = [1, i64::try_from(features).unwrap_or(i64::MAX)];
        let dimension =
            |side| Dimension { denotation: String::new(), value: Some(dimension::Value::DimValue(side)) };
        tensor.shape.get_or_insert_default().dim = sides.map(dimension).to_vec();
    }
    input
}

/// Which operator makes what. Everything must be made once, and before it is used: then nothing goes in a
/// circle.
fn makers<'a>(
    graph: &'a GraphProto,
    given: &HashSet<&'a str>,
    input: &'a str,
) -> Result<HashMap<&'a str, usize>, Refused> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (place, node) in graph.node.iter().enumerate() {
        for name in node.input.iter().map(String::as_str).filter(|name| !name.is_empty()) {
            if name != input && !given.contains(name) && !makers.contains_key(name) {
                return Err(Refused::Damaged(format!("{} uses {name:?} before it is made", node.op_type)));
            }
        }
        for name in node.output.iter().map(String::as_str).filter(|name| !name.is_empty()) {
            if name == input || given.contains(name) || makers.insert(name, place).is_some() {
                return Err(Refused::Damaged(format!("{name:?} is made twice")));
            }
        }
    }
    Ok(makers)
}

/// The output that holds the probability: the one that was named, the only one, or the one whose name says
/// so.
fn output(graph: &GraphProto, ask: &Ask) -> Result<String, Refused> {
    let names: Vec<&String> = graph.output.iter().map(|output| &output.name).collect();
    let likely: Vec<&&String> =
        names.iter().filter(|name| name.to_ascii_lowercase().contains("prob")).collect();
    match (&ask.output, &names[..], &likely[..]) {
        (Some(wanted), ..) if names.contains(&wanted) => Ok(wanted.clone()),
        (None, [only], _) => Ok((*only).clone()),
        (None, _, [only]) => Ok((**only).clone()),
        _ => {
            let found: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            Err(Refused::Output { found: found.join(", ") })
        }
    }
}

/// The operators that a tensor depends on, in their order.
fn leading_to(graph: &GraphProto, makers: &HashMap<&str, usize>, table: &str) -> Vec<usize> {
    let mut wanted = vec![false; graph.node.len()];
    let mut open = vec![table];
    while let Some(name) = open.pop() {
        let Some(place) = makers.get(name) else { continue };
        if !std::mem::replace(&mut wanted[*place], true) {
            open.extend(graph.node[*place].input.iter().map(String::as_str));
        }
    }
    (0..wanted.len()).filter(|place| wanted[*place]).collect()
}

/// Weights by name with their size, and what an answer costs so far.
struct Sizes<'a> {
    weights: HashMap<&'a str, usize>,
    steps: usize,
}

impl<'a> Sizes<'a> {
    fn of(graph: &'a GraphProto, kept: &[usize]) -> Result<Self, Refused> {
        if kept.len() > MOST_OPERATORS {
            return Err(Refused::TooMany(kept.len()));
        }
        let strange: Vec<&str> = kept
            .iter()
            .map(|place| &graph.node[*place])
            .filter(|node| !is_known(node))
            .map(|node| node.op_type.as_str())
            .collect();
        if !strange.is_empty() {
            let mut strange = strange;
            strange.sort_unstable();
            strange.dedup();
            return Err(Refused::Operators(strange.join(", ")));
        }
        let mut weights = HashMap::new();
        for tensor in &graph.initializer {
            weights.insert(tensor.name.as_str(), size(tensor)?);
        }
        Ok(Self { weights, steps: 0 })
    }
}

fn is_known(node: &NodeProto) -> bool {
    let subgraphs = node.attribute.iter().any(|found| found.g.is_some() || !found.graphs.is_empty());
    matches!(node.domain.as_str(), "" | "ai.onnx" | "ai.onnx.ml")
        && OPERATORS.contains(&node.op_type.as_str())
        && node.op_type != "ZipMap"
        && !subgraphs
}

fn size(tensor: &TensorProto) -> Result<usize, Refused> {
    if tensor.data_location == Some(DataLocation::External as i32) || !tensor.external_data.is_empty() {
        return Err(Refused::Damaged(
            "its weights are in another file: save the model as one file".to_owned(),
        ));
    }
    let fits = tensor.dims.len() <= 2 && tensor.dims.iter().all(|side| (0..=MOST_SIDE).contains(side));
    if !fits {
        return Err(Refused::Damaged(format!("weights of the shape {:?}", tensor.dims)));
    }
    Ok(tensor.dims.iter().filter_map(|side| usize::try_from(*side).ok()).product())
}

/// An operator as the library is to see it; its cost is added.
fn prepared(node: &NodeProto, sizes: &mut Sizes<'_>) -> Result<NodeProto, Refused> {
    let mut prepared = node.clone();
    prepared.name.clear();
    for tensor in node.attribute.iter().filter_map(|found| found.t.as_ref()) {
        sizes.steps += size(tensor)?;
    }
    sizes.steps += node.input.iter().filter_map(|name| sizes.weights.get(name.as_str())).sum::<usize>();
    sizes.steps += node.attribute.iter().map(|found| found.floats.len()).sum::<usize>().min(1 << 16);
    match node.op_type.as_str() {
        "TreeEnsembleClassifier" | "TreeEnsembleRegressor" => {
            let trees = Trees::read(node).map_err(Refused::Damaged)?;
            sizes.steps += trees.steps();
            // The class itself is not asked for.
            prepared.output = node.output.last().cloned().into_iter().collect();
            prepared.domain.clone_from(&node.op_type);
            TREES.clone_into(&mut prepared.op_type);
        }
        "LinearClassifier" => {
            // The class itself is not asked for; what it is called does not matter then.
            let classes = (0..).take(Attributes(node).labels().len()).collect();
            prepared.attribute.retain(|found| !found.name.starts_with("classlabels_"));
            let name = "classlabels_ints".to_owned();
            let kind = AttributeType::Ints as i32;
            prepared.attribute.push(AttributeProto {
                name,
                r#type: kind,
                ints: classes,
                ..AttributeProto::default()
            });
        }
        "Reshape" | "Unsqueeze" => {
            let wanted = node.input.get(1).and_then(|name| sizes.weights.get(name.as_str()));
            if wanted.is_some_and(|sides| *sides > 2) {
                return Err(Refused::Damaged("it works with more than two dimensions".to_owned()));
            }
        }
        _ => {}
    }
    Ok(prepared)
}

/// Whether nothing computes with what may be unknown before something took care of it.
fn knows_unknown(nodes: &[&NodeProto], input: &str) -> bool {
    let mut open: HashSet<&str> = HashSet::from([input]);
    for node in nodes {
        let kind = node.op_type.as_str();
        if !node.input.iter().any(|name| open.contains(name.as_str())) || KNOWING.contains(&kind) {
            continue;
        }
        let imputes = kind == "Imputer"
            && Attributes(node).find("replaced_value_float").is_some_and(|found| found.f.is_nan());
        if !imputes {
            if kind != "Imputer" && !HANDING_ON.contains(&kind) {
                return false;
            }
            open.extend(node.output.iter().map(String::as_str));
        }
    }
    true
}

/// The class that a classifier names, where something is computed with it.
fn class_in_use<'a>(node: &'a NodeProto, nodes: &[&NodeProto], table: &str) -> Option<&'a str> {
    if !matches!(node.op_type.as_str(), "TreeEnsembleClassifier" | "LinearClassifier") {
        return None;
    }
    let class = node.output.first().map(String::as_str).filter(|name| !name.is_empty())?;
    let used = node.output.len() < 2
        || class == table
        || nodes.iter().any(|other| other.input.iter().any(|name| name == class));
    used.then_some(class)
}

/// Which column is the human one, where labels of a classifier say so.
fn human_column(node: &NodeProto) -> Option<usize> {
    let labels: Vec<String> =
        Attributes(node).labels().iter().map(|label| label.to_ascii_lowercase()).collect();
    let find = |name: &str| labels.iter().position(|label| label == name);
    match (find("human"), find("sybil")) {
        (Some(human), _) => Some(human),
        (None, Some(sybil)) if labels.len() == 2 => Some(1 - sybil),
        // As in files of labels, 1 is human.
        _ if labels.len() == 2 => find("1"),
        _ => None,
    }
}
