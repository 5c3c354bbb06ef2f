//! Building blocks of the API description: routes that carry it, schemas of plain values, and responses for problems.
//!
//! Each handler describes itself with `#[utoipa::path]`, and each type of a body derives its schema. What several crates
//! share is here.

mod described;
mod problems;
pub mod responses;
mod values;

pub use described::{Clash, DescribedRouter, description};
pub use problems::{ProblemResponse, problem_reference, problem_schema, retry_after};
pub use values::{
    Id, Name, Time, Uri, described_parameter, format, in_path, in_query, optional, text, text_enum,
    with_description,
};
