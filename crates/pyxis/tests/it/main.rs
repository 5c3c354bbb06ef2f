//! Tests of the whole program, one module for each area.

mod layering;
mod openapi;
