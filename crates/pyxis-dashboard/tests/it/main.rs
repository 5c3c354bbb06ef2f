//! The dashboard as a browser sees it: an in-process router on a real store.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should say so at once")]

mod account;
mod agents;
mod approvals;
mod audit;
mod batch;
mod chats;
mod content_rules;
mod credential_kinds;
mod edits;
mod empty_lists;
mod escalation;
mod home;
mod inbox;
mod isolation;
mod lists;
mod members;
mod outcomes;
mod page_rules;
mod pages;
mod passkeys;
mod role_matrix;
mod scoring;
mod settings;
mod sign_in;
mod sign_in_links;
mod support;
mod tables;
mod task_passkeys;
mod tasks;
mod usage;
mod voting_strategy;
