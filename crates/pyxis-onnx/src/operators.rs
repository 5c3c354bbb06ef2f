//! Operators that a model may use, and their additions to the plan.

mod attributes;

use attributes::{axes, axis, check_types, constant_ints, constant_value, reshape};

use crate::elementwise::{self, Arithmetic, Comparison, Unary};
use crate::linear::Linear;
use crate::matmul::{self, Gemm};
use crate::plan::{Builder, Operand};
use crate::preprocessing::{Imputer, Normalizer, Scaler};
use crate::proto::GraphNode;
use crate::rowwise::rowwise;
use crate::tensor::{ElementType, TensorData, TensorType};
use crate::trees::Trees;
use crate::{normalization, reduction, selection};

/// Supported operators of `ai.onnx` and `ai.onnx.ml`. None of them loops.
pub const OPERATORS: &[&str] = &[
    "Abs",
    "Add",
    "ArgMax",
    "ArrayFeatureExtractor",
    "BatchNormalization",
    "Cast",
    "Clip",
    "Concat",
    "Constant",
    "Div",
    "Dropout",
    "Elu",
    "Equal",
    "Exp",
    "Flatten",
    "Gather",
    "Gemm",
    "Greater",
    "Identity",
    "Imputer",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LinearClassifier",
    "LinearRegressor",
    "Log",
    "MatMul",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Normalizer",
    "Not",
    "Pow",
    "Reciprocal",
    "ReduceMean",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Scaler",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "Unsqueeze",
    "Where",
    "ZipMap",
];

/// Node of the graph with its inputs, ready to be added to a plan.
pub(crate) struct Operation<'a, 'f> {
    pub(crate) node: &'a GraphNode<'f>,
    /// Version of the default operator set.
    pub(crate) opset: i64,
    /// Inputs by position; optional ones can be absent.
    pub(crate) inputs: Vec<Option<Operand>>,
}

/// Values of a node's outputs, by position. An operator without a value for an output leaves it out.
pub(crate) type Outputs = Vec<Option<Operand>>;

impl Operation<'_, '_> {
    fn input(&self, index: usize) -> Result<&Operand, String> {
        let input = self.inputs.get(index).and_then(Option::as_ref);
        input.ok_or_else(|| format!("{} without its input {index}", self.node.op_type))
    }

    fn optional(&self, index: usize) -> Option<&Operand> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// All inputs, none of which may be absent.
    fn every(&self) -> Result<Vec<Operand>, String> {
        (0..self.inputs.len()).map(|index| self.input(index).cloned()).collect()
    }

    /// Adds the operator to the plan.
    pub(crate) fn add(&self, builder: &mut Builder) -> Result<Outputs, String> {
        let node = self.node;
        let kind = node.op_type;
        check_types(node)?;
        let (fewest, most, outputs) = arity(kind);
        let named = node.outputs.iter().filter(|name| !name.is_empty()).count();
        if !(fewest..=most).contains(&self.inputs.len()) || named > outputs {
            return Err(format!("{kind} with {} inputs and {named} outputs", self.inputs.len()));
        }
        let value = match kind {
            "TreeEnsembleClassifier" => {
                // The class itself is never read.
                let scores = self.trees(builder)?;
                return Ok(vec![None, Some(scores)]);
            }
            "LinearClassifier" => {
                let scores = rowwise(builder, kind, Linear::classifier(node)?, self.input(0)?)?;
                return Ok(vec![None, Some(scores)]);
            }
            "Dropout" => return self.dropout(builder),
            "Constant" => constant_value(builder, node)?,
            "TreeEnsembleRegressor" => self.trees(builder)?,
            "LinearRegressor" => rowwise(builder, kind, Linear::regressor(node)?, self.input(0)?)?,
            "Scaler" => rowwise(builder, kind, Scaler::read(node)?, self.input(0)?)?,
            "Imputer" => rowwise(builder, kind, Imputer::read(node)?, self.input(0)?)?,
            "Normalizer" => rowwise(builder, kind, Normalizer::read(node)?, self.input(0)?)?,
            "Concat"
            | "Gather"
            | "ArrayFeatureExtractor"
            | "Reshape"
            | "Flatten"
            | "Squeeze"
            | "Unsqueeze"
            | "Identity" => self.layout(builder)?,
            "MatMul" | "Gemm" | "BatchNormalization" | "Softmax" | "ReduceSum" | "ReduceMean" | "ArgMax" => {
                self.across_elements(builder)?
            }
            _ => self.elementwise(builder)?,
        };
        Ok(vec![Some(value)])
    }

    fn trees(&self, builder: &mut Builder) -> Result<Operand, String> {
        let trees = Trees::read(self.node)?;
        builder.count_tree_steps(trees.steps());
        rowwise(builder, self.node.op_type, trees, self.input(0)?)
    }

    /// Operators that compute each element on its own.
    fn elementwise(&self, builder: &mut Builder) -> Result<Operand, String> {
        let (node, kind) = (self.node, self.node.op_type);
        let alpha = |default| node.float("alpha").unwrap_or(default);
        if let Some(operation) = match kind {
            "Abs" => Some(Unary::Abs),
            "Neg" => Some(Unary::Neg),
            "Relu" => Some(Unary::Relu),
            "Exp" => Some(Unary::Exp),
            "Log" => Some(Unary::Log),
            "Sqrt" => Some(Unary::Sqrt),
            "Reciprocal" => Some(Unary::Reciprocal),
            "Sigmoid" => Some(Unary::Sigmoid),
            "Tanh" => Some(Unary::Tanh),
            "Softplus" => Some(Unary::Softplus),
            "IsNaN" => Some(Unary::IsNan),
            "Not" => Some(Unary::Not),
            "Elu" => Some(Unary::Elu { alpha: alpha(1.0) }),
            "LeakyRelu" => Some(Unary::LeakyRelu { alpha: alpha(0.01) }),
            "Selu" => {
                let gamma = node.float("gamma").unwrap_or(1.050_701);
                Some(Unary::Selu { alpha: alpha(1.673_263_2), gamma })
            }
            _ => None,
        } {
            return elementwise::unary(builder, kind, operation, self.input(0)?);
        }
        if let Some(operation) = match kind {
            "Add" | "Sum" => Some(Arithmetic::Add),
            "Sub" => Some(Arithmetic::Sub),
            "Mul" => Some(Arithmetic::Mul),
            "Div" => Some(Arithmetic::Div),
            "Max" => Some(Arithmetic::Max),
            "Min" => Some(Arithmetic::Min),
            _ => None,
        } {
            return elementwise::arithmetic(builder, kind, operation, &self.every()?);
        }
        if let Some(operation) = match kind {
            "Equal" => Some(Comparison::Equal),
            "Greater" => Some(Comparison::Greater),
            "Less" => Some(Comparison::Less),
            _ => None,
        } {
            return elementwise::comparison(builder, kind, operation, self.input(0)?, self.input(1)?);
        }
        match kind {
            "Pow" => elementwise::power(builder, self.input(0)?, self.input(1)?),
            "Where" => elementwise::select(builder, self.input(0)?, self.input(1)?, self.input(2)?),
            "Cast" => {
                let to = node.int("to").ok_or("Cast without a type")?;
                builder.cast(self.input(0)?, ElementType::from_code(to)?)
            }
            "Clip" if self.opset < 11 => {
                let mut bound = |name| {
                    let of = TensorType { element: ElementType::F32, shape: Vec::new() };
                    node.float(name).map(|bound| builder.constant(of, TensorData::F32(vec![bound])))
                };
                let (lower, upper) = (bound("min"), bound("max"));
                elementwise::clip(builder, self.input(0)?, lower.as_ref(), upper.as_ref())
            }
            "Clip" => elementwise::clip(builder, self.input(0)?, self.optional(1), self.optional(2)),
            _ => Err(format!("the operator {kind}")),
        }
    }

    /// Operators whose results depend on several elements.
    fn across_elements(&self, builder: &mut Builder) -> Result<Operand, String> {
        let (node, kind) = (self.node, self.node.op_type);
        let input = self.input(0)?;
        match kind {
            "MatMul" => matmul::matmul(builder, input, self.input(1)?),
            "Gemm" => {
                let gemm = Gemm {
                    alpha: node.float("alpha").unwrap_or(1.0),
                    beta: node.float("beta").unwrap_or(1.0),
                    transposes_one: node.flag("transA"),
                    transposes_other: node.flag("transB"),
                };
                matmul::gemm(builder, gemm, input, self.input(1)?, self.optional(2))
            }
            "BatchNormalization" => {
                if node.flag("training_mode") || node.int("spatial").is_some_and(|spatial| spatial != 1) {
                    return Err("BatchNormalization in training mode, or not by channel".to_owned());
                }
                let parameters = [self.input(1)?, self.input(2)?, self.input(3)?, self.input(4)?];
                normalization::batch(builder, input, parameters, node.float("epsilon").unwrap_or(1e-5))
            }
            "Softmax" => {
                let over_rest = self.opset < 13;
                let found = node.int("axis").unwrap_or(if over_rest { 1 } else { -1 });
                normalization::softmax(builder, input, axis(kind, found, input.shape.len())?, over_rest)
            }
            "ArgMax" => {
                let axis = axis(kind, node.int("axis").unwrap_or(0), input.shape.len())?;
                let keep = node.int("keepdims") != Some(0);
                reduction::arg_max(builder, input, axis, keep, node.flag("select_last_index"))
            }
            _ => {
                // The axes of ReduceSum became an input five versions before those of ReduceMean.
                let are_input = self.opset >= if kind == "ReduceSum" { 13 } else { 18 };
                let found = match self.optional(1) {
                    Some(input) if are_input => constant_ints(builder, kind, input)?,
                    Some(_) => return Err(format!("{kind} with two inputs")),
                    None => node.ints("axes").to_vec(),
                };
                let found = match found[..] {
                    [] if are_input && node.flag("noop_with_empty_axes") => return Ok(input.clone()),
                    [] => (0..input.shape.len()).collect(),
                    _ => axes(kind, &found, input.shape.len())?,
                };
                reduction::reduce(builder, kind, input, &found, node.int("keepdims") != Some(0))
            }
        }
    }

    /// Operators that copy or rearrange elements.
    fn layout(&self, builder: &mut Builder) -> Result<Operand, String> {
        let (node, kind) = (self.node, self.node.op_type);
        let input = self.input(0)?;
        let rank = input.shape.len();
        match kind {
            "Concat" => {
                let axis = axis(kind, node.int("axis").ok_or("Concat without an axis")?, rank)?;
                selection::concat(builder, &self.every()?, axis)
            }
            "Gather" => {
                let axis = axis(kind, node.int("axis").unwrap_or(0), rank)?;
                selection::gather(builder, kind, input, self.input(1)?, axis)
            }
            "ArrayFeatureExtractor" => {
                // Indices are a list, whatever their shape; a row without a dimension for rows gets one.
                let input = if rank == 1 { input.reshaped(vec![1, input.size()])? } else { input.clone() };
                let indices = self.input(1)?;
                let indices = indices.reshaped(vec![indices.size()])?;
                let last = input.shape.len().saturating_sub(1);
                selection::gather(builder, kind, &input, &indices, last)
            }
            "Reshape" => {
                let shape = constant_ints(builder, kind, self.input(1)?)?;
                input.reshaped(reshape(&input.shape, &shape, node.flag("allowzero"))?)
            }
            "Flatten" => {
                let at = node.int("axis").unwrap_or(1);
                let at = if usize::try_from(at) == Ok(rank) { rank } else { axis(kind, at, rank)? };
                let (rows, columns) = input.shape.split_at(at);
                input.reshaped(vec![rows.iter().product(), columns.iter().product()])
            }
            "Squeeze" | "Unsqueeze" => {
                let found = match self.optional(1) {
                    Some(input) if self.opset >= 13 => Some(constant_ints(builder, kind, input)?),
                    Some(_) => return Err(format!("{kind} with two inputs")),
                    None => node.attribute("axes").map(|axes| axes.ints.clone()),
                };
                let shape = if kind == "Squeeze" {
                    attributes::squeeze(&input.shape, found.as_deref())?
                } else {
                    attributes::unsqueeze(&input.shape, &found.ok_or("Unsqueeze without axes")?)?
                };
                input.reshaped(shape)
            }
            _ => Ok(input.clone()),
        }
    }

    /// `Dropout`, which drops nothing outside of training. Its mask is true everywhere.
    fn dropout(&self, builder: &mut Builder) -> Result<Outputs, String> {
        let input = self.input(0)?.clone();
        let number = |index: usize, absent: f64| match self.optional(index) {
            Some(operand) => builder.value(operand).and_then(|value| value.number(0)),
            None => Some(absent),
        };
        if number(2, 0.0) != Some(0.0) && number(1, 0.5) != Some(0.0) {
            return Err("Dropout in training mode".to_owned());
        }
        if self.node.outputs.get(1).is_none_or(|name| name.is_empty()) {
            return Ok(vec![Some(input)]);
        }
        let mask = builder.ones(ElementType::Bool, input.shape.clone())?;
        Ok(vec![Some(input), Some(mask)])
    }
}

/// Fewest and most inputs of an operator, and most outputs.
fn arity(kind: &str) -> (usize, usize, usize) {
    match kind {
        "Constant" => (0, 0, 1),
        "Sum" | "Max" | "Min" | "Concat" => (1, usize::MAX, 1),
        "Add"
        | "Sub"
        | "Mul"
        | "Div"
        | "Pow"
        | "Equal"
        | "Greater"
        | "Less"
        | "MatMul"
        | "Gather"
        | "ArrayFeatureExtractor"
        | "Reshape" => (2, 2, 1),
        "Gemm" => (2, 3, 1),
        "Where" => (3, 3, 1),
        "Clip" => (1, 3, 1),
        "Dropout" => (1, 3, 2),
        "BatchNormalization" => (5, 5, 1),
        "Squeeze" | "Unsqueeze" | "ReduceSum" | "ReduceMean" => (1, 2, 1),
        "TreeEnsembleClassifier" | "LinearClassifier" => (1, 1, 2),
        _ => (1, 1, 1),
    }
}

#[cfg(test)]
mod tests;
