//! Delivery to people and programs: chats, browser notifications and webhooks, and the brand that they show. What they
//! send was stored by [`crate::approvals::announce`] or by scoring.

pub mod brand;
pub mod channels;
pub(crate) mod push;
pub mod webhooks;
