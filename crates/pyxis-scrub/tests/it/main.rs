//! Spec 3, "sanitization": a credential never comes back to the agent.

mod decoding;
mod encodings;
mod fuzzed;
mod properties;
mod scrubbing;
mod wrapped;
