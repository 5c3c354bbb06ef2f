//! Notifications about approvals, in this process and with a clock that the test moves.

mod chaos;
mod discord;
mod edited_requests;
mod email;
mod escalation;
mod every_platform;
mod links;
mod matrix;
mod payloads;
mod push;
mod reports;
mod slack;
mod task_messages;
mod tasks;
mod telegram;
mod webhooks;
