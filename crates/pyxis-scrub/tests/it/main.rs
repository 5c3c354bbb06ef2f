//! A credential never comes back to the agent (`docs/reference/behavior/proxy.md#scrubbing`).

mod decoding;
mod encodings;
mod fuzzed;
mod properties;
mod scrubbing;
mod line_wrapped;
