//! `Scaler` and `Imputer` of `ai.onnx.ml`.

use tract_onnx::pb::NodeProto;

use crate::attributes::Attributes;
use crate::rows::Rows;

/// Takes an offset away and multiplies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaler {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

/// Puts numbers in place of what is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Imputer {
    missing: f32,
    instead: Vec<f32>,
}

/// One number stands for all.
fn of(numbers: &[f32], place: usize, absent: f32) -> f32 {
    match numbers {
        [] => absent,
        [all] => *all,
        each => each[place],
    }
}

fn needed(numbers: &[f32]) -> usize {
    if numbers.len() > 1 { numbers.len() } else { 0 }
}

impl Scaler {
    pub(crate) fn read(node: &NodeProto) -> Result<Self, String> {
        let attributes = Attributes(node);
        let scaler =
            Self { offset: attributes.floats("offset").to_vec(), scale: attributes.floats("scale").to_vec() };
        if scaler.offset.iter().chain(&scaler.scale).all(|number| number.is_finite()) {
            Ok(scaler)
        } else {
            Err("a scaler with something that is no number".to_owned())
        }
    }
}

impl Rows for Scaler {
    fn features(&self) -> usize {
        needed(&self.offset).max(needed(&self.scale))
    }

    fn exact(&self) -> bool {
        self.features() > 0
    }

    fn columns(&self, features: usize) -> usize {
        features
    }

    fn answer(&self, row: &[f32], into: &mut Vec<f32>) {
        let scaled = |(place, seen): (usize, &f32)| {
            (seen - of(&self.offset, place, 0.0)) * of(&self.scale, place, 1.0)
        };
        into.extend(row.iter().enumerate().map(scaled));
    }
}

impl Imputer {
    pub(crate) fn read(node: &NodeProto) -> Result<Self, String> {
        let attributes = Attributes(node);
        let instead = attributes.floats("imputed_value_floats").to_vec();
        if instead.is_empty() || instead.iter().any(|number| !number.is_finite()) {
            return Err("an imputer without numbers".to_owned());
        }
        let missing = attributes.find("replaced_value_float").map_or(0.0, |found| found.f);
        Ok(Self { missing, instead })
    }
}

impl Rows for Imputer {
    fn features(&self) -> usize {
        needed(&self.instead)
    }

    fn exact(&self) -> bool {
        self.features() > 0
    }

    fn columns(&self, features: usize) -> usize {
        features
    }

    #[expect(clippy::float_cmp, reason = "the standard compares so")]
    fn answer(&self, row: &[f32], into: &mut Vec<f32>) {
        let imputed = |(place, seen): (usize, &f32)| {
            let is_missing = if self.missing.is_nan() { seen.is_nan() } else { *seen == self.missing };
            if is_missing { of(&self.instead, place, 0.0) } else { *seen }
        };
        into.extend(row.iter().enumerate().map(imputed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(of: &impl Rows, row: &[f32]) -> Vec<f32> {
        let mut into = Vec::new();
        of.answer(row, &mut into);
        into
    }

    #[test]
    fn a_scaler_takes_away_and_multiplies_each_or_all() {
        let each = Scaler { offset: vec![1.0, 2.0], scale: vec![0.5] };
        assert_eq!((each.features(), answer(&each, &[3.0, 3.0])), (2, vec![1.0, 0.5]));
        let none = Scaler { offset: Vec::new(), scale: vec![2.0] };
        assert_eq!((none.features(), answer(&none, &[3.0, 4.0, 5.0])), (0, vec![6.0, 8.0, 10.0]));
    }

    #[test]
    fn an_imputer_replaces_the_unknown_or_a_number() {
        let unknown = Imputer { missing: f32::NAN, instead: vec![7.0, 8.0] };
        assert_eq!(answer(&unknown, &[f32::NAN, 0.0]), [7.0, 0.0]);
        let number = Imputer { missing: -1.0, instead: vec![9.0] };
        assert_eq!(answer(&number, &[-1.0, 2.0]), [9.0, 2.0]);
    }
}
