//! A person's notification settings: this browser, and chats.

use axum::response::IntoResponse;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::channels::UnreachableChat;
use pyxis_gateway::admin::push::Subscription;
use pyxis_gateway::admin::{channels, push};
use pyxis_gateway::channels::PLATFORMS;
use pyxis_gateway::channels::platform::PlatformDescriptor;
use pyxis_gateway::channels::settings::SettingKey;
use pyxis_store::Store;
use pyxis_store::chat_messages::ChatMessageRow;
use pyxis_store::lists::{self, SortKey};
use pyxis_store::message_subject::SubjectKind;
use pyxis_store::push::PushSubscriptionRow;

use super::agents::unprocessable;
use super::list_query::{ListQuery, ListSlot};
use super::problem;
use super::table::{By, Table};
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::headers::RunsWorker;
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::notifications::{
    AccountLine, BrowserLine, LinkCodePage, NotificationsPage, PlatformLine, RefusedLine, UnreachableLine,
    UnshownLine,
};
use crate::view::{Problems, RoomField, Timestamp};
use crate::{Error, State, text};

const HERE: &str = "/app/notifications";

pub(crate) async fn page(
    Page { state, who, query: asked }: Page<SignedIn, ListQuery>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let mut rooms = Vec::new();
    for described in PLATFORMS {
        let room = channels::default_chat(&state.gateway.store, workspace, described.platform).await?;
        rooms.push(room_field(described, room.unwrap_or_default()));
    }
    show(&state, &who, &asked, rooms, Problems::default()).await
}

fn room_field(described: &PlatformDescriptor, value: String) -> RoomField {
    RoomField {
        name: described.platform.spec().room_field,
        label: described.platform.room_label(),
        blank: format!("if blank: {}", described.page.without_room),
        example: described.page.room_example,
        hint: None,
        value,
    }
}

async fn show(
    state: &State,
    who: &SignedIn,
    asked: &ListQuery,
    rooms: Vec<RoomField>,
    problems: Problems,
) -> Result<Response, Error> {
    let (now, person) = (state.gateway.now(), &who.person);
    let accounts = channels::accounts(&state.gateway.store, person.workspace(), person.user.id).await?;
    let mut browsers = push::list(&state.gateway.store, person.workspace(), person.user.id).await?;
    let (store, manager) = (&state.gateway.store, person.user.role.is_manager());
    let unshown = lists::failing_messages(person.workspace()).visible_if(manager);
    browsers.retain(|row| asked.fits([row.label.as_str()]));
    if let Some(file) = UNSHOWN.file(store, asked, &unshown) {
        return Ok(file);
    }
    let (unshown, search) = UNSHOWN.page(store, HERE, asked, &unshown).await?;
    let line = |platform: ChatPlatform| PlatformLine {
        name: platform.as_str().to_owned(),
        label: platform.spec().label.to_owned(),
        decides: platform.spec().decides,
        accounts: accounts
            .iter()
            .filter(|account| account.platform == platform)
            .filter(|account| asked.fits([account.external_id.as_str(), &account.label]))
            .map(|account| AccountLine {
                id: account.external_id.clone(),
                label: account.label.clone(),
                linked: Timestamp::new(account.linked_at, now),
            })
            .collect(),
    };
    let all = ChatPlatform::ALL.iter().copied();
    let configured = all.filter(|platform| channels::is_configured(&state.gateway, *platform));
    let variables = |described: &PlatformDescriptor| {
        described.connected_by.iter().map(|key| SettingKey::variable(key)).collect()
    };
    let mut page = html(&NotificationsPage {
        shell: who.shell(state).await?,
        search,
        push_key: push::public_key(&state.gateway.keyring),
        browsers: browsers.into_iter().map(|row| browser(row, now)).collect(),
        platforms: configured.map(line).collect(),
        connected_by: PLATFORMS.iter().map(variables).collect(),
        unshown: unshown.into_iter().map(|message| unshown_line(message, now)).collect(),
        unreachable: unreachable(&state.gateway, who).await?,
        refused: refused_browsers(&state.gateway.store, state.gateway.now(), who).await?,
        rooms,
        problems,
    })?;
    page.extensions_mut().insert(RunsWorker);
    Ok(page)
}

const UNSHOWN: Table<ChatMessageRow, SortKey<ChatMessageRow>> = Table {
    name: "messages",
    place: ListSlot::First,
    columns: &[
        ("platform", By::Text(|row| row.platform.spec().label.to_owned()), ChatMessageRow::PLATFORM),
        ("chat", By::Text(|row| row.chat.clone()), ChatMessageRow::CHAT),
        ("why", By::Text(explain_problem), ChatMessageRow::ERROR),
        ("about", By::Text(|row| row.subject.to_string()), ChatMessageRow::SUBJECT),
        ("since", By::Time(|row| Some(row.created_at)), ChatMessageRow::CREATED),
    ],
    usual: "",
};

/// The problem with a message, as a sentence.
fn explain_problem(message: &ChatMessageRow) -> String {
    super::sentence(&text::visible(message.error.as_deref().unwrap_or_default()))
}

fn unshown_line(message: ChatMessageRow, now: UnixMillis) -> UnshownLine {
    UnshownLine {
        platform: message.platform.spec().label.to_owned(),
        why: explain_problem(&message),
        chat: message.chat,
        subject: message.subject.to_string(),
        is_task: message.subject.kind() == SubjectKind::Task,
        again: message.next_at.is_some(),
        at: Timestamp::new(message.created_at, now),
    }
}

/// Configured chats that the bot cannot work in, for those who can fix that.
async fn unreachable(gateway: &pyxis_gateway::State, who: &SignedIn) -> Result<Vec<UnreachableLine>, Error> {
    if !who.person.user.role.is_manager() {
        return Ok(Vec::new());
    }
    let now = gateway.now();
    let found = channels::unreachable(gateway, who.person.workspace()).await?;
    let line = |chat: UnreachableChat| UnreachableLine {
        platform: chat.platform.spec().label.to_owned(),
        chat: chat.chat,
        why: super::sentence(&text::visible(&chat.why)),
        since: Timestamp::new(chat.since, now),
    };
    Ok(found.into_iter().map(line).collect())
}

/// Browsers that are not notified, for those who can fix that.
async fn refused_browsers(store: &Store, now: UnixMillis, who: &SignedIn) -> Result<Vec<RefusedLine>, Error> {
    if !who.person.user.role.is_manager() {
        return Ok(Vec::new());
    }
    let found = push::refused_subscriptions(store, who.person.workspace()).await?;
    let line = |(row, person): (PushSubscriptionRow, String)| {
        let (why, since) = refusal(&row, now)?;
        Some(RefusedLine { person, label: row.label, why, since })
    };
    Ok(found.into_iter().filter_map(line).collect())
}

/// Reason that a browser's push service refuses messages, and since when.
fn refusal(row: &PushSubscriptionRow, now: UnixMillis) -> Option<(String, Timestamp)> {
    let said = text::visible(row.refused_why.as_deref().unwrap_or_default());
    let why = format!("{} {said}", row.refused_status?).trim_end().to_owned();
    Some((why, Timestamp::new(row.refused_at?, now)))
}

fn browser(row: PushSubscriptionRow, now: UnixMillis) -> BrowserLine {
    let refused = refusal(&row, now);
    BrowserLine {
        id: row.id.to_string(),
        label: row.label,
        added: Timestamp::new(row.created_at, now),
        refused,
    }
}

fn platform(name: &str) -> Result<&'static PlatformDescriptor, Error> {
    let found = PLATFORMS.iter().find(|described| described.platform.as_str() == name);
    found.ok_or(Error::NotFound)
}

pub(crate) async fn link(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let PlatformDescriptor { platform, page, .. } = platform(fields.get("platform"))?;
    if !platform.spec().decides || !channels::is_configured(&state.gateway, *platform) {
        return Err(Error::NotFound);
    }
    let (user, actor) = (who.person.user.id, who.person.actor());
    let (code, until) = channels::link_code(&state.gateway, &actor, user, *platform).await?;
    html(&LinkCodePage {
        shell: who.shell(&state).await?,
        platform: platform.spec().label.to_owned(),
        command: format!("{}{}", page.link_command, code.expose()),
        until: Timestamp::new(until, state.gateway.now()),
    })
}

pub(crate) async fn unlink(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let platform = platform(fields.get("platform"))?.platform;
    let (user, actor) = (who.person.user.id, who.person.actor());
    channels::unlink(
        &state.gateway.audited,
        state.gateway.now(),
        &actor,
        user,
        platform,
        fields.get("account"),
    )
    .await?;
    Ok(Notice::AccountUnlinked.redirect(state.cookies, HERE))
}

pub(crate) async fn chats(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let actor = who.person.actor();
    let typed = |described: &PlatformDescriptor| fields.trimmed(described.platform.spec().room_field);
    for described in PLATFORMS {
        let room = typed(described);
        let set = channels::set_default_chat(&state.gateway, &actor, described.platform, &room).await;
        let Err(error) = set else { continue };
        let field = described.platform.spec().room_field;
        let problems = problem(error, field, |_| field)?;
        let rooms = PLATFORMS.iter().map(|described| room_field(described, typed(described))).collect();
        return Ok(unprocessable(show(&state, &who, &ListQuery::default(), rooms, problems).await?));
    }
    Ok(Notice::Saved.redirect(state.cookies, HERE))
}

/// The service worker that shows notifications. It must be served at the root, or its scope would not cover the pages.
pub(crate) async fn worker() -> Response {
    let headers = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, "no-cache")];
    (headers, include_str!("../../assets/sw.js")).into_response()
}

pub(crate) async fn subscribe(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let new = Subscription {
        endpoint: fields.trimmed("endpoint"),
        p256dh: fields.trimmed("p256dh"),
        auth: fields.trimmed("auth"),
        label: fields.trimmed("label"),
    };
    let notice = match push::subscribe(&state.gateway, &who.person.actor(), who.person.user.id, new).await {
        Ok(()) => Notice::BrowserAdded,
        Err(Service::InvalidField { .. } | Service::Conflict(_)) => Notice::BrowserRefused,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, HERE))
}

pub(crate) async fn unsubscribe(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let id = id.parse().map_err(|_| Error::NotFound)?;
    push::unsubscribe(&state.gateway.audited, &who.person.actor(), who.person.user.id, id).await?;
    Ok(Notice::BrowserRemoved.redirect(state.cookies, HERE))
}
