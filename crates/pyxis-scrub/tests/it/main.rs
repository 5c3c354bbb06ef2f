//! A credential never comes back to the agent (`docs/reference/behavior/proxy.md#scrubbing`).

mod decoding;
mod encodings;
mod fuzzed;
mod line_wrapped;
mod properties;
mod scrubbing;
