//! Tests of policy evaluation.
