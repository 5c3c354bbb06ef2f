//! Fakes and real servers for tests. Never part of the program.
#![expect(clippy::missing_panics_doc, reason = "a fake panics where the test that drives it is wrong")]

pub mod anvil;
pub mod authenticator;
pub mod cluster;
pub mod database;
pub mod discord;
pub mod faults;
pub mod indexer;
pub mod installation;
pub mod issuer;
pub mod long_form;
pub mod matrix;
pub mod netns;
pub mod ntfy;
pub mod onnx;
pub mod pgbouncer;
pub mod picture;
pub mod postgres;
pub mod push;
pub mod resolver;
pub mod rights;
pub mod signal;
pub mod slack;
pub mod small_disk;
pub mod smtp;
pub mod sqlite;
pub mod teams;
pub mod telegram;
pub mod tls;
pub mod upstream;
pub mod websocket;
pub mod wire;
