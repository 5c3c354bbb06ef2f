//! Transactions that conflict with others, and are tried again.

use crate::error::{Error, Result};

/// Attempts before a transaction that keeps conflicting with others is given up.
pub(crate) const ATTEMPTS: usize = 8;

/// The result of the first attempt that conflicts with no other transaction. An attempt reports a conflict with `None`
/// or [`Error::Busy`]; its work is then rolled back.
pub(crate) async fn retry_on_conflict<T, W>(attempt: impl Fn() -> W) -> Result<T>
where
    W: Future<Output = Result<Option<T>>>,
{
    for _ in 0..ATTEMPTS {
        match attempt().await {
            Ok(Some(done)) => return Ok(done),
            Ok(None) | Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}
