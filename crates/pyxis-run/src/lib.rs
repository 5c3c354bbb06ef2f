//! `pyxis run` and `pyxis proxy`: a forward proxy for the requests of one agent.
//!
//! The agent's tools send their requests here, because their environment says so. A request to a host that a
//! stored credential allows becomes a request to `/forward` of a Pyxis server. The server decides, attaches the
//! secret and records. This crate decides nothing and knows no secret but the agent key, which it never gives to
//! them.
#![warn(missing_docs)]

mod authority;
mod destination;
mod environment;
mod exchange;
mod files;
mod headers;
mod identity;
mod intercept;
mod listener;
mod outgoing;
mod own_pages;
mod pending;
mod placeholder;
mod plain_http;
mod refusal;
mod routes;
mod script;
mod server;
mod state;
mod tunnel;
mod websocket;

pub use authority::AuthorityError;
pub use environment::{Surroundings, Variables, private_names};
pub use files::{TrustFiles, TrustFilesError};
pub use identity::{IdentityError, ProxyIdentity};
pub use listener::{Proxy, ProxyError, ProxyParts};
pub use routes::{RouteChoice, Routes, RoutesError};
pub use script::client_script;
pub use server::{Server, ServerError};
pub use state::OtherHosts;
