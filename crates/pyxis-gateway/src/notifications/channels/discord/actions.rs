//! Handling of buttons, of the window that asks for a reason, and of the command that links an account.

use pyxis_core::chat::ChatPlatform;
use pyxis_store::Store;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use serde_json::Value;

use super::interaction::{
    CODE, COMMAND, COMPONENT, DiscordUser, Interaction, InteractionData, LINK, Press, REASON, WINDOW,
};
use super::{account_id, content};
use crate::approvals::announce::chats::nonce_hash;
use crate::error::Result;
use crate::notifications::channels::identity::{self, Account, Action};
use crate::notifications::channels::inbound;
use crate::runtime::state::State;

/// Answer to a command that is not a link code.
const HELP: &str = "Create a code in the Pyxis dashboard under Notifications, then send: /link code:CODE";
/// Answer to a button that belongs to no message.
const GONE: &str = "This button no longer works.";
/// Answer after an error, when nothing is known to have happened.
pub(super) const FAILED: &str = "Pyxis cannot record this right now. Try again in a moment.";
/// Answer to a button whose window can no longer be opened.
pub(super) const NO_WINDOW: &str =
    "The window could not be opened in time. Nothing was changed. Press Deny again.";

/// Answer to an interaction.
pub(super) enum InteractionResponse {
    /// Text that only this person sees.
    Text(String),
    /// A window that asks this person for something.
    Window(Value),
}

impl InteractionResponse {
    fn unknown_message() -> Self {
        Self::Text(GONE.to_owned())
    }
}

/// Person behind an interaction.
struct Author {
    account: String,
    label: String,
}

impl Author {
    fn new(person: &DiscordUser) -> Self {
        let name = if person.username.is_empty() { &person.id } else { &person.username };
        Self { account: account_id(&person.id), label: format!("@{name}") }
    }

    fn account(&self) -> Account<'_> {
        Account { platform: ChatPlatform::DISCORD, id: &self.account, label: &self.label }
    }
}

/// Handles an interaction. An error means that nothing is known to have happened.
pub(super) async fn answer(state: &State, interaction: &Interaction) -> Result<InteractionResponse> {
    let (Some(person), Some(data)) = (interaction.person(), &interaction.data) else {
        return Ok(InteractionResponse::unknown_message());
    };
    let author = Author::new(person);
    match interaction.kind {
        COMMAND => link(state, &author, data).await.map(InteractionResponse::Text),
        COMPONENT => press(state, &author, interaction, &data.custom_id).await,
        WINDOW => deny(state, &author, data).await,
        _ => Ok(InteractionResponse::unknown_message()),
    }
}

/// Handles a pressed button.
async fn press(
    state: &State,
    author: &Author,
    interaction: &Interaction,
    button: &str,
) -> Result<InteractionResponse> {
    let Some((press, nonce)) = Press::parse(button) else {
        return Ok(InteractionResponse::unknown_message());
    };
    let action = match press {
        Press::Approve => Action::Approve,
        Press::ApproveWithGrant => Action::ApproveWithGrant,
        Press::Deny => Action::Deny,
    };
    let Some(message) = find(&state.store, nonce).await? else {
        return Ok(InteractionResponse::unknown_message());
    };
    inbound::remember_posted(&state.store, state.now(), &message, interaction.message_ref()).await;
    let account = author.account();
    // A stranger is refused before writing a reason.
    if action == Action::Deny && identity::is_linked(&state.store, message.workspace_id, &account).await? {
        return Ok(InteractionResponse::Window(content::reason_window(nonce)));
    }
    Ok(InteractionResponse::Text(identity::act(state, &message, &account, action).await?.text))
}

/// Denies with the reason from a submitted window.
async fn deny(state: &State, author: &Author, data: &InteractionData) -> Result<InteractionResponse> {
    let nonce = data.custom_id.split_once(':').filter(|(name, _)| *name == REASON).map(|(_, nonce)| nonce);
    let Some(nonce) = nonce else { return Ok(InteractionResponse::unknown_message()) };
    let Some(message) = find(&state.store, nonce).await? else {
        return Ok(InteractionResponse::unknown_message());
    };
    let reason = data.field(REASON).map(str::to_owned);
    let denied = identity::act_because(state, &message, &author.account(), Action::Deny, reason).await?;
    Ok(InteractionResponse::Text(denied.text))
}

/// Links the account by the code of the command.
async fn link(state: &State, author: &Author, data: &InteractionData) -> Result<String> {
    match data.option(CODE) {
        Some(code) if data.name == LINK => identity::link(state, &author.account(), code).await,
        _ => Ok(HELP.to_owned()),
    }
}

async fn find(store: &Store, nonce: &str) -> Result<Option<ChatMessageRow>> {
    Ok(chat_messages::find_by_nonce(store, ChatPlatform::DISCORD, &nonce_hash(nonce)).await?)
}
