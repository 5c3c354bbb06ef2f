//! Notifications about approvals, in this process and with a clock that the test moves.

mod chaos;
mod email;
mod links;
mod matrix;
mod payloads;
mod push;
mod reports;
mod slack;
mod telegram;
mod webhooks;
