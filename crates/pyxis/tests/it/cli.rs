//! The command line.

mod bootstrap;
