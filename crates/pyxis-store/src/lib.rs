//! The only crate that contains SQL: SQLite and PostgreSQL behind one query layer
