//! Chats: where approvals are announced and decided by button or reaction.
//!
//! Messages are rows, written with the change that they tell of ([`crate::notifications::announce`]); an outbox for each
//! platform posts and edits them, and a reader takes what people say. Nothing else waits for either.

mod approval_message;
mod identity;
pub mod matrix;
pub(crate) mod moves;
mod outbox;
mod payload;
mod reader;
pub mod telegram;

use pyxis_core::hex;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use crate::error::Result;
use crate::runtime::state::State;
use crate::runtime::work::Stop;

/// Starts what the settings ask for.
pub(crate) fn start(state: &State, stop: &Stop, loops: &mut JoinSet<()>) {
    if let Some(bot) = telegram::Bot::of(state) {
        telegram::start(state, bot, stop, loops);
    }
    if let Some(bot) = matrix::Bot::of(state) {
        matrix::start(state, bot, stop, loops);
    }
}

/// Posts and edits whatever is due now on the platforms that there are.
pub async fn show_due(state: &State) -> Result<()> {
    if let Some(bot) = telegram::Bot::of(state) {
        outbox::deliver_due(state, &bot).await?;
    }
    if let Some(bot) = matrix::Bot::of(state) {
        outbox::deliver_due(state, &bot).await?;
    }
    Ok(())
}

/// Under which a link code is kept. Codes are typed by hand: case and blanks do not matter.
pub(crate) fn code_hash(code: &str) -> String {
    hex::encode(&Sha256::digest(code.trim().to_ascii_uppercase()))
}
