//! The only crate that opens outbound sockets: egress guard, resolver, HTTP client
