//! The operators that a model may use, and those of them that the library has from this crate.

use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::tract_hir::internal::{InferenceOp, TractResult, format_err};

use crate::rows::{self, Rows};
use crate::shaping::{Imputer, Scaler};
use crate::trees::Trees;

/// Operators that are supported, of `ai.onnx` and `ai.onnx.ml`. None of them loops, or makes more of its
/// input than its weights say.
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

/// The name of trees, of both kinds, once they are looked through.
pub(crate) const TREES: &str = "PyxisTrees";

/// Teaches the library what it does not know or does not do carefully.
pub(crate) fn teach(library: &mut Onnx) {
    library.op_register.insert(TREES, trees);
    library.op_register.insert("Scaler", |_, node| wrapped(Scaler::read(node)));
    library.op_register.insert("Imputer", |_, node| wrapped(Imputer::read(node)));
}

/// What the library makes of a node, and the names of outputs that it adds.
type Built = TractResult<(Box<dyn InferenceOp>, Vec<String>)>;

/// The kind is written in the domain, which the library does not read.
fn trees(_: &ParsingContext, node: &NodeProto) -> Built {
    let mut node = node.clone();
    node.op_type.clone_from(&node.domain);
    wrapped(Trees::read(&node))
}

fn wrapped<R: Rows>(read: Result<R, String>) -> Built {
    let read = read.map_err(|why| format_err!("{why}"))?;
    Ok((rows::operator(read), Vec::new()))
}
