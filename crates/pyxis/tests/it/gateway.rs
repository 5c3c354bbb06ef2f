//! The proxy: what agents send, what people decide.

mod forward;
mod pause;
