//! The proxy: what agents send, what people decide.

mod attach;
mod audit;
mod control;
mod durability;
mod forward;
mod grants;
mod guard;
mod idempotency;
mod nodes;
mod pause;
mod policy;
mod rate;
mod recheck;
mod scrub;
mod sessions;
mod sign;
mod streaming;
mod target;
mod texts;
mod workspaces;
