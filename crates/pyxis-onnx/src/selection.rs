//! `Concat`, `Gather` and `ArrayFeatureExtractor`: operators that copy elements.

use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::tensor::{self, ElementType, TensorData};

#[derive(Debug)]
struct Concat {
    /// Number of neighboring elements copied from each input in turn.
    chunks: Vec<usize>,
}

#[derive(Debug)]
struct Gather {
    /// Length of the dimension to select from, and the size of what follows it.
    length: usize,
    inner: usize,
}

impl Concat {
    fn compute<T: Carrier>(&self, inputs: Inputs<'_>, into: &mut [T]) {
        let row: usize = self.chunks.iter().sum();
        for (index, into) in into.chunks_exact_mut(row.max(1)).enumerate() {
            let mut rest = into;
            for (input, chunk) in self.chunks.iter().enumerate() {
                let (part, after) = rest.split_at_mut(*chunk);
                for (into, from) in
                    part.iter_mut().zip(inputs.elements::<T>(input).iter().skip(index * chunk))
                {
                    *into = *from;
                }
                rest = after;
            }
        }
    }
}

impl Kernel for Concat {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs, into),
            TensorData::F64(into) => self.compute(inputs, into),
            TensorData::Int(into) => self.compute(inputs, into),
        }
        Ok(())
    }
}

/// Position of an index; negative ones count from the end.
fn position(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index + i128::try_from(length).ok()? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

impl Gather {
    fn compute<T: Carrier>(&self, inputs: Inputs<'_>, into: &mut [T]) -> Result<(), EvaluationError> {
        let (from, indices) = (inputs.elements::<T>(0), inputs.elements::<i128>(1));
        let inner = self.inner.max(1);
        let mut into = into.chunks_exact_mut(inner);
        for block in from.chunks_exact((self.length * inner).max(1)) {
            for index in indices {
                let position = position(*index, self.length).ok_or_else(|| {
                    EvaluationError(format!("the model chooses element {index} of {}", self.length))
                })?;
                if let (Some(into), Some(from)) = (into.next(), block.chunks_exact(inner).nth(position)) {
                    into.copy_from_slice(from);
                }
            }
        }
        Ok(())
    }
}

impl Kernel for Gather {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs, into),
            TensorData::F64(into) => self.compute(inputs, into),
            TensorData::Int(into) => self.compute(inputs, into),
        }
    }
}

/// Adds `Concat` along one dimension, of inputs with a common type.
pub(crate) fn concat(builder: &mut Builder, inputs: &[Operand], axis: usize) -> Result<Operand, String> {
    let Some(first) = inputs.first() else { return Err("Concat without inputs".to_owned()) };
    let mut element = first.element;
    let mut shape = first.shape.clone();
    shape[axis] = 0;
    for input in inputs {
        let others = |shape: &[usize]| {
            [&shape[..axis.min(shape.len())], shape.get(axis + 1..).unwrap_or_default()].concat()
        };
        if input.shape.len() != shape.len() || others(&input.shape) != others(&shape) {
            return Err(format!(
                "Concat of shapes {:?} and {:?} along axis {axis}",
                first.shape, input.shape
            ));
        }
        shape[axis] += input.shape[axis];
        element = element
            .common(input.element)
            .ok_or_else(|| format!("Concat of types {} and {}", element.name(), input.element.name()))?;
    }
    let cast = inputs.iter().map(|input| builder.cast(input, element)).collect::<Result<Vec<_>, _>>()?;
    let chunks = inputs.iter().map(|input| tensor::size(&input.shape[axis..])).collect();
    builder.push(Box::new(Concat { chunks }), &cast.iter().collect::<Vec<_>>(), element, shape, 0)
}

/// Adds `Gather` along one dimension. Indices that are weights are checked when the file is loaded.
pub(crate) fn gather(
    builder: &mut Builder,
    kind: &str,
    input: &Operand,
    indices: &Operand,
    axis: usize,
) -> Result<Operand, String> {
    if indices.element.is_float() || indices.element == ElementType::Bool {
        return Err(format!("{kind} with indices of type {}", indices.element.name()));
    }
    let Some((length, rest)) = input.shape.get(axis..).and_then(|rest| rest.split_first()) else {
        return Err(format!("{kind} of a scalar"));
    };
    if let Some(value) = builder.value(indices) {
        let wrong = i128::typed_elements(value).iter().find(|index| position(**index, *length).is_none());
        if let Some(index) = wrong {
            return Err(format!("{kind} chooses element {index} of {length}"));
        }
    }
    let shape = [&input.shape[..axis], &indices.shape, rest].concat();
    let kernel = Gather { length: *length, inner: tensor::size(rest) };
    builder.push(Box::new(kernel), &[input, indices], input.element, shape, 0)
}
