//! Operators that compute each element on its own, with inputs broadcast to one shape.

mod number;
mod unary;

pub(crate) use unary::{Unary, unary};

use number::Number;

use crate::kernel::{Carrier, EvaluationError, Inputs, Kernel};
use crate::plan::{Builder, Operand};
use crate::strides::{self, Walk};
use crate::tensor::{ElementType, TensorData};

/// Operator of two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Max,
    Min,
}

/// Operator that compares two elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Comparison {
    Equal,
    Greater,
    Less,
}

#[derive(Debug)]
struct Binary {
    operation: Arithmetic,
    walk: Walk<2>,
}

#[derive(Debug)]
struct Compare {
    operation: Comparison,
    walk: Walk<2>,
}

/// `Where`.
#[derive(Debug)]
struct Select {
    walk: Walk<3>,
}

/// Computes `call` of two broadcast inputs. Offsets come from shapes that were checked when the walk was made.
fn zip<T: Copy, U>(walk: &Walk<2>, one: &[T], other: &[T], into: &mut [U], call: impl Fn(T, T) -> U) {
    let length = walk.length();
    let mut rows = into.chunks_exact_mut(length.max(1));
    walk.each(|[one_at, other_at]| {
        let (Some(row), Some(one), Some(other)) = (rows.next(), one.get(one_at..), other.get(other_at..))
        else {
            return;
        };
        match (walk.steps(), one, other) {
            ([1, 1], ..) => {
                for ((into, one), other) in row.iter_mut().zip(one).zip(other) {
                    *into = call(*one, *other);
                }
            }
            ([1, 0], _, [other, ..]) => {
                for (into, one) in row.iter_mut().zip(one) {
                    *into = call(*one, *other);
                }
            }
            ([0, 1], [one, ..], _) => {
                for (into, other) in row.iter_mut().zip(other) {
                    *into = call(*one, *other);
                }
            }
            ([one_step, other_step], ..) => {
                let one = one.iter().step_by(one_step.max(1));
                let other = other.iter().step_by(other_step.max(1));
                for ((into, one), other) in row.iter_mut().zip(one).zip(other) {
                    *into = call(*one, *other);
                }
            }
        }
    });
}

impl Binary {
    fn compute<T: Number>(&self, inputs: Inputs<'_>, into: &mut [T]) -> Result<(), EvaluationError> {
        let (one, other) = (inputs.elements::<T>(0), inputs.elements::<T>(1));
        let walk = &self.walk;
        match self.operation {
            Arithmetic::Add => zip(walk, one, other, into, T::add),
            Arithmetic::Sub => zip(walk, one, other, into, T::sub),
            Arithmetic::Mul => zip(walk, one, other, into, T::mul),
            Arithmetic::Div => {
                if !other.iter().all(|divisor| divisor.can_divide()) {
                    return Err(EvaluationError("the model divides an integer by zero".to_owned()));
                }
                zip(walk, one, other, into, T::div);
            }
            Arithmetic::Pow => zip(walk, one, other, into, T::pow),
            Arithmetic::Max => zip(walk, one, other, into, T::max),
            Arithmetic::Min => zip(walk, one, other, into, T::min),
        }
        Ok(())
    }
}

impl Kernel for Binary {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs, into),
            TensorData::F64(into) => self.compute(inputs, into),
            TensorData::Int(into) => self.compute(inputs, into),
        }
    }
}

impl Compare {
    fn compute<T: Carrier>(&self, inputs: Inputs<'_>, into: &mut [i128]) {
        let (one, other) = (inputs.elements::<T>(0), inputs.elements::<T>(1));
        match self.operation {
            Comparison::Equal => zip(&self.walk, one, other, into, |one, other| i128::from(one == other)),
            Comparison::Greater => zip(&self.walk, one, other, into, |one, other| i128::from(one > other)),
            Comparison::Less => zip(&self.walk, one, other, into, |one, other| i128::from(one < other)),
        }
    }
}

impl Kernel for Compare {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        let into = i128::of_mut(output);
        match inputs.data(0) {
            Some(TensorData::F32(_)) => self.compute::<f32>(inputs, into),
            Some(TensorData::F64(_)) => self.compute::<f64>(inputs, into),
            Some(TensorData::Int(_)) => self.compute::<i128>(inputs, into),
            None => {}
        }
        Ok(())
    }
}

impl Select {
    fn compute<T: Carrier>(&self, inputs: Inputs<'_>, into: &mut [T]) {
        let conditions = inputs.elements::<i128>(0);
        let (yes, no) = (inputs.elements::<T>(1), inputs.elements::<T>(2));
        let [condition_step, yes_step, no_step] = self.walk.steps();
        let mut rows = into.chunks_exact_mut(self.walk.length().max(1));
        self.walk.each(|[condition_at, yes_at, no_at]| {
            for (step, into) in rows.next().into_iter().flatten().enumerate() {
                let condition = conditions.get(condition_at + step * condition_step);
                let chosen = if condition.is_some_and(|condition| *condition != 0) {
                    yes.get(yes_at + step * yes_step)
                } else {
                    no.get(no_at + step * no_step)
                };
                *into = chosen.copied().unwrap_or_default();
            }
        });
    }
}

impl Kernel for Select {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        match output {
            TensorData::F32(into) => self.compute(inputs, into),
            TensorData::F64(into) => self.compute(inputs, into),
            TensorData::Int(into) => self.compute(inputs, into),
        }
        Ok(())
    }
}

fn common_shape(kind: &str, one: &Operand, other: &Operand) -> Result<Vec<usize>, String> {
    strides::broadcast(&one.shape, &other.shape)
        .ok_or_else(|| format!("{kind} of shapes {:?} and {:?}", one.shape, other.shape))
}

/// Both inputs as their common type.
fn common_type(
    builder: &mut Builder,
    kind: &str,
    one: &Operand,
    other: &Operand,
) -> Result<(ElementType, [Operand; 2]), String> {
    let element = one
        .element
        .common(other.element)
        .ok_or_else(|| format!("{kind} of types {} and {}", one.element.name(), other.element.name()))?;
    Ok((element, [builder.cast(one, element)?, builder.cast(other, element)?]))
}

fn walk(one: &Operand, other: &Operand, shape: &[usize]) -> Walk<2> {
    let strides = [one, other].map(|operand| strides::broadcasting(&operand.shape, shape));
    Walk::new(shape, [&strides[0], &strides[1]])
}

/// Adds an arithmetic operator of two or more inputs to the plan.
pub(crate) fn arithmetic(
    builder: &mut Builder,
    kind: &str,
    operation: Arithmetic,
    inputs: &[Operand],
) -> Result<Operand, String> {
    let Some((first, others)) = inputs.split_first() else { return Err(format!("{kind} without inputs")) };
    if inputs.iter().any(|input| input.element == ElementType::Bool) {
        return Err(format!("{kind} of booleans"));
    }
    let mut result = first.clone();
    for other in others {
        let shape = common_shape(kind, &result, other)?;
        let (element, [one, other]) = common_type(builder, kind, &result, other)?;
        let kernel = Binary { operation, walk: walk(&one, &other, &shape) };
        result = builder.push(Box::new(kernel), &[&one, &other], element, shape, 0)?;
    }
    Ok(result)
}

/// Adds `Pow`. The result has the type of the base; powers of mixed types are computed in double precision.
pub(crate) fn power(builder: &mut Builder, base: &Operand, exponent: &Operand) -> Result<Operand, String> {
    if [base, exponent].iter().any(|input| input.element == ElementType::Bool) {
        return Err("Pow of booleans".to_owned());
    }
    let work = match base.element.common(exponent.element) {
        Some(common) => common,
        // Signed and unsigned integers have the same representation.
        None if !base.element.is_float() && !exponent.element.is_float() => base.element,
        None => ElementType::F64,
    };
    let shape = common_shape("Pow", base, exponent)?;
    let one = builder.cast(base, work)?;
    let other = if work.is_float() { builder.cast(exponent, work)? } else { exponent.clone() };
    let kernel = Binary { operation: Arithmetic::Pow, walk: walk(&one, &other, &shape) };
    let result = builder.push(Box::new(kernel), &[&one, &other], work, shape, 0)?;
    builder.cast(&result, base.element)
}

/// Adds a comparison to the plan.
pub(crate) fn comparison(
    builder: &mut Builder,
    kind: &str,
    operation: Comparison,
    one: &Operand,
    other: &Operand,
) -> Result<Operand, String> {
    let shape = common_shape(kind, one, other)?;
    let (_, [one, other]) = common_type(builder, kind, one, other)?;
    let kernel = Compare { operation, walk: walk(&one, &other, &shape) };
    builder.push(Box::new(kernel), &[&one, &other], ElementType::Bool, shape, 0)
}

/// Adds `Where` to the plan.
pub(crate) fn select(
    builder: &mut Builder,
    condition: &Operand,
    yes: &Operand,
    no: &Operand,
) -> Result<Operand, String> {
    if condition.element != ElementType::Bool {
        return Err(format!("Where with a condition of type {}", condition.element.name()));
    }
    let shape = common_shape("Where", yes, no)?;
    let shape = strides::broadcast(&shape, &condition.shape)
        .ok_or_else(|| format!("Where of shapes {shape:?} and {:?}", condition.shape))?;
    let (element, [yes, no]) = common_type(builder, "Where", yes, no)?;
    let strides = [condition, &yes, &no].map(|operand| strides::broadcasting(&operand.shape, &shape));
    let walk = Walk::new(&shape, [&strides[0], &strides[1], &strides[2]]);
    builder.push(Box::new(Select { walk }), &[condition, &yes, &no], element, shape, 0)
}

/// Adds `Clip`: at least the lower bound, then at most the upper one.
pub(crate) fn clip(
    builder: &mut Builder,
    input: &Operand,
    lower: Option<&Operand>,
    upper: Option<&Operand>,
) -> Result<Operand, String> {
    let mut result = input.clone();
    for (operation, bound) in [(Arithmetic::Max, lower), (Arithmetic::Min, upper)] {
        let Some(bound) = bound else { continue };
        let bound = builder.cast(bound, input.element)?;
        result = arithmetic(builder, "Clip", operation, &[result, bound])?;
    }
    if result.shape != input.shape {
        return Err(format!("Clip of shape {:?} with bounds that are not single numbers", input.shape));
    }
    Ok(result)
}
