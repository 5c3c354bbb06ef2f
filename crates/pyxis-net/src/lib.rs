//! The only crate that opens outbound sockets: egress guard, resolver, HTTP client.
//!
//! A request leaves through [`Client::send`]. Its connector resolves the name, asks the [`Guard`]
//! about every answer and dials one of exactly the addresses that were judged, so nothing that a
//! resolver says between the check and the dial can lead to another machine (DNS rebinding).
#![warn(missing_docs)]

pub mod body;
mod client;
mod connect;
mod error;
pub mod guard;
mod identity;
mod keep_alive;
pub mod resolve;
mod send;
pub mod tls;

pub use body::{Body, BoxError};
pub use client::{Client, ClientConfig};
pub use error::{ClientCertificateRefusal, Error, InvalidRequest, Wait};
pub use guard::{AddressVerdict, Blocked, Guard, HostPort};
pub use identity::{Identity, IdentityError};
pub use resolve::{Resolve, SystemResolver};
pub use send::{MAX_ANSWER_HEAD, MAX_ANSWER_LINES};
