//! Conversion of counts to the numbers that models read.

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^24, and near enough above")]
pub fn to_float(count: u32) -> f32 {
    count as f32
}

/// A number of items as a float.
pub(crate) fn count(items: usize) -> f32 {
    to_float(u32::try_from(items).unwrap_or(u32::MAX))
}
