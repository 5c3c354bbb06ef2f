//! Actions of people: buttons, the window that asks for a reason, and messages that link an account.

use pyxis_core::chat::ChatPlatform;
use pyxis_store::Store;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use serde_json::{Value, json};

use super::blocks::{self, Origin, REASON};
use super::reports::{EventRequest, Interaction, Report};
use super::{Bot, Press};
use crate::approvals::announce::chats::nonce_hash;
use crate::error::Result;
use crate::notifications::channels::identity::{self, Account, Action};
use crate::notifications::channels::inbound;
use crate::runtime::state::State;

/// Answer to a direct message that is not a link code.
const HELP: &str = "Create a code in the Pyxis dashboard under Notifications, then send: link CODE";
/// Answer to a button that belongs to no message.
const GONE: &str = "This button no longer works.";
/// Answer to a button whose window Slack did not open.
const NO_WINDOW: &str = "Slack did not open the window in time. Nothing was changed. Press Deny again.";
/// Answer where nothing is known to have happened.
const FAILED: &str = "Pyxis cannot record this right now. Try again in a moment.";

/// A person who did something, and where an answer goes.
struct Author {
    /// Team and person.
    account: String,
    label: String,
    /// Id of the person.
    person: String,
    /// Channel of the message, else the person.
    channel: String,
}

impl Author {
    fn from_interaction(interaction: &Interaction, channel: Option<&str>) -> Self {
        let user = &interaction.user;
        let team = user.team_id.as_deref().or(interaction.team.as_ref().map(|team| team.id.as_str()));
        let names = [&user.username, &user.name, &user.id];
        let label = names.into_iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        Self {
            account: account_id(team.unwrap_or_default(), &user.id),
            label: format!("@{label}"),
            person: user.id.clone(),
            channel: channel.unwrap_or(&user.id).to_owned(),
        }
    }

    fn account(&self) -> Account<'_> {
        Account { platform: ChatPlatform::SLACK, id: &self.account, label: &self.label }
    }
}

/// Id of an account: user ids are unique only together with the team.
fn account_id(team: &str, user: &str) -> String {
    format!("{team}-{user}")
}

/// Handles one report. Fails only where nothing is known to have happened; the person is then told to try again.
pub(super) async fn handle(state: &State, bot: &Bot, update: Report) -> Result<()> {
    match update {
        Report::Interaction(interaction) => handle_interaction(state, bot, &interaction).await,
        Report::Event(event) => written(state, bot, &event).await,
        Report::Other => Ok(()),
    }
}

async fn handle_interaction(state: &State, bot: &Bot, interaction: &Interaction) -> Result<()> {
    let (author, outcome) = match interaction.kind.as_str() {
        "block_actions" => {
            let channel = interaction.channel.as_ref().map(|channel| channel.id.as_str());
            let author = Author::from_interaction(interaction, channel);
            let outcome = press(state, bot, interaction, &author).await;
            (author, outcome)
        }
        "view_submission" => {
            let Some((origin, reason)) = submitted(interaction) else { return Ok(()) };
            let author = Author::from_interaction(interaction, Some(&origin.channel));
            let outcome = deny(state, &author, &origin.nonce, reason).await;
            (author, outcome)
        }
        _ => return Ok(()),
    };
    match outcome {
        Ok(Some(text)) => reply(&state.net_private, bot, &author, &text).await,
        Ok(None) => {}
        Err(error) => {
            reply(&state.net_private, bot, &author, FAILED).await;
            return Err(error);
        }
    }
    Ok(())
}

/// Takes the word of a button; what to answer.
async fn press(
    state: &State,
    bot: &Bot,
    interaction: &Interaction,
    author: &Author,
) -> Result<Option<String>> {
    let Some(pressed) = interaction.actions.first() else { return Ok(None) };
    let action = match Press::from_name(&pressed.action_id) {
        Some(Press::Open) => return Ok(None),
        Some(Press::Approve) => Action::Approve,
        Some(Press::ApproveWithGrant) => Action::ApproveWithGrant,
        Some(Press::Deny) => Action::Deny,
        None => return Ok(Some(GONE.to_owned())),
    };
    let Some(message) = find(&state.store, &pressed.value).await? else { return Ok(Some(GONE.to_owned())) };
    inbound::remember_posted(&state.store, state.now(), &message, interaction.message_ref()).await;
    let account = author.account();
    // A stranger is refused before writing a reason.
    let is_denial =
        action == Action::Deny && identity::is_linked(&state.store, message.workspace_id, &account).await?;
    if is_denial && let Some(trigger) = &interaction.trigger_id {
        let origin = Origin { nonce: pressed.value.clone(), channel: author.channel.clone() };
        let body = json!({ "trigger_id": trigger, "view": blocks::reason_window(&origin) });
        let opened = bot.call::<Value>(&state.net_private, "views.open", &body).await;
        return Ok(opened.err().map(|error| {
            tracing::warn!(%error, "cannot open a window in Slack");
            NO_WINDOW.to_owned()
        }));
    }
    identity::act(state, &message, &account, action).await.map(|decision| Some(decision.text))
}

/// The message and the reason of a window that was sent off.
fn submitted(interaction: &Interaction) -> Option<(Origin, Option<String>)> {
    let window = interaction.view.as_ref().filter(|window| window.callback_id == REASON)?;
    let origin = serde_json::from_str(&window.private_metadata).ok()?;
    Some((origin, window.field(REASON)))
}

async fn deny(state: &State, author: &Author, nonce: &str, reason: Option<String>) -> Result<Option<String>> {
    let Some(message) = find(&state.store, nonce).await? else { return Ok(Some(GONE.to_owned())) };
    let denied = identity::act_because(state, &message, &author.account(), Action::Deny, reason).await?;
    Ok(Some(denied.text))
}

async fn find(store: &Store, nonce: &str) -> Result<Option<ChatMessageRow>> {
    Ok(chat_messages::find_by_nonce(store, ChatPlatform::SLACK, &nonce_hash(nonce)).await?)
}

/// A direct message `link CODE` links the account; others hear how that is done.
async fn written(state: &State, bot: &Bot, request: &EventRequest) -> Result<()> {
    let Some(event) = &request.event else { return Ok(()) };
    let is_private = event.kind == "message" && event.channel_type == "im";
    let is_by_person = event.subtype.is_none() && event.bot_id.is_none();
    let (Some(user), Some(text), Some(channel)) = (&event.user, &event.text, event.channel.as_str()) else {
        return Ok(());
    };
    if !is_private || !is_by_person {
        return Ok(());
    }
    let author = Author {
        account: account_id(event.user_team.as_deref().unwrap_or(&request.team_id), user),
        label: user.clone(),
        person: user.clone(),
        channel: channel.to_owned(),
    };
    let mut words = text.split_whitespace();
    let answer = match (words.next(), words.next()) {
        (Some(word), Some(code)) if word.eq_ignore_ascii_case("link") => {
            identity::link(state, &author.account(), code).await
        }
        _ => Ok(HELP.to_owned()),
    };
    let text = answer.as_deref().unwrap_or(FAILED);
    reply(&state.net_private, bot, &author, text).await;
    answer.map(drop)
}

/// An answer that only this person sees. What they did is done, so this is not repeated.
async fn reply(net_private: &pyxis_net::Client, bot: &Bot, author: &Author, text: &str) {
    let text = blocks::escaped(text);
    if author.channel.starts_with(['C', 'G']) {
        let body = json!({ "channel": author.channel, "user": author.person, "text": text });
        match bot.call::<Value>(net_private, "chat.postEphemeral", &body).await {
            Ok(_) => return,
            Err(error) => tracing::debug!(%error, "cannot answer a person in a Slack channel"),
        }
    }
    let private = if author.channel.starts_with('D') { &author.channel } else { &author.person };
    let body = json!({ "channel": private, "text": text, "mrkdwn": false, "unfurl_links": false });
    if let Err(error) = bot.call::<Value>(net_private, "chat.postMessage", &body).await {
        tracing::debug!(%error, "cannot answer a person on Slack");
    }
}
