#![doc = include_str!("../README.md")]

pub mod agent;
mod base_url;
mod client;
#[doc(hidden)]
pub mod contract;
mod endpoint;
mod error;
mod exchange;
mod message;
pub mod model;
mod options;
mod pace;
mod problem;
mod repeat;
mod retry;
mod secret;
mod signed;
mod stamps;
mod transport;

pub use client::{Client, UNIVERSAL_ACTION};
pub use error::{ApiError, ApiErrorKind, Error, InvalidEntry, Result};
pub use model::day_or_time::DayOrTime;
pub use options::Options;
pub use pace::{Pace, SystemPace};
pub use retry::RetryPolicy;
pub use signed::{Eip712Request, JwtRequest};
pub use stamps::Stamps;
