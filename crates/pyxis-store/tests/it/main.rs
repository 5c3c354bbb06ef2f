//! Contract tests, each of which runs on both engines. PostgreSQL needs `PX_TEST_POSTGRES`, the URL of a server where
//! databases may be created.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod activity;
mod agents;
mod api_keys;
mod approvals;
mod audit;
mod audit_tree;
mod backup;
mod brands;
mod busy_database;
mod catalogue;
mod chats;
mod cipher;
mod claims;
mod conditional_appends;
mod config_generations;
mod connections;
mod counters_and_leases;
mod credentials;
mod deliveries;
mod erasures;
mod failover;
mod forwarding;
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
mod pending_limits;
mod proofs;
mod push;
mod rowid_hints;
mod schema;
mod score_jobs;
mod scorers;
mod scores;
mod stamps;
mod stored_methods;
mod task_messages;
mod tasks;
mod transactions;
mod upgrade;
mod usage;
mod users_and_sessions;
mod webhooks;
mod widget;
