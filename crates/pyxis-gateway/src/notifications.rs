//! Announcements of events: webhooks, browser notifications and their brand.

pub(crate) mod announce;
pub mod brand;
pub(crate) mod push;
pub mod webhooks;
