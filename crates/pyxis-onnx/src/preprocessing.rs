//! `Scaler`, `Imputer` and `Normalizer` of `ai.onnx.ml`.

use crate::proto::GraphNode;
use crate::rowwise::Rowwise;
use crate::tensor::single;

/// Subtracts an offset and multiplies by a scale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaler {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

/// Replaces missing values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Imputer {
    missing: f32,
    replacements: Vec<f32>,
}

/// Divides a row by its norm. A row whose norm is zero stays unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Normalizer {
    Max,
    L1,
    L2,
}

/// Parameter of a column: a single number applies to all columns.
fn parameter(numbers: &[f32], column: usize, absent: f32) -> f32 {
    match numbers {
        [] => absent,
        [all] => *all,
        each => each.get(column).copied().unwrap_or(absent),
    }
}

/// Number of columns that parameters are for; 0 for any.
const fn columns_of(numbers: &[f32]) -> usize {
    if numbers.len() > 1 { numbers.len() } else { 0 }
}

impl Scaler {
    pub(crate) fn read(node: &GraphNode<'_>) -> Result<Self, String> {
        let read = Self { offset: node.floats("offset").to_vec(), scale: node.floats("scale").to_vec() };
        let [offsets, scales] = [&read.offset, &read.scale].map(|numbers| columns_of(numbers));
        if read.offset.iter().chain(&read.scale).any(|number| !number.is_finite()) {
            return Err("a Scaler has a parameter that is not a number".to_owned());
        }
        if offsets > 0 && scales > 0 && offsets != scales {
            return Err(format!("a Scaler has {offsets} offsets and {scales} scales"));
        }
        Ok(read)
    }
}

impl Rowwise for Scaler {
    fn features(&self) -> usize {
        columns_of(&self.offset).max(columns_of(&self.scale))
    }

    fn is_exact(&self) -> bool {
        self.features() > 0
    }

    fn columns(&self, features: usize) -> usize {
        features
    }

    fn compute(&self, row: &[f32], into: &mut [f32]) {
        for (column, (from, into)) in row.iter().zip(into).enumerate() {
            *into = (from - parameter(&self.offset, column, 0.0)) * parameter(&self.scale, column, 1.0);
        }
    }
}

impl Imputer {
    pub(crate) fn read(node: &GraphNode<'_>) -> Result<Self, String> {
        let replacements = node.floats("imputed_value_floats").to_vec();
        if replacements.is_empty() || replacements.iter().any(|number| !number.is_finite()) {
            return Err("an Imputer has no numbers to replace missing values with".to_owned());
        }
        let missing = node.float("replaced_value_float").unwrap_or(0.0);
        Ok(Self { missing, replacements })
    }
}

impl Rowwise for Imputer {
    fn features(&self) -> usize {
        columns_of(&self.replacements)
    }

    fn is_exact(&self) -> bool {
        self.features() > 0
    }

    fn columns(&self, features: usize) -> usize {
        features
    }

    #[expect(clippy::float_cmp, reason = "the standard compares so")]
    fn compute(&self, row: &[f32], into: &mut [f32]) {
        for (column, (from, into)) in row.iter().zip(into).enumerate() {
            let is_missing = if self.missing.is_nan() { from.is_nan() } else { *from == self.missing };
            *into = if is_missing { parameter(&self.replacements, column, 0.0) } else { *from };
        }
    }
}

impl Normalizer {
    pub(crate) fn read(node: &GraphNode<'_>) -> Result<Self, String> {
        match node.text("norm").unwrap_or("MAX").to_ascii_uppercase().as_str() {
            "MAX" => Ok(Self::Max),
            "L1" => Ok(Self::L1),
            "L2" => Ok(Self::L2),
            other => Err(format!("a Normalizer by {other:?}")),
        }
    }
}

impl Rowwise for Normalizer {
    fn features(&self) -> usize {
        0
    }

    fn columns(&self, features: usize) -> usize {
        features
    }

    fn work(&self) -> usize {
        0
    }

    fn compute(&self, row: &[f32], into: &mut [f32]) {
        let magnitudes = row.iter().map(|number| f64::from(number.abs()));
        let norm = match self {
            Self::Max => magnitudes
                .fold(0.0, |most, number| if number > most || number.is_nan() { number } else { most }),
            Self::L1 => magnitudes.sum(),
            Self::L2 => magnitudes.map(|number| number * number).sum::<f64>().sqrt(),
        };
        for (from, into) in row.iter().zip(into) {
            *into = if norm == 0.0 { *from } else { single(f64::from(*from) / norm) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computed(rowwise: &impl Rowwise, row: &[f32]) -> Vec<f32> {
        let mut into = vec![0.0; rowwise.columns(row.len())];
        rowwise.compute(row, &mut into);
        into
    }

    #[test]
    fn a_scaler_subtracts_and_multiplies_each_column_or_all() {
        let each = Scaler { offset: vec![1.0, 2.0], scale: vec![0.5] };
        assert_eq!((each.features(), computed(&each, &[3.0, 3.0])), (2, vec![1.0, 0.5]));
        let none = Scaler { offset: Vec::new(), scale: vec![2.0] };
        assert_eq!((none.features(), computed(&none, &[3.0, 4.0, 5.0])), (0, vec![6.0, 8.0, 10.0]));
    }

    #[test]
    fn an_imputer_replaces_the_unknown_or_a_number() {
        let unknown = Imputer { missing: f32::NAN, replacements: vec![7.0, 8.0] };
        assert_eq!(computed(&unknown, &[f32::NAN, 0.0]), [7.0, 0.0]);
        let number = Imputer { missing: -1.0, replacements: vec![9.0] };
        assert_eq!(computed(&number, &[-1.0, 2.0]), [9.0, 2.0]);
    }

    #[test]
    fn a_normalizer_divides_by_the_norm_unless_it_is_zero() {
        assert_eq!(computed(&Normalizer::L2, &[3.0, -4.0]), [0.6, -0.8]);
        assert_eq!(computed(&Normalizer::L1, &[3.0, -1.0]), [0.75, -0.25]);
        assert_eq!(computed(&Normalizer::Max, &[1.0, -4.0]), [0.25, -1.0]);
        assert_eq!(computed(&Normalizer::L1, &[0.0, 0.0]), [0.0, 0.0]);
    }
}
