//! The proxy: what agents send, what people decide.

mod attach;
mod audit;
mod control;
mod durability;
mod entrance;
mod forward;
mod grants;
mod guard;
mod idempotency;
mod kinds;
mod mtls;
mod nodes;
mod pause;
mod policy;
mod rate;
mod recheck;
mod renewal;
mod scrub;
mod sessions;
mod sign;
mod streaming;
mod target;
mod texts;
mod webhooks;
mod workspaces;
