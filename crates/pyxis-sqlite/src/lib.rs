//! SQLite for a server: reader connections that callers use inline, and one writer thread whose commits many callers
//! share. `README.md` says what it promises and how it works.
//!
//! It knows transactions, not tables: callers bring the statements.

mod cancel;
mod checkpoints;
mod connection;
mod database;
mod durable;
mod error;
mod observer;
mod readers;
mod writer;

pub use connection::{connect, connect_plain, create_private};
pub use database::Database;
pub use error::Error;
pub use observer::DiskObserver;
pub use readers::release_idle_reads;
pub use writer::Transaction;
