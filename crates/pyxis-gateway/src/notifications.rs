//! Delivery of what [`crate::approvals::announce`] stored: chats, browser notifications and webhooks, and the brand that they
//! show.

pub mod brand;
pub mod channels;
pub(crate) mod push;
pub mod webhooks;
