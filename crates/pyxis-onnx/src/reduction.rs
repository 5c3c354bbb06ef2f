//! `ReduceSum`, `ReduceMean` and `ArgMax`.

use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::strides::{self, Walk};
use crate::tensor::{self, ElementType, TensorData, count, single};

#[derive(Debug)]
struct Reduce {
    is_mean: bool,
    /// Walk over the remaining dimensions.
    kept: Walk<1>,
    /// Walk over the reduced dimensions.
    reduced: Walk<1>,
    /// Number of elements that become one.
    length: usize,
}

#[derive(Debug)]
struct ArgMax {
    length: usize,
    inner: usize,
    takes_last: bool,
}

/// Calls with every offset of a walk.
fn each_offset(walk: &Walk<1>, mut call: impl FnMut(usize)) {
    let [step] = walk.steps();
    walk.each(|[start]| {
        for index in 0..walk.length() {
            call(start + index * step);
        }
    });
}

impl Reduce {
    fn compute<T: Carrier, S: Default>(
        &self,
        from: &[T],
        into: &mut [T],
        add: impl Fn(&mut S, T),
        finish: impl Fn(S) -> T,
    ) {
        let mut into = into.iter_mut();
        each_offset(&self.kept, |start| {
            let mut sum = S::default();
            each_offset(&self.reduced, |offset| {
                if let Some(number) = from.get(start + offset) {
                    add(&mut sum, *number);
                }
            });
            if let Some(into) = into.next() {
                *into = finish(sum);
            }
        });
    }
}

impl Kernel for Reduce {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        let divisor = if self.is_mean { count(self.length) } else { 1.0 };
        match output {
            TensorData::F32(into) => self.compute(
                inputs.elements::<f32>(0),
                into,
                |sum: &mut f64, number| *sum += f64::from(number),
                |sum| single(sum / divisor),
            ),
            TensorData::F64(into) => self.compute(
                inputs.elements::<f64>(0),
                into,
                |sum: &mut f64, number| *sum += number,
                |sum| sum / divisor,
            ),
            TensorData::Int(into) => {
                let divisor = if self.is_mean { i128::try_from(self.length).unwrap_or(0) } else { 1 };
                if divisor == 0 {
                    return Err(EvaluationError("the model takes the mean of no integers".to_owned()));
                }
                self.compute(
                    inputs.elements::<i128>(0),
                    into,
                    |sum: &mut i128, number| *sum = sum.wrapping_add(number),
                    |sum| sum / divisor,
                );
            }
        }
        Ok(())
    }
}

impl ArgMax {
    fn compute<T: Carrier>(&self, from: &[T], into: &mut [i128]) {
        let block = (self.length * self.inner).max(1);
        let lanes = from
            .chunks_exact(block)
            .flat_map(|block| (0..self.inner).map(|lane| block.iter().skip(lane).step_by(self.inner.max(1))));
        for (lane, into) in lanes.zip(into) {
            let mut found: Option<(i128, T)> = None;
            for (index, number) in (0..).zip(lane.copied()) {
                let is_larger =
                    found.is_none_or(|(_, most)| number > most || self.takes_last && number == most);
                if is_larger {
                    found = Some((index, number));
                }
            }
            *into = found.map_or(0, |(index, _)| index);
        }
    }
}

impl Kernel for ArgMax {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        let into = i128::of_mut(output);
        match inputs.data(0) {
            Some(TensorData::F32(from)) => self.compute(from, into),
            Some(TensorData::F64(from)) => self.compute(from, into),
            Some(TensorData::Int(from)) => self.compute(from, into),
            None => {}
        }
        Ok(())
    }
}

/// Shape without some dimensions, or with 1 in their place.
fn shape_without(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let sides = shape.iter().copied().enumerate();
    sides
        .filter_map(|(axis, side)| if axes.contains(&axis) { keep.then_some(1) } else { Some(side) })
        .collect()
}

/// Adds `ReduceSum` or `ReduceMean` over these dimensions.
pub(crate) fn reduce(
    builder: &mut Builder,
    kind: &str,
    input: &Operand,
    axes: &[usize],
    keep: bool,
) -> Result<Operand, String> {
    if input.element == ElementType::Bool {
        return Err(format!("{kind} of booleans"));
    }
    let strides = strides::row_major(&input.shape);
    let part = |reduced: bool| -> (Vec<usize>, Vec<usize>) {
        let dimensions = input.shape.iter().copied().zip(strides.iter().copied()).enumerate();
        dimensions.filter(|(axis, _)| axes.contains(axis) == reduced).map(|(_, dimension)| dimension).unzip()
    };
    let ((kept, kept_strides), (reduced, reduced_strides)) = (part(false), part(true));
    let kernel = Reduce {
        is_mean: kind == "ReduceMean",
        kept: Walk::new(&kept, [&kept_strides]),
        reduced: Walk::new(&reduced, [&reduced_strides]),
        length: tensor::size(&reduced),
    };
    let shape = shape_without(&input.shape, axes, keep);
    builder.push(Box::new(kernel), &[input], input.element, shape, input.size())
}

/// Adds `ArgMax` along one dimension. Of equal elements it selects the first or the last.
pub(crate) fn arg_max(
    builder: &mut Builder,
    input: &Operand,
    axis: usize,
    keep: bool,
    takes_last: bool,
) -> Result<Operand, String> {
    let Some((length, rest)) = input.shape.get(axis..).and_then(|rest| rest.split_first()) else {
        return Err("ArgMax of a scalar".to_owned());
    };
    if *length == 0 {
        return Err("ArgMax of no elements".to_owned());
    }
    let kernel = ArgMax { length: *length, inner: tensor::size(rest), takes_last };
    let shape = shape_without(&input.shape, &[axis], keep);
    builder.push(Box::new(kernel), &[input], ElementType::I64, shape, input.size())
}
