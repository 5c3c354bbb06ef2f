//! People and rights, by session and by token.

mod approvals;
mod batch;
mod members;
mod quiet_hours;
mod role_matrix;
mod surfaces;
mod tokens;
