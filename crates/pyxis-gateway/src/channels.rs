//! Chats, in which approvals are announced and decided with buttons or reactions.
//!
//! Messages are rows, stored with the change that they announce ([`crate::notifications::announce`]). For each platform
//! an outbox posts and edits them, and a reader receives people's actions. Nothing else waits for either.

mod approval_message;
pub mod examination;
mod flat;
mod identity;
pub mod matrix;
pub(crate) mod moves;
mod outbox;
mod payload;
mod reader;
pub mod telegram;
pub(crate) mod unreachable;

use pyxis_core::hex;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use crate::error::Result;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

/// Starts the configured platforms.
pub(crate) fn start(state: &State, stop: &Stop, loops: &mut JoinSet<()>) {
    if let Some(bot) = telegram::Bot::of(state) {
        telegram::start(state, bot, stop, loops);
    }
    if let Some(bot) = matrix::Bot::of(state) {
        matrix::start(state, bot, stop, loops);
    }
    examination::start(state, stop, loops);
}

/// Posts and edits everything due now on the configured platforms.
pub async fn show_due(state: &State) -> Result<()> {
    if let Some(bot) = telegram::Bot::of(state) {
        outbox::deliver_due(state, &bot).await?;
    }
    if let Some(bot) = matrix::Bot::of(state) {
        outbox::deliver_due(state, &bot).await?;
    }
    Ok(())
}

/// Hash under which a link code is stored. Codes are typed by hand, so case and blanks are ignored.
pub(crate) fn code_hash(code: &str) -> String {
    hex::encode(&Sha256::digest(code.trim().to_ascii_uppercase()))
}
