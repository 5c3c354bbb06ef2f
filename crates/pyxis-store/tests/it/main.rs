//! Contract tests, each of which runs on both engines. PostgreSQL needs `PX_TEST_POSTGRES`, the URL of a server where
//! databases may be created.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod activity;
mod agents;
mod api_keys;
mod appending;
mod approvals;
mod audit;
mod backup;
mod bookkeeping;
mod brands;
mod busy;
mod catalogue;
mod chats;
mod cipher;
mod claims;
mod connections;
mod credentials;
mod deliveries;
mod erasures;
mod failover;
mod forwarding;
mod generations;
mod grants;
mod kept_responses;
mod lists;
mod locks;
mod mcp_tools;
mod members;
mod models;
mod nullifier_sets;
mod oauth_tokens;
mod outbox;
mod passkeys;
mod people;
mod proofs;
mod push;
mod room;
mod schema;
mod score_jobs;
mod score_places;
mod scorers;
mod scores;
mod stamps;
mod transactions;
mod upgrade;
mod usage;
mod webhooks;
mod widget;
