//! Notifications about approvals, in this process and with a clock that the test moves.

mod chaos;
mod links;
mod matrix;
mod payloads;
mod push;
mod reports;
mod telegram;
mod webhooks;
