//! Attributes of operators, and shapes that follow from them.

use crate::plan::{Builder, Operand};
use crate::proto::GraphNode;
use crate::tensor::{self, ElementType, TensorData, TensorType};

/// Codes of attribute types.
const FLOAT: i64 = 1;
const INT: i64 = 2;
const STRING: i64 = 3;
const TENSOR: i64 = 4;
const FLOATS: i64 = 6;
const INTS: i64 = 7;

/// Attributes and their types. Trees read only lists, which cannot be confused.
const TYPES: &[(&[&str], i64)] = &[
    (&["alpha", "beta", "gamma", "epsilon", "min", "max", "value_float", "replaced_value_float"], FLOAT),
    (
        &[
            "axis",
            "keepdims",
            "select_last_index",
            "noop_with_empty_axes",
            "allowzero",
            "to",
            "transA",
            "transB",
            "training_mode",
            "spatial",
            "value_int",
            "multi_class",
            "targets",
            "n_targets",
        ],
        INT,
    ),
    (&["norm", "post_transform", "aggregate_function"], STRING),
    (&["value"], TENSOR),
    (&["coefficients", "intercepts", "offset", "scale", "imputed_value_floats", "value_floats"], FLOATS),
    (&["axes", "value_ints"], INTS),
];

/// Checks that attributes have the types stated in the file.
pub(super) fn check_types(node: &GraphNode<'_>) -> Result<(), String> {
    for attribute in node.attributes.iter().filter(|attribute| attribute.kind != 0) {
        let expected = TYPES.iter().find(|(names, _)| names.contains(&attribute.name));
        if expected.is_some_and(|(_, kind)| *kind != attribute.kind) {
            return Err(format!("the attribute {} of {} has the wrong type", attribute.name, node.op_type));
        }
    }
    Ok(())
}

/// Dimension of an axis; negative axes count from the end.
pub(super) fn axis(kind: &str, axis: i64, rank: usize) -> Result<usize, String> {
    let from_end = || usize::try_from(axis.checked_neg()?).ok().and_then(|axis| rank.checked_sub(axis));
    let found = usize::try_from(axis).ok().or_else(from_end);
    found
        .filter(|found| *found < rank)
        .ok_or_else(|| format!("{kind} along axis {axis} of {rank} dimensions"))
}

/// Dimensions of axes, each at most once.
pub(super) fn axes(kind: &str, axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    let mut found = Vec::with_capacity(rank);
    for number in axes {
        let dimension = axis(kind, *number, rank)?;
        if found.contains(&dimension) {
            return Err(format!("{kind} with the axis {number} twice"));
        }
        found.push(dimension);
    }
    Ok(found)
}

/// Integers of an input that must be weights.
pub(super) fn constant_ints(builder: &Builder, kind: &str, operand: &Operand) -> Result<Vec<i64>, String> {
    let value = builder.value(operand);
    value
        .and_then(TensorData::ints)
        .ok_or_else(|| format!("{kind} with axes or a shape that are not integer weights"))
}

/// Shape after `Reshape`: 0 keeps a dimension, and -1 is inferred from the rest.
pub(super) fn reshape(from: &[usize], to: &[i64], allows_zero: bool) -> Result<Vec<usize>, String> {
    let wrong = || format!("Reshape of a tensor of shape {from:?} to {to:?}");
    let mut shape = Vec::with_capacity(to.len());
    let mut inferred = None;
    for (index, side) in to.iter().enumerate() {
        shape.push(match side {
            -1 if inferred.is_none() => {
                inferred = Some(index);
                1
            }
            0 if !allows_zero => *from.get(index).ok_or_else(wrong)?,
            _ => usize::try_from(*side).map_err(|_| wrong())?,
        });
    }
    if let Some(index) = inferred {
        shape[index] = tensor::size(from).checked_div(tensor::size(&shape)).ok_or_else(wrong)?;
    }
    if tensor::size(&shape) == tensor::size(from) { Ok(shape) } else { Err(wrong()) }
}

/// Shape without dimensions of length 1: these, or all.
pub(super) fn squeeze(shape: &[usize], found: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let removed = match found {
        Some(found) => axes("Squeeze", found, shape.len())?,
        None => (0..shape.len()).filter(|dimension| shape[*dimension] == 1).collect(),
    };
    if removed.iter().any(|dimension| shape[*dimension] != 1) {
        return Err(format!("Squeeze of a tensor of shape {shape:?} along {removed:?}"));
    }
    Ok((0..shape.len())
        .filter(|dimension| !removed.contains(dimension))
        .map(|dimension| shape[dimension])
        .collect())
}

/// Shape with dimensions of length 1 inserted. Axes count in the result.
pub(super) fn unsqueeze(shape: &[usize], found: &[i64]) -> Result<Vec<usize>, String> {
    if found.len() > tensor::MAX_RANK {
        return Err(format!("Unsqueeze by {} dimensions", found.len()));
    }
    let rank = shape.len() + found.len();
    let inserted = axes("Unsqueeze", found, rank)?;
    let mut rest = shape.iter().copied();
    Ok((0..rank)
        .map(|dimension| if inserted.contains(&dimension) { 1 } else { rest.next().unwrap_or(1) })
        .collect())
}

/// Value of `Constant`.
pub(super) fn constant_value(builder: &mut Builder, node: &GraphNode<'_>) -> Result<Operand, String> {
    let (of, data) = if let Some(attribute) = node.attribute("value") {
        tensor::read(attribute.t.as_ref().ok_or("Constant without a value")?)?
    } else {
        let int = |int: &i64| i128::from(*int);
        let (element, rank, data) = if let Some(value) = node.int("value_int") {
            (ElementType::I64, 0, TensorData::Int(vec![value.into()]))
        } else if let Some(value) = node.float("value_float") {
            (ElementType::F32, 0, TensorData::F32(vec![value]))
        } else if let Some(attribute) = node.attribute("value_ints") {
            (ElementType::I64, 1, TensorData::Int(attribute.ints.iter().map(int).collect()))
        } else if let Some(attribute) = node.attribute("value_floats") {
            (ElementType::F32, 1, TensorData::F32(attribute.floats.clone()))
        } else {
            return Err("Constant without a number".to_owned());
        };
        (TensorType { element, shape: vec![data.len(); rank] }, data)
    };
    Ok(builder.constant(of, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(axis("X", -1, 2), Ok(1));
        assert_eq!(axis("X", 0, 2), Ok(0));
        for wrong in [2, -3, i64::MIN, i64::MAX] {
            assert!(axis("X", wrong, 2).is_err(), "{wrong}");
        }
        assert!(axes("X", &[0, -2], 2).is_err(), "twice the same");
    }

    #[test]
    fn a_shape_keeps_zeros_and_infers_one_side() {
        assert_eq!(reshape(&[2, 3], &[-1], false), Ok(vec![6]));
        assert_eq!(reshape(&[2, 3], &[0, 1, -1], false), Ok(vec![2, 1, 3]));
        assert_eq!(reshape(&[0, 3], &[3, 0], true), Ok(vec![3, 0]));
        for (wrong, allows_zero) in [
            (vec![-1, -1], false),
            (vec![4, -1], false),
            (vec![0, -1], true),
            (vec![-2], false),
            (vec![1, 2, 3, 0], false),
        ] {
            assert!(reshape(&[2, 3], &wrong, allows_zero).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn dimensions_of_one_come_and_go() {
        assert_eq!(unsqueeze(&[3], &[0, -1]), Ok(vec![1, 3, 1]));
        assert_eq!(squeeze(&[1, 3, 1], None), Ok(vec![3]));
        assert_eq!(squeeze(&[1, 3, 1], Some(&[-1])), Ok(vec![1, 3]));
        assert!(squeeze(&[1, 3], Some(&[1])).is_err());
        assert!(unsqueeze(&[3], &[0; 100]).is_err());
    }
}
