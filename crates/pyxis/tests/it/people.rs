//! People and rights, by session and by token.

mod approvals;
mod matrix;
mod members;
mod surfaces;
mod tokens;
