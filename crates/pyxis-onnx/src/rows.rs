//! What answers row by row, as an operator of the library.

use std::fmt::Debug;
use std::sync::Arc;

use tract_onnx::tract_hir::internal::{
    Datum, EvalContext, EvalOp, Expansion, InferenceOp, InferenceResult, IntoTValue, Op, OutletId, Solver,
    SpecialOps, StaticName, TValue, TVec, Tensor, TensorProxy, ToDim, TractResult, TypedFact, TypedModel,
    TypedOp, args_1, as_op, bail, check_input_arity, check_output_arity, expand, op_as_typed_op,
    op_out_of_plan, tvec,
};
use tract_onnx::tract_hir::internal::{DatumExt as _, DimLike as _};

/// What makes one row of another.
pub(crate) trait Rows: Debug + Send + Sync + 'static {
    /// Features that a row must have at least.
    fn features(&self) -> usize;

    /// Whether it must have exactly as many.
    fn exact(&self) -> bool {
        false
    }

    /// Columns of the answer to rows of so many features.
    fn columns(&self, features: usize) -> usize;

    /// The answer to a row with enough features, behind what is there.
    fn answer(&self, row: &[f32], into: &mut Vec<f32>);
}

/// The operator that answers as `rows` does.
pub(crate) fn operator(rows: impl Rows) -> Box<dyn InferenceOp> {
    expand(ByRow(Arc::new(rows)))
}

#[derive(Clone, Debug)]
struct ByRow(Arc<dyn Rows>);

impl PartialEq for ByRow {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ByRow {}

impl ByRow {
    fn check(&self, features: usize) -> TractResult<()> {
        let needed = self.0.features();
        if features < needed || self.0.exact() && features != needed {
            bail!("an operator looks at {needed} numbers where {features} are");
        }
        Ok(())
    }
}

impl Expansion for ByRow {
    fn name(&self) -> StaticName {
        "ByRow".into()
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        solver: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> InferenceResult {
        check_input_arity(inputs, 1)?;
        check_output_arity(outputs, 1)?;
        solver.equals(&inputs[0].rank, 2)?;
        solver.equals(&outputs[0].rank, 2)?;
        solver.equals(&outputs[0].datum_type, f32::datum_type())?;
        solver.equals(&outputs[0].shape[0], &inputs[0].shape[0])?;
        solver.given(&inputs[0].shape[1], move |solver, features| {
            let columns = self.0.columns(features.to_usize()?);
            solver.equals(&outputs[0].shape[1], columns.to_dim())
        })
    }

    fn wire(&self, prefix: &str, model: &mut TypedModel, inputs: &[OutletId]) -> TractResult<TVec<OutletId>> {
        model.wire_node(prefix, self.clone(), inputs)
    }
}

impl Op for ByRow {
    fn name(&self) -> StaticName {
        "ByRow".into()
    }

    op_as_typed_op!();
}

impl EvalOp for ByRow {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let input = args_1!(inputs);
        let &[rows, features] = input.shape() else { bail!("an operator needs a table") };
        self.check(features)?;
        let input = input.cast_to::<f32>()?;
        let plain = input.try_as_plain_ram()?;
        let numbers = plain.as_slice::<f32>()?;
        let columns = self.0.columns(features);
        let mut answers = Vec::with_capacity(rows * columns);
        for row in numbers.chunks(features.max(1)) {
            self.0.answer(row, &mut answers);
        }
        Ok(tvec!(Tensor::from_shape(&[rows, columns], &answers)?.into_tvalue()))
    }
}

impl TypedOp for ByRow {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let &[rows, features] = inputs[0].shape.as_concrete().unwrap_or_default() else {
            bail!("an operator needs a table of known size")
        };
        self.check(features)?;
        Ok(tvec!(f32::fact([rows, self.0.columns(features)])))
    }

    as_op!();
}
