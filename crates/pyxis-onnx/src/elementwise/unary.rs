//! Operators of one input.

use super::number::Number;
use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::tensor::{ElementType, TensorData};

/// Operator of one number. Parameters are those of the operator's attributes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unary {
    Abs,
    Neg,
    Relu,
    Exp,
    Log,
    Sqrt,
    Reciprocal,
    Sigmoid,
    Tanh,
    Softplus,
    Elu { alpha: f32 },
    LeakyRelu { alpha: f32 },
    Selu { alpha: f32, gamma: f32 },
    IsNan,
    Not,
}

/// Float with the functions that operators use.
trait Float: Number {
    const ONE: Self;
    fn from_f32(number: f32) -> Self;
    fn is_negative(self) -> bool;
    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sqrt(self) -> Self;
    fn tanh(self) -> Self;
}

macro_rules! float {
    ($float:ty) => {
        impl Float for $float {
            const ONE: Self = 1.0;

            fn from_f32(number: f32) -> Self {
                number.into()
            }

            fn is_negative(self) -> bool {
                self < 0.0
            }

            fn exp(self) -> Self {
                <$float>::exp(self)
            }

            fn exp_m1(self) -> Self {
                <$float>::exp_m1(self)
            }

            fn ln(self) -> Self {
                <$float>::ln(self)
            }

            fn ln_1p(self) -> Self {
                <$float>::ln_1p(self)
            }

            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }

            fn tanh(self) -> Self {
                <$float>::tanh(self)
            }
        }
    };
}

float!(f32);
float!(f64);

#[derive(Debug)]
struct Map(Unary);

fn map<T: Copy, U>(from: &[T], into: &mut [U], call: impl Fn(T) -> U) {
    for (from, into) in from.iter().zip(into) {
        *into = call(*from);
    }
}

impl Map {
    fn compute<T: Float>(&self, from: &[T], into: &mut [T]) {
        let zero = T::default();
        match self.0 {
            Unary::Exp => map(from, into, T::exp),
            Unary::Log => map(from, into, T::ln),
            Unary::Sqrt => map(from, into, T::sqrt),
            Unary::Reciprocal => map(from, into, |x| T::ONE.div(x)),
            Unary::Sigmoid => map(from, into, |x: T| T::ONE.div(T::ONE.add(x.neg().exp()))),
            Unary::Tanh => map(from, into, T::tanh),
            Unary::Softplus => map(from, into, |x: T| Number::max(x, zero).add(x.abs().neg().exp().ln_1p())),
            Unary::Elu { alpha } => {
                let alpha = T::from_f32(alpha);
                map(from, into, |x: T| if x.is_negative() { alpha.mul(x.exp_m1()) } else { x });
            }
            Unary::LeakyRelu { alpha } => {
                let alpha = T::from_f32(alpha);
                map(from, into, |x: T| if x.is_negative() { alpha.mul(x) } else { x });
            }
            Unary::Selu { alpha, gamma } => {
                let (alpha, gamma) = (T::from_f32(alpha), T::from_f32(gamma));
                map(from, into, |x: T| gamma.mul(if x.is_negative() { alpha.mul(x.exp_m1()) } else { x }));
            }
            Unary::Abs | Unary::Neg | Unary::Relu => self.signed(from, into),
            Unary::IsNan | Unary::Not => {}
        }
    }

    /// Operators that also exist for integers.
    fn signed<T: Number>(&self, from: &[T], into: &mut [T]) {
        match self.0 {
            Unary::Abs => map(from, into, T::abs),
            Unary::Neg => map(from, into, T::neg),
            Unary::Relu => map(from, into, |x: T| if x < T::default() { T::default() } else { x }),
            _ => {}
        }
    }
}

impl Kernel for Map {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match (self.0, output) {
            (Unary::IsNan, output) => {
                let into = i128::of_mut(output);
                match inputs.data(0) {
                    Some(TensorData::F32(from)) => map(from, into, |x| i128::from(x.is_nan())),
                    Some(TensorData::F64(from)) => map(from, into, |x| i128::from(x.is_nan())),
                    _ => {}
                }
            }
            (Unary::Not, output) => {
                map(inputs.elements::<i128>(0), i128::of_mut(output), |x| i128::from(x == 0));
            }
            (_, TensorData::F32(into)) => self.compute(inputs.elements(0), into),
            (_, TensorData::F64(into)) => self.compute(inputs.elements(0), into),
            (_, TensorData::Int(into)) => self.signed(inputs.elements(0), into),
        }
        Ok(())
    }
}

/// Adds an operator of one input to the plan.
pub(crate) fn unary(
    builder: &mut Builder,
    kind: &str,
    operation: Unary,
    input: &Operand,
) -> Result<Operand, String> {
    let fits = match operation {
        Unary::Not => input.element == ElementType::Bool,
        Unary::Abs | Unary::Neg | Unary::Relu => input.element != ElementType::Bool,
        _ => input.element.is_float(),
    };
    if !fits {
        return Err(format!("{kind} of type {}", input.element.name()));
    }
    let element = if operation == Unary::IsNan { ElementType::Bool } else { input.element };
    builder.push(Box::new(Map(operation)), &[input], element, input.shape.clone(), 0)
}
