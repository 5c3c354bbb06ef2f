//! `Softmax` and `BatchNormalization`.

use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::tensor::{self, TensorData, single};

/// Softmax along one dimension of a tensor of three.
#[derive(Debug)]
struct Softmax {
    length: usize,
    inner: usize,
}

/// Multiplication by a slope and addition of an intercept, channel by channel.
#[derive(Debug)]
struct Affine {
    slopes: Vec<f64>,
    intercepts: Vec<f64>,
    inner: usize,
}

/// Float that is computed with in double precision.
trait Float: Carrier {
    fn to_f64(self) -> f64;
    fn from_f64(number: f64) -> Self;
}

impl Float for f32 {
    fn to_f64(self) -> f64 {
        self.into()
    }

    fn from_f64(number: f64) -> Self {
        single(number)
    }
}

impl Float for f64 {
    fn to_f64(self) -> f64 {
        self
    }

    fn from_f64(number: f64) -> Self {
        number
    }
}

impl Softmax {
    fn compute<T: Float>(&self, from: &[T], into: &mut [T]) {
        let block = (self.length * self.inner).max(1);
        for (from, into) in from.chunks_exact(block).zip(into.chunks_exact_mut(block)) {
            for lane in 0..self.inner {
                let numbers = || from.iter().skip(lane).step_by(self.inner).map(|number| number.to_f64());
                let most = numbers().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = numbers().map(|number| (number - most).exp()).sum();
                for (number, into) in numbers().zip(into.iter_mut().skip(lane).step_by(self.inner)) {
                    *into = T::from_f64((number - most).exp() / sum);
                }
            }
        }
    }
}

impl Kernel for Softmax {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs.elements(0), into),
            TensorData::F64(into) => self.compute(inputs.elements(0), into),
            TensorData::Int(_) => {}
        }
        Ok(())
    }
}

impl Affine {
    fn compute<T: Float>(&self, from: &[T], into: &mut [T]) {
        let channels = self.slopes.iter().zip(&self.intercepts).cycle();
        let inner = self.inner.max(1);
        for ((from, into), (slope, intercept)) in
            from.chunks_exact(inner).zip(into.chunks_exact_mut(inner)).zip(channels)
        {
            for (from, into) in from.iter().zip(into) {
                *into = T::from_f64(from.to_f64() * slope + intercept);
            }
        }
    }
}

impl Kernel for Affine {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs.elements(0), into),
            TensorData::F64(into) => self.compute(inputs.elements(0), into),
            TensorData::Int(_) => {}
        }
        Ok(())
    }
}

/// Adds `Softmax`. Before version 13, it runs over all dimensions from the axis on.
pub(crate) fn softmax(
    builder: &mut Builder,
    input: &Operand,
    axis: usize,
    over_rest: bool,
) -> Result<Operand, String> {
    if !input.element.is_float() {
        return Err(format!("Softmax of type {}", input.element.name()));
    }
    let rest = input.shape.get(axis..).unwrap_or_default();
    let (length, inner) = match rest {
        _ if over_rest => (tensor::size(rest), 1),
        [length, rest @ ..] => (*length, tensor::size(rest)),
        [] => (1, 1),
    };
    let kernel = Softmax { length, inner };
    builder.push(Box::new(kernel), &[input], input.element, input.shape.clone(), input.size())
}

/// Adds `BatchNormalization`, whose parameters are weights: scale, bias, mean and variance of each channel.
pub(crate) fn batch(
    builder: &mut Builder,
    input: &Operand,
    parameters: [&Operand; 4],
    epsilon: f32,
) -> Result<Operand, String> {
    if !input.element.is_float() {
        return Err(format!("BatchNormalization of type {}", input.element.name()));
    }
    let [_, channels, rest @ ..] = &input.shape[..] else {
        return Err(format!("BatchNormalization of a tensor of shape {:?}", input.shape));
    };
    let mut numbers = [const { Vec::new() }; 4];
    for (numbers, parameter) in numbers.iter_mut().zip(parameters) {
        let data =
            builder.value(parameter).ok_or("BatchNormalization with parameters that are not weights")?;
        *numbers = (0..data.len()).filter_map(|index| data.number(index)).collect::<Vec<f64>>();
        if numbers.len() != *channels {
            return Err(format!(
                "BatchNormalization has {} parameters for {channels} channels",
                numbers.len()
            ));
        }
    }
    let [scale, bias, mean, variance] = numbers;
    let slopes: Vec<f64> = scale
        .iter()
        .zip(&variance)
        .map(|(scale, variance)| scale / (variance + f64::from(epsilon)).sqrt())
        .collect();
    let intercepts =
        slopes.iter().zip(&bias).zip(&mean).map(|((slope, bias), mean)| bias - mean * slope).collect();
    let kernel = Affine { slopes, intercepts, inner: tensor::size(rest) };
    builder.push(Box::new(kernel), &[input], input.element, input.shape.clone(), 0)
}
