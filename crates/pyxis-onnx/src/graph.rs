//! Checks of a file before any part of it runs. Only operators that lead from the features to the probability are kept,
//! with known names and bounded sizes.

use std::collections::{HashMap, HashSet};

use crate::operators::{OPERATORS, Operation, Outputs};
use crate::plan::{self, Builder, Operand, Plan};
use crate::proto::{Graph, GraphNode, Model, TensorProto, ValueInfo};
use crate::spec::ModelSpec;
use crate::tensor;
use crate::{LoadError, MOST_OPERATORS, MOST_STEPS};

/// Operators that may compute with weights alone: the weights do not grow by them.
const FOLDED: &[&str] =
    &["Cast", "Constant", "Flatten", "Identity", "Neg", "Reshape", "Squeeze", "Unsqueeze"];
/// Largest side of a table of weights.
const MAX_SIDE: i64 = 8_192;
/// Maximum number of concatenated tables.
const MAX_CONCATENATED: usize = 16;
/// Operators that pass unknown values through unchanged.
const PASSING: &[&str] = &[
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
/// Operators that handle unknown values: their results are known.
const HANDLING: &[&str] = &["IsNaN", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "Where"];

/// File that passed the checks.
pub(crate) struct Checked<'a> {
    opset: i64,
    /// Name of the input.
    input: &'a str,
    /// Weights that are read.
    weights: Vec<&'a TensorProto<'a>>,
    /// Operators that lead to the probability, in order.
    nodes: Vec<&'a GraphNode<'a>>,
    /// Name of the tensor that holds the probability.
    table: &'a str,
    /// Output that holds the probability, by its name in the file.
    pub(crate) output: String,
    /// Column that labels in the file call human.
    pub(crate) human: Option<usize>,
    /// Operators by name, each once.
    pub(crate) operators: Vec<String>,
    /// Maximum number of steps of an answer, without those through trees.
    steps: usize,
    /// True if unknown features (NaN) only meet operators that handle them. Others may turn them into a number.
    pub(crate) handles_unknown: bool,
}

/// Plan of a checked file.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// Shape of the output.
    pub(crate) shape: Vec<usize>,
    /// Maximum number of steps of an answer.
    pub(crate) steps: usize,
}

/// Checks a file.
pub(crate) fn check<'a>(model: &'a Model<'a>, spec: &ModelSpec) -> Result<Checked<'a>, LoadError> {
    let graph = model.graph.as_ref().ok_or_else(|| LoadError::NotOnnx("it contains no model".to_owned()))?;
    if graph.has_sparse_initializers || model.has_functions {
        return Err(LoadError::Operators("sparse weights or functions of its own".to_owned()));
    }
    let weights: HashMap<&str, &TensorProto<'_>> =
        graph.initializers.iter().map(|tensor| (tensor.name, tensor)).collect();
    if weights.len() != graph.initializers.len() {
        return Err(LoadError::Damaged("two weights have the same name".to_owned()));
    }
    let input = input(graph, &weights, spec.features)?;
    let producers = producers(graph, &weights, input)?;
    let output = output(graph, spec)?;
    // A list of maps is the table below it, in another form.
    let mut table = output;
    while let Some(node) = producers.get(table).map(|index| &graph.nodes[*index])
        && node.op_type == "ZipMap"
    {
        table = node.inputs.first().copied().unwrap_or("");
    }
    if !producers.contains_key(table) {
        return Err(LoadError::Damaged(format!("no operator computes the output {output}")));
    }
    let nodes = leading_to(graph, &producers, table);
    check_operators(&nodes)?;
    let sizes = sizes(graph)?;
    let (mut human, mut operators) = (None, Vec::new());
    let mut from_input: HashSet<&str> = HashSet::from([input]);
    let (mut concatenated, mut steps) = (0, 0);
    for node in &nodes {
        let is_folded = !node.inputs.iter().any(|name| from_input.contains(name));
        if is_folded && !FOLDED.contains(&node.op_type) {
            let kind = node.op_type;
            return Err(LoadError::Damaged(format!(
                "{kind} computes with weights alone: fold constants when exporting"
            )));
        }
        if !is_folded {
            from_input.extend(&node.outputs);
        }
        if node.op_type == "Concat" {
            concatenated += node.inputs.len();
        }
        human = human_column(node).or(human);
        if !operators.iter().any(|known| known == node.op_type) {
            operators.push(node.op_type.to_owned());
        }
        steps += steps_of(node, &sizes)?;
    }
    if concatenated > MAX_CONCATENATED {
        return Err(LoadError::TooMany(concatenated));
    }
    if steps > MOST_STEPS {
        return Err(LoadError::TooSlow(steps));
    }
    if let Some(class) = nodes.iter().find_map(|node| class_in_use(node, &nodes, table)) {
        return Err(LoadError::Damaged(format!(
            "it computes with the class {class:?}, not with probabilities"
        )));
    }
    let read: HashSet<&str> = nodes.iter().flat_map(|node| node.inputs.iter().copied()).collect();
    Ok(Checked {
        opset: model.opset,
        input,
        weights: graph.initializers.iter().filter(|tensor| read.contains(tensor.name)).collect(),
        handles_unknown: handles_unknown(&nodes, input),
        nodes,
        table,
        output: output.to_owned(),
        human,
        operators,
        steps,
    })
}

impl Checked<'_> {
    /// Plans the evaluation: every tensor gets a type and a size. If that needs values of weights, they are computed
    /// here.
    pub(crate) fn plan(&self, features: usize) -> Result<Planned, LoadError> {
        let (mut builder, input) = Builder::new(features);
        let planned = self.table(&mut builder, input);
        if builder.work() > plan::MOST_WORK {
            return Err(LoadError::TooSlow(builder.work()));
        }
        let steps = self.steps.saturating_add(builder.tree_steps());
        if planned.is_ok() && steps > MOST_STEPS {
            return Err(LoadError::TooSlow(steps));
        }
        let planned = planned
            .and_then(|table| Ok(Planned { plan: builder.finish(&table)?, shape: table.shape, steps }));
        planned.map_err(LoadError::Damaged)
    }

    fn table(&self, builder: &mut Builder, input: Operand) -> Result<Operand, String> {
        let mut values: HashMap<&str, Operand> = HashMap::from([(self.input, input)]);
        for weights in &self.weights {
            let (of, data) = tensor::read(weights)?;
            values.insert(weights.name, builder.constant(of, data));
        }
        for node in &self.nodes {
            let inputs = node.inputs.iter().map(|name| values.get(name).cloned()).collect();
            let outputs: Outputs = Operation { node, opset: self.opset, inputs }.add(builder)?;
            for (name, value) in node.outputs.iter().zip(outputs) {
                values.extend(value.map(|value| (*name, value)));
            }
        }
        values.remove(self.table).ok_or_else(|| format!("nothing computes {:?}", self.table))
    }
}

/// Name of the one input that is not weights.
fn input<'a>(
    graph: &'a Graph<'a>,
    weights: &HashMap<&str, &TensorProto<'_>>,
    features: usize,
) -> Result<&'a str, LoadError> {
    let refused = |found: String, hint| LoadError::Input { found, features, hint };
    let open: Vec<&ValueInfo<'_>> =
        graph.inputs.iter().filter(|input| !weights.contains_key(input.name)).collect();
    let [input] = open[..] else {
        let names: Vec<&str> = open.iter().map(|input| input.name).collect();
        return Err(refused(
            format!("{} inputs ({})", names.len(), names.join(", ")),
            "export with one input for all features (initial_types of skl2onnx)",
        ));
    };
    let Some(tensor) = &input.tensor else {
        return Err(refused("not a tensor".to_owned(), "export with FloatTensorType([None, features])"));
    };
    if tensor.data_type != 1 {
        return Err(refused(
            format!("of type {}", tensor::type_name(tensor.data_type)),
            "export in single precision (FloatTensorType, or float32)",
        ));
    }
    let fits = |side: i64| usize::try_from(side).is_ok_and(|side| side == features);
    match tensor.dims[..] {
        [rows, columns] if rows.is_none_or(|rows| rows == 1) && columns.is_none_or(fits) => Ok(input.name),
        [rows, _] if rows.is_none_or(|rows| rows == 1) => Err(refused(
            shape_words(&tensor.dims),
            "train on the features in their documented order (pyxis models features prints it)",
        )),
        _ => Err(refused(shape_words(&tensor.dims), "export with a free first dimension")),
    }
}

fn shape_words(dims: &[Option<i64>]) -> String {
    let words: Vec<String> =
        dims.iter().map(|side| side.map_or_else(|| "n".to_owned(), |side| side.to_string())).collect();
    format!("of shape [{}]", words.join(", "))
}

/// Operator that computes each tensor. Every tensor is computed once, and before it is read, so there is no cycle.
fn producers<'a>(
    graph: &'a Graph<'a>,
    weights: &HashMap<&str, &TensorProto<'_>>,
    input: &str,
) -> Result<HashMap<&'a str, usize>, LoadError> {
    let mut producers: HashMap<&str, usize> = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        for name in node.inputs.iter().filter(|name| !name.is_empty()) {
            if *name != input && !weights.contains_key(name) && !producers.contains_key(name) {
                let kind = node.op_type;
                return Err(LoadError::Damaged(format!("{kind} reads {name:?} before it is computed")));
            }
        }
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            if *name == input || weights.contains_key(name) || producers.insert(name, index).is_some() {
                return Err(LoadError::Damaged(format!("{name:?} is computed twice")));
            }
        }
    }
    Ok(producers)
}

/// Output that holds the probability: the named one, the only one, or the one whose name implies it.
fn output<'a>(graph: &'a Graph<'a>, spec: &ModelSpec) -> Result<&'a str, LoadError> {
    let names = &graph.outputs[..];
    let likely: Vec<&&str> = names.iter().filter(|name| name.to_ascii_lowercase().contains("prob")).collect();
    match (&spec.output, names, &likely[..]) {
        (Some(wanted), ..) if names.contains(&wanted.as_str()) => {
            Ok(names.iter().find(|name| *name == wanted).copied().unwrap_or(""))
        }
        (None, [only], _) => Ok(only),
        (None, _, [only]) => Ok(only),
        _ => Err(LoadError::Output { found: names.join(", ") }),
    }
}

/// Operators that a tensor depends on, in order.
fn leading_to<'a>(
    graph: &'a Graph<'a>,
    producers: &HashMap<&str, usize>,
    table: &'a str,
) -> Vec<&'a GraphNode<'a>> {
    let mut wanted = vec![false; graph.nodes.len()];
    let mut open = vec![table];
    while let Some(name) = open.pop() {
        let Some(index) = producers.get(name) else { continue };
        if !std::mem::replace(&mut wanted[*index], true) {
            open.extend(&graph.nodes[*index].inputs);
        }
    }
    graph.nodes.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(node, _)| node).collect()
}

fn check_operators(nodes: &[&GraphNode<'_>]) -> Result<(), LoadError> {
    if nodes.len() > MOST_OPERATORS {
        return Err(LoadError::TooMany(nodes.len()));
    }
    let mut unknown: Vec<&str> =
        nodes.iter().filter(|node| !is_known(node)).map(|node| node.op_type).collect();
    unknown.sort_unstable();
    unknown.dedup();
    if unknown.is_empty() { Ok(()) } else { Err(LoadError::Operators(unknown.join(", "))) }
}

fn is_known(node: &GraphNode<'_>) -> bool {
    matches!(node.domain, "" | "ai.onnx" | "ai.onnx.ml")
        && OPERATORS.contains(&node.op_type)
        && node.op_type != "ZipMap"
        && !node.attributes.iter().any(|attribute| attribute.has_graph)
}

/// Number of elements of all weights.
fn sizes<'a>(graph: &'a Graph<'a>) -> Result<HashMap<&'a str, usize>, LoadError> {
    graph.initializers.iter().map(|tensor| Ok((tensor.name, size(tensor)?))).collect()
}

fn size(tensor: &TensorProto<'_>) -> Result<usize, LoadError> {
    if tensor.is_external {
        return Err(LoadError::Damaged(
            "its weights are in another file: save the model as one file".to_owned(),
        ));
    }
    let fits = tensor.dims.len() <= 2 && tensor.dims.iter().all(|side| (0..=MAX_SIDE).contains(side));
    if !fits {
        return Err(LoadError::Damaged(format!("weights of the shape {:?}", tensor.dims)));
    }
    Ok(tensor.dims.iter().filter_map(|side| usize::try_from(*side).ok()).product())
}

/// Steps of one operator: the weights that it reads. Steps through trees are counted during planning.
fn steps_of(node: &GraphNode<'_>, sizes: &HashMap<&str, usize>) -> Result<usize, LoadError> {
    let mut steps = node.inputs.iter().filter_map(|name| sizes.get(name)).sum::<usize>();
    for tensor in node.attributes.iter().filter_map(|attribute| attribute.t.as_ref()) {
        steps += size(tensor)?;
    }
    steps += node.attributes.iter().map(|attribute| attribute.floats.len()).sum::<usize>().min(1 << 16);
    if matches!(node.op_type, "Reshape" | "Unsqueeze") {
        let wanted = node.inputs.get(1).and_then(|name| sizes.get(name));
        if wanted.is_some_and(|sides| *sides > 2) {
            return Err(LoadError::Damaged("it works with more than two dimensions".to_owned()));
        }
    }
    Ok(steps)
}

/// True if nothing computes with unknown values before an operator handles them.
fn handles_unknown(nodes: &[&GraphNode<'_>], input: &str) -> bool {
    let mut open: HashSet<&str> = HashSet::from([input]);
    for node in nodes {
        let kind = node.op_type;
        if !node.inputs.iter().any(|name| open.contains(name)) || HANDLING.contains(&kind) {
            continue;
        }
        let imputes = kind == "Imputer" && node.float("replaced_value_float").is_some_and(f32::is_nan);
        if !imputes {
            if kind != "Imputer" && !PASSING.contains(&kind) {
                return false;
            }
            open.extend(&node.outputs);
        }
    }
    true
}

/// Class that a classifier outputs, if anything is computed with it.
fn class_in_use<'a>(node: &GraphNode<'a>, nodes: &[&GraphNode<'_>], table: &str) -> Option<&'a str> {
    if !matches!(node.op_type, "TreeEnsembleClassifier" | "LinearClassifier") {
        return None;
    }
    let class = node.outputs.first().copied().filter(|name| !name.is_empty())?;
    let used =
        node.outputs.len() < 2 || class == table || nodes.iter().any(|other| other.inputs.contains(&class));
    used.then_some(class)
}

/// Human column, if a classifier's labels determine it.
fn human_column(node: &GraphNode<'_>) -> Option<usize> {
    let labels: Vec<String> = node.labels().iter().map(|label| label.to_ascii_lowercase()).collect();
    let find = |name: &str| labels.iter().position(|label| label == name);
    match (find("human"), find("sybil")) {
        (Some(human), _) => Some(human),
        (None, Some(sybil)) if labels.len() == 2 => Some(1 - sybil),
        // As in label files, 1 is human.
        _ if labels.len() == 2 => find("1"),
        _ => None,
    }
}
