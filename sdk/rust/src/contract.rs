//! Operations and wire types, for the test that holds them against the server's `OpenAPI` document.

pub use crate::endpoint::{ALL, Endpoint};
pub use crate::model::signed::SignedRecord;
pub use crate::model::wallet::ModelScoreResponse;
