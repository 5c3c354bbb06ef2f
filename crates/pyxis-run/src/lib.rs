//! `pyxis run`: a forward proxy for one command.
//!
//! The command's tools send their requests here, because its environment says so. A request to a host that a stored
//! credential allows becomes a request to `/forward` of a Pyxis server, which decides, attaches the secret and records.
//! This crate decides nothing and knows no secret but the agent key, which it never gives to the command.
#![warn(missing_docs)]

mod authority;
mod destination;
mod environment;
mod exchange;
mod files;
mod headers;
mod intercept;
mod listener;
mod outgoing;
mod pending;
mod placeholder;
mod plain;
mod refusal;
mod routes;
mod server;
mod state;
mod tunnel;
mod websocket;

pub use authority::AuthorityError;
pub use environment::{Surroundings, Variables};
pub use files::{TrustFiles, TrustFilesError};
pub use listener::{Proxy, ProxyError, ProxyParts};
pub use routes::{RouteChoice, Routes, RoutesError};
pub use server::{Server, ServerError};
pub use state::OtherHosts;
