//! Rooms and people that are asked about a request or a task. Who was asked is stored, so that no one is asked twice in
//! person.

use std::collections::BTreeSet;

use pyxis_core::approval_mode::Channel;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{PushSubscriptionId, UserId};
use pyxis_store::announcements::{self, AnnouncementRow, RecipientKind};
use pyxis_store::{Tx, chat_identities, chat_messages, push};

use super::approval_subject::{AnnouncementRoute, ApprovalSubject};
use super::quiet::{Quiet, Recipients};
use super::{browsers, chats};
use crate::error::Result;
use crate::runtime::state::State;

/// Name of browser notifications among the channels.
pub(crate) const PUSH: &str = "push";

/// People to ask.
pub(super) enum Audience {
    /// Everyone who may decide.
    Eligible,
    /// These people, all of whom may decide.
    People(Vec<UserId>),
}

impl Audience {
    /// Members of the audience among `people`, without duplicates.
    async fn among(
        &self,
        tx: &mut Tx,
        subject: &ApprovalSubject,
        people: Vec<UserId>,
    ) -> Result<Vec<UserId>> {
        match self {
            Self::Eligible => subject.eligible_among(tx, people).await,
            Self::People(listed) => Ok(listed.iter().copied().filter(|one| people.contains(one)).collect()),
        }
    }
}

/// Ways to ask a person.
pub(super) struct Reach {
    /// Private chats on these platforms.
    platforms: Vec<ChatPlatform>,
    /// Browser notifications.
    browsers: bool,
}

impl Reach {
    /// Every way.
    pub(super) fn everywhere() -> Self {
        let all = ChatPlatform::ALL.iter().copied();
        Self { platforms: all.filter(|platform| platform.spec().private_chats).collect(), browsers: true }
    }

    /// Ways of a channel: private chats if it has no room, or browsers.
    fn of_channel(channel: Channel, has_room: bool) -> Self {
        let chat = channel.platform().filter(|platform| platform.spec().private_chats && !has_room);
        Self { platforms: chat.into_iter().collect(), browsers: channel == Channel::Dashboard }
    }

    /// Addresses of those of an audience who can be reached.
    async fn addresses(
        &self,
        tx: &mut Tx,
        subject: &ApprovalSubject,
        audience: &Audience,
    ) -> Result<Vec<Address>> {
        let (mut all, workspace) = (Vec::new(), subject.workspace);
        for platform in self.platforms.iter().copied() {
            let linked = chat_identities::list(&mut *tx, workspace, platform).await?;
            all.extend(linked.into_iter().map(|account| Address {
                person: account.user_id,
                way: Way::Chat(platform, account.external_id),
            }));
        }
        if self.browsers {
            let browsers = push::list(&mut *tx, workspace).await?;
            all.extend(
                browsers.into_iter().map(|(browser, person)| Address { person, way: Way::Browser(browser) }),
            );
        }
        let people = audience.among(tx, subject, all.iter().map(|address| address.person).collect()).await?;
        all.retain(|address| people.contains(&address.person));
        Ok(all)
    }
}

/// Way to reach a person.
struct Address {
    person: UserId,
    way: Way,
}

enum Way {
    /// A private chat with this account.
    Chat(ChatPlatform, String),
    Browser(PushSubscriptionId),
}

impl Address {
    fn channel(&self) -> &'static str {
        match self.way {
            Way::Chat(platform, _) => platform.as_str(),
            Way::Browser(_) => PUSH,
        }
    }
}

/// Earlier announcements of a request or a task.
struct EarlierAnnouncements(Vec<AnnouncementRow>);

impl EarlierAnnouncements {
    async fn load(tx: &mut Tx, subject: &ApprovalSubject) -> Result<Self> {
        Ok(Self(announcements::list(&mut *tx, subject.workspace, subject.id).await?))
    }

    /// True if a room of a platform was told.
    fn has_room(&self, platform: ChatPlatform, room: &str) -> bool {
        let is_it = |one: &AnnouncementRow| {
            one.kind == RecipientKind::Room && one.channel == platform.as_str() && one.recipient == room
        };
        self.0.iter().any(is_it)
    }

    /// Time from which a person is told on a channel, if they were asked there.
    fn at(&self, channel: &str, person: UserId) -> Option<UnixMillis> {
        let to_person = |one: &&AnnouncementRow| one.channel == channel && asked_person(one) == Some(person);
        self.0.iter().filter(to_person).map(|one| one.at).min()
    }

    /// Recipients that are told, whatever becomes of messages to `people`, and `voters`. A message to one of them that is
    /// held back does not count.
    fn certain_recipients(
        &self,
        voters: &BTreeSet<UserId>,
        people: &[UserId],
        now: UnixMillis,
    ) -> Recipients {
        let mut told = Recipients { rooms: 0, people: voters.clone() };
        for one in &self.0 {
            match asked_person(one) {
                Some(person) if one.at > now && people.contains(&person) => {}
                Some(person) => {
                    told.people.insert(person);
                }
                None => told.rooms += 1,
            }
        }
        told
    }
}

/// The person whom an announcement is for; `None` for a room.
fn asked_person(one: &AnnouncementRow) -> Option<UserId> {
    if one.kind == RecipientKind::Person { one.recipient.parse().ok() } else { None }
}

/// Announces a new request or task on a route: to people on call, and to rooms of its channel that do not know it
/// yet. If no one is on call or none of them can be reached, it asks everyone that the channel reaches.
pub(super) async fn ask_first(
    state: &State,
    tx: &mut Tx,
    subject: &ApprovalSubject,
    route: &AnnouncementRoute<'_>,
) -> Result<()> {
    let mut has_room = false;
    if let Some(platform) = route.channel.platform() {
        let rooms = chats::rooms(&state.config.chats, tx, subject.workspace, route.policy, platform).await?;
        has_room = !rooms.is_empty();
        let before = EarlierAnnouncements::load(tx, subject).await?;
        let new = rooms.into_iter().filter(|room| !before.has_room(platform, room)).collect();
        ask_rooms(state, tx, subject, platform, new).await?;
    }
    let on_call = subject.on_call(tx, route).await?;
    if !on_call.is_empty() {
        let (people, audience) = (on_call.clone(), Audience::People(on_call));
        ask_people(state, tx, (subject, route), &audience, &Reach::everywhere()).await?;
        if was_told(tx, subject, &people).await? {
            return Ok(());
        }
    }
    let reach = Reach::of_channel(route.channel, has_room);
    ask_people(state, tx, (subject, route), &Audience::Eligible, &reach).await?;
    Ok(())
}

/// True if one of these people is told, now or later, on this route or on an earlier one.
async fn was_told(tx: &mut Tx, subject: &ApprovalSubject, people: &[UserId]) -> Result<bool> {
    let told = EarlierAnnouncements::load(tx, subject).await?;
    Ok(told.0.iter().filter_map(asked_person).any(|person| people.contains(&person)))
}

/// Posts to rooms, and records the announcements.
pub(super) async fn ask_rooms(
    state: &State,
    tx: &mut Tx,
    subject: &ApprovalSubject,
    platform: ChatPlatform,
    rooms: Vec<String>,
) -> Result<Vec<AnnouncementRow>> {
    let (now, mut asked) = (state.now(), Vec::new());
    for room in rooms {
        asked.push(announcement(subject, platform.as_str(), RecipientKind::Room, room.clone(), now));
        chats::post(state, tx, subject, (platform, room), None, now).await?;
    }
    announcements::insert(tx, &asked).await?;
    Ok(asked)
}

/// Asks people in person. Those are left out who were told in the same way before, who approved, and whose quiet hours
/// end after the time to decide. A message that was held back is sent at once if quiet hours no longer hold it.
pub(super) async fn ask_people(
    state: &State,
    tx: &mut Tx,
    (subject, route): (&ApprovalSubject, &AnnouncementRoute<'_>),
    audience: &Audience,
    reach: &Reach,
) -> Result<Vec<AnnouncementRow>> {
    let now = state.now();
    let before = EarlierAnnouncements::load(tx, subject).await?;
    let mut addresses = reach.addresses(tx, subject, audience).await?;
    addresses.retain(|address| !subject.voters.contains(&address.person));
    let people: BTreeSet<UserId> = addresses.iter().map(|address| address.person).collect();
    let people: Vec<UserId> = people.into_iter().collect();
    let certain = before.certain_recipients(&subject.voters, &people, now);
    let due = Quiet::new(now, subject, route).due(tx, &people, &certain).await?;
    let (mut asked, mut browsers) = (Vec::new(), Vec::new());
    for address in addresses {
        let (person, channel) = (address.person, address.channel());
        let Some(due) = due.get(&person).copied() else { continue };
        let new = announcement(subject, channel, RecipientKind::Person, person.to_string(), due);
        match (before.at(channel, person), address.way) {
            (Some(at), _) if at <= due => continue,
            (Some(_), way) => bring_forward(tx, subject, &way, &new).await?,
            (None, Way::Chat(platform, account)) => {
                chats::post(state, tx, subject, (platform, account), Some(person), due).await?;
            }
            (None, Way::Browser(browser)) => browsers.push((browser, due)),
        }
        asked.push(new);
    }
    browsers::notify(tx, subject, &browsers).await?;
    announcements::insert(tx, &asked).await?;
    Ok(asked)
}

/// Makes a message that was held back due when `new` is.
async fn bring_forward(
    tx: &mut Tx,
    subject: &ApprovalSubject,
    way: &Way,
    new: &AnnouncementRow,
) -> Result<()> {
    let (workspace, id) = (subject.workspace, subject.id);
    match way {
        Way::Chat(platform, account) => {
            let chat = (*platform, account.as_str());
            chat_messages::bring_forward(tx, workspace, id, chat, new.at).await?;
        }
        Way::Browser(browser) => {
            push::bring_forward(tx, *browser, browsers::push_id(id), new.at).await?;
        }
    }
    Ok(announcements::replace_later(tx, new).await?)
}

fn announcement(
    subject: &ApprovalSubject,
    channel: &str,
    kind: RecipientKind,
    recipient: String,
    at: UnixMillis,
) -> AnnouncementRow {
    AnnouncementRow {
        subject: subject.id,
        channel: channel.to_owned(),
        kind,
        recipient,
        at,
        workspace_id: subject.workspace,
    }
}
