//! The executable.

fn main() {}
