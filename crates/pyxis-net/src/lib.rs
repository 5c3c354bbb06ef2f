//! Outbound connections: egress guard, resolver and HTTP client. No other crate opens outbound sockets.
//!
//! Requests leave through [`Client::send`]. Its connector resolves the name, asks the [`Guard`] about every address and
//! dials exactly one of the judged addresses. A DNS answer that changes between check and dial therefore cannot lead to
//! another machine (DNS rebinding).
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
