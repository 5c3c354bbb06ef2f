//! Contract tests: every one runs on both engines. The PostgreSQL arm needs `PX_TEST_POSTGRES`, a URL
//! of a server where databases may be created.

#![expect(clippy::doc_markdown, reason = "SQLite and PostgreSQL are names of products, not of items")]

mod support;

mod cipher;
mod schema;
mod transactions;
