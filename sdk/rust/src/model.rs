//! Results. Scores are [`Decimal`](rust_decimal::Decimal), times are [`Timestamp`](jiff::Timestamp).

pub mod catalogue;
pub(crate) mod day_or_time;
pub mod score;
pub mod signed;
pub mod stamp;
pub mod verification;
pub mod wallet;
