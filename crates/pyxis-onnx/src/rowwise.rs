//! Operators that compute each row of a table on its own.

use std::fmt::Debug;

use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::tensor::{ElementType, TensorData};

/// Computation of one row from another.
pub(crate) trait Rowwise: Debug + Send + Sync + 'static {
    /// Minimum number of features in a row.
    fn features(&self) -> usize;

    /// True if a row must have exactly that number.
    fn is_exact(&self) -> bool {
        false
    }

    /// Number of columns for rows with this many features.
    fn columns(&self, features: usize) -> usize;

    /// Number of operations for a row beyond one for each column.
    fn work(&self) -> usize {
        0
    }

    /// Computes a row. It has enough features, and `into` has its columns.
    fn compute(&self, row: &[f32], into: &mut [f32]);
}

#[derive(Debug)]
struct ByRow<R> {
    rowwise: R,
    features: usize,
    columns: usize,
}

impl<R: Rowwise> Kernel for ByRow<R> {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        let rows = inputs.elements::<f32>(0).chunks_exact(self.features.max(1));
        for (row, into) in rows.zip(f32::of_mut(output).chunks_exact_mut(self.columns.max(1))) {
            self.rowwise.compute(row, into);
        }
        Ok(())
    }
}

/// Adds an operator to the plan. A single row without a dimension for rows gets one.
pub(crate) fn rowwise(
    builder: &mut Builder,
    kind: &str,
    rowwise: impl Rowwise,
    input: &Operand,
) -> Result<Operand, String> {
    let (rows, features) = match input.shape[..] {
        [features] => (1, features),
        [rows, features] => (rows, features),
        _ => return Err(format!("{kind} of a tensor of shape {:?}", input.shape)),
    };
    let needed = rowwise.features();
    if features < needed || rowwise.is_exact() && features != needed {
        return Err(format!("{kind} reads {needed} features, but its input has {features}"));
    }
    let input = builder.cast(input, ElementType::F32)?;
    let (columns, work) = (rowwise.columns(features), rowwise.work().saturating_mul(rows));
    let kernel = ByRow { rowwise, features, columns };
    builder.push(Box::new(kernel), &[&input], ElementType::F32, vec![rows, columns], work)
}
