//! The proxy: what agents send, what people decide.

mod attach;
mod control;
mod forward;
mod guard;
mod pause;
mod policy;
mod scrub;
mod streaming;
mod target;
