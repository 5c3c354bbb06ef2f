//! `MatMul` and `Gemm`.

use crate::elementwise::{self, Arithmetic};
use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::strides::{self, Walk};
use crate::tensor::{self, ElementType, TensorData, TensorType};

/// Products of matrices.
#[derive(Debug)]
struct MatMul {
    /// Walk over the pairs of matrices.
    batch: Walk<2>,
    /// Rows of the result, columns of the result, and length of the sums.
    rows: usize,
    columns: usize,
    length: usize,
    /// Distance between rows and between columns, of both.
    one: [usize; 2],
    other: [usize; 2],
}

impl MatMul {
    fn multiply<T: Carrier>(&self, one: &[T], other: &[T], into: &mut [T], add: impl Fn(T, T, T) -> T) {
        into.fill(T::default());
        for (row, into) in into.chunks_exact_mut(self.columns.max(1)).enumerate() {
            for index in 0..self.length {
                let factor = one.get(row * self.one[0] + index * self.one[1]).copied().unwrap_or_default();
                // Weights lie row by row, so that the inner loop runs over neighbors.
                let others = other.get(index * self.other[0]..).unwrap_or_default();
                if self.other[1] == 1 {
                    for (into, other) in into.iter_mut().zip(others) {
                        *into = add(*into, factor, *other);
                    }
                } else {
                    for (into, other) in into.iter_mut().zip(others.iter().step_by(self.other[1].max(1))) {
                        *into = add(*into, factor, *other);
                    }
                }
            }
        }
    }

    fn compute<T: Carrier>(&self, inputs: Inputs<'_>, into: &mut [T], add: impl Fn(T, T, T) -> T) {
        let (one, other) = (inputs.elements::<T>(0), inputs.elements::<T>(1));
        let mut results = into.chunks_exact_mut((self.rows * self.columns).max(1));
        let [one_step, other_step] = self.batch.steps();
        self.batch.each(|[one_at, other_at]| {
            for index in 0..self.batch.length() {
                let one = one.get(one_at + index * one_step..).unwrap_or_default();
                let other = other.get(other_at + index * other_step..).unwrap_or_default();
                if let Some(into) = results.next() {
                    self.multiply(one, other, into, &add);
                }
            }
        });
    }
}

impl Kernel for MatMul {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs, into, |sum, one: f32, other| sum + one * other),
            TensorData::F64(into) => self.compute(inputs, into, |sum, one: f64, other| sum + one * other),
            TensorData::Int(into) => {
                self.compute(inputs, into, |sum, one: i128, other| sum.wrapping_add(one.wrapping_mul(other)));
            }
        }
        Ok(())
    }
}

fn check_types(kind: &str, one: &Operand, other: &Operand) -> Result<(), String> {
    if one.element != other.element || one.element == ElementType::Bool {
        return Err(format!("{kind} of types {} and {}", one.element.name(), other.element.name()));
    }
    Ok(())
}

/// Adds `MatMul`: products of the last two dimensions; the others are broadcast.
pub(crate) fn matmul(builder: &mut Builder, one: &Operand, other: &Operand) -> Result<Operand, String> {
    check_types("MatMul", one, other)?;
    let wrong = || format!("MatMul of shapes {:?} and {:?}", one.shape, other.shape);
    let (mut left, mut right) = (one.shape.clone(), other.shape.clone());
    if left.is_empty() || right.is_empty() {
        return Err(wrong());
    }
    if left.len() == 1 {
        left.insert(0, 1);
    }
    if right.len() == 1 {
        right.push(1);
    }
    let (left_batch, left) = left.split_at(left.len() - 2);
    let (right_batch, right) = right.split_at(right.len() - 2);
    let (&[rows, length], &[other_length, columns]) = (left, right) else { return Err(wrong()) };
    let batch =
        strides::broadcast(left_batch, right_batch).filter(|_| length == other_length).ok_or_else(wrong)?;
    let scaled = |from: &[usize], size: usize| -> Vec<usize> {
        strides::broadcasting(from, &batch).iter().map(|stride| stride * size).collect()
    };
    let strides = (scaled(left_batch, rows * length), scaled(right_batch, length * columns));
    let kernel = MatMul {
        batch: Walk::new(&batch, [&strides.0, &strides.1]),
        rows,
        columns,
        length,
        one: [length, 1],
        other: [columns, 1],
    };
    let work = tensor::size(&batch).saturating_mul(rows).saturating_mul(length).saturating_mul(columns);
    let mut shape = batch;
    if one.shape.len() > 1 {
        shape.push(rows);
    }
    if other.shape.len() > 1 {
        shape.push(columns);
    }
    builder.push(Box::new(kernel), &[one, other], one.element, shape, work)
}

/// Parameters of `Gemm`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm {
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    pub(crate) transposes_one: bool,
    pub(crate) transposes_other: bool,
}

/// Adds `Gemm`: the product of two matrices times a factor, and a third matrix times another.
pub(crate) fn gemm(
    builder: &mut Builder,
    gemm: Gemm,
    one: &Operand,
    other: &Operand,
    added: Option<&Operand>,
) -> Result<Operand, String> {
    check_types("Gemm", one, other)?;
    let wrong = || format!("Gemm of shapes {:?} and {:?}", one.shape, other.shape);
    let oriented = |operand: &Operand, is_transposed: bool| match operand.shape[..] {
        [rows, columns] if is_transposed => Ok(([columns, rows], [1, columns])),
        [rows, columns] => Ok(([rows, columns], [columns, 1])),
        _ => Err(wrong()),
    };
    // Weights are transposed once, when the file is loaded.
    let (other, is_transposed) = match builder.value(other).filter(|_| gemm.transposes_other) {
        Some(_) => (transposed(builder, other)?, false),
        None => (other.clone(), gemm.transposes_other),
    };
    let ([rows, length], one_strides) = oriented(one, gemm.transposes_one)?;
    let ([other_length, columns], other_strides) = oriented(&other, is_transposed)?;
    if length != other_length {
        return Err(wrong());
    }
    let batch = Walk::new(&[], [&[], &[]]);
    let kernel = MatMul { batch, rows, columns, length, one: one_strides, other: other_strides };
    let work = rows.saturating_mul(length).saturating_mul(columns);
    let product = builder.push(Box::new(kernel), &[one, &other], one.element, vec![rows, columns], work)?;
    let product = scaled(builder, &product, gemm.alpha)?;
    let Some(added) = added.filter(|_| gemm.beta != 0.0) else { return Ok(product) };
    check_types("Gemm", &product, added)?;
    let added = scaled(builder, added, gemm.beta)?;
    let sum = elementwise::arithmetic(builder, "Gemm", Arithmetic::Add, &[product, added.clone()])?;
    if sum.shape == [rows, columns] {
        Ok(sum)
    } else {
        Err(format!("Gemm adds a tensor of shape {:?} to one of shape {:?}", added.shape, [rows, columns]))
    }
}

/// Operand times a factor.
#[expect(clippy::float_cmp, reason = "exactly 1 changes nothing")]
fn scaled(builder: &mut Builder, operand: &Operand, factor: f32) -> Result<Operand, String> {
    if factor == 1.0 {
        return Ok(operand.clone());
    }
    if !operand.element.is_float() {
        return Err(format!("Gemm of type {} with the factor {factor}", operand.element.name()));
    }
    let of = TensorType { element: ElementType::F32, shape: Vec::new() };
    let factor = builder.constant(of, TensorData::F32(vec![factor]));
    let factor = builder.cast(&factor, operand.element)?;
    elementwise::arithmetic(builder, "Gemm", Arithmetic::Mul, &[operand.clone(), factor])
}

/// Matrix with its rows and columns exchanged.
#[derive(Debug)]
struct Transpose {
    columns: usize,
}

impl Transpose {
    fn compute<T: Carrier>(&self, from: &[T], into: &mut [T]) {
        let transposed = (0..self.columns).flat_map(|column| from.iter().skip(column).step_by(self.columns));
        for (into, from) in into.iter_mut().zip(transposed) {
            *into = *from;
        }
    }
}

impl Kernel for Transpose {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs.elements(0), into),
            TensorData::F64(into) => self.compute(inputs.elements(0), into),
            TensorData::Int(into) => self.compute(inputs.elements(0), into),
        }
        Ok(())
    }
}

fn transposed(builder: &mut Builder, operand: &Operand) -> Result<Operand, String> {
    let &[rows, columns] = &operand.shape[..] else {
        return Err(format!("Gemm of a tensor of shape {:?}", operand.shape));
    };
    builder.fold(&Transpose { columns }, &[operand], operand.element, vec![columns, rows])
}
