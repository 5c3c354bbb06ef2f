//! Rooms and people that are asked about a request. Who was asked is stored, so that no one is asked twice in person.

use std::collections::BTreeSet;

use pyxis_core::approval_mode::Channel;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{PushSubscriptionId, UserId};
use pyxis_core::policy::Policy;
use pyxis_store::announcements::{self, AnnouncementRow, RecipientKind};
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::{Tx, chat_identities, chat_messages, push, votes};

use super::quiet::{Quiet, Recipients};
use super::{browsers, chats};
use crate::error::Result;
use crate::identity::voters;
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
    async fn among(&self, tx: &mut Tx, row: &ApprovalRow, people: Vec<UserId>) -> Result<Vec<UserId>> {
        match self {
            Self::Eligible => voters::eligible_among(tx, row.workspace_id, row.credential_id, people).await,
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
    async fn addresses(&self, tx: &mut Tx, row: &ApprovalRow, audience: &Audience) -> Result<Vec<Address>> {
        let mut all = Vec::new();
        for platform in self.platforms.iter().copied() {
            let linked = chat_identities::list(&mut *tx, row.workspace_id, platform).await?;
            all.extend(linked.into_iter().map(|account| Address {
                person: account.user_id,
                way: Way::Chat(platform, account.external_id),
            }));
        }
        if self.browsers {
            let browsers = push::list(&mut *tx, row.workspace_id).await?;
            all.extend(
                browsers.into_iter().map(|(browser, person)| Address { person, way: Way::Browser(browser) }),
            );
        }
        let people = audience.among(tx, row, all.iter().map(|address| address.person).collect()).await?;
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

/// Earlier announcements of a request, and the people whose approvals count.
struct EarlierAnnouncements {
    announcements: Vec<AnnouncementRow>,
    voters: BTreeSet<UserId>,
}

impl EarlierAnnouncements {
    async fn load(tx: &mut Tx, row: &ApprovalRow, policy: Option<&Policy>) -> Result<Self> {
        let announcements = announcements::list(&mut *tx, row.workspace_id, row.txn_id).await?;
        // An edit removes all votes.
        let votes = votes::list(&mut *tx, row.workspace_id, row.txn_id).await?;
        let counted = votes.iter().filter(|vote| voters::counts(vote, row, policy));
        Ok(Self { announcements, voters: counted.map(|vote| vote.user_id).collect() })
    }

    /// Time from which a person is told on a channel, if they were asked there.
    fn at(&self, channel: &str, person: UserId) -> Option<UnixMillis> {
        let to_person = |one: &&AnnouncementRow| one.channel == channel && asked_person(one) == Some(person);
        self.announcements.iter().filter(to_person).map(|one| one.at).min()
    }

    /// Recipients that are told, whatever becomes of messages to `people`. A message to one of them that is held back
    /// does not count.
    fn certain_recipients(&self, people: &[UserId], now: UnixMillis) -> Recipients {
        let mut told = Recipients { rooms: 0, people: self.voters.clone() };
        for one in &self.announcements {
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

/// Announces a new request to the rooms of its channel and to the people on call. If no one is on call or none of them
/// can be reached, it asks everyone that the channel reaches.
pub(super) async fn ask_first(
    state: &State,
    tx: &mut Tx,
    row: &ApprovalRow,
    policy: Option<&Policy>,
) -> Result<()> {
    let rooms = match row.channel.platform() {
        Some(platform) => {
            let rooms = chats::rooms(&state.config.chats, tx, row, policy, platform).await?;
            ask_rooms(state, tx, row, platform, rooms).await?
        }
        None => Vec::new(),
    };
    let emails = policy.map_or(&[][..], |policy| &policy.on_call);
    let on_call = voters::eligible_by_email(tx, row.workspace_id, row.credential_id, emails).await?;
    if !on_call.is_empty() {
        let audience = Audience::People(on_call);
        if !ask_people(state, tx, (row, policy), &audience, &Reach::everywhere()).await?.is_empty() {
            return Ok(());
        }
    }
    let reach = Reach::of_channel(row.channel, !rooms.is_empty());
    ask_people(state, tx, (row, policy), &Audience::Eligible, &reach).await?;
    Ok(())
}

/// Posts to rooms, and records the announcements.
pub(super) async fn ask_rooms(
    state: &State,
    tx: &mut Tx,
    row: &ApprovalRow,
    platform: ChatPlatform,
    rooms: Vec<String>,
) -> Result<Vec<AnnouncementRow>> {
    let (now, mut asked) = (state.now(), Vec::new());
    for room in rooms {
        asked.push(announcement(row, platform.as_str(), RecipientKind::Room, room.clone(), now));
        chats::post(state, tx, row, (platform, room), None, now).await?;
    }
    announcements::insert(tx, &asked).await?;
    Ok(asked)
}

/// Asks people in person. Those are left out who were told in the same way before, who approved, and whose quiet hours
/// end after the request. A message that was held back is sent at once if quiet hours no longer hold it.
pub(super) async fn ask_people(
    state: &State,
    tx: &mut Tx,
    (row, policy): (&ApprovalRow, Option<&Policy>),
    audience: &Audience,
    reach: &Reach,
) -> Result<Vec<AnnouncementRow>> {
    let now = state.now();
    let before = EarlierAnnouncements::load(tx, row, policy).await?;
    let mut addresses = reach.addresses(tx, row, audience).await?;
    addresses.retain(|address| !before.voters.contains(&address.person));
    let people: BTreeSet<UserId> = addresses.iter().map(|address| address.person).collect();
    let people: Vec<UserId> = people.into_iter().collect();
    let due = Quiet::new(now, row, policy).due(tx, &people, &before.certain_recipients(&people, now)).await?;
    let (mut asked, mut browsers) = (Vec::new(), Vec::new());
    for address in addresses {
        let (person, channel) = (address.person, address.channel());
        let Some(due) = due.get(&person).copied() else { continue };
        let new = to_person(row, channel, person, due);
        match (before.at(channel, person), address.way) {
            (Some(at), _) if at <= due => continue,
            (Some(_), way) => bring_forward(tx, row, &way, &new).await?,
            (None, Way::Chat(platform, account)) => {
                chats::post(state, tx, row, (platform, account), Some(person), due).await?;
            }
            (None, Way::Browser(browser)) => browsers.push((browser, due)),
        }
        asked.push(new);
    }
    browsers::notify(tx, row, &browsers).await?;
    announcements::insert(tx, &asked).await?;
    Ok(asked)
}

/// Makes a message that was held back due when `new` is.
async fn bring_forward(tx: &mut Tx, row: &ApprovalRow, way: &Way, new: &AnnouncementRow) -> Result<()> {
    let (workspace, txn) = (row.workspace_id, row.txn_id);
    match way {
        Way::Chat(platform, account) => {
            chat_messages::bring_forward(tx, workspace, txn, (*platform, account.as_str()), new.at).await?;
        }
        Way::Browser(browser) => push::bring_forward(tx, *browser, txn, new.at).await?,
    }
    Ok(announcements::replace_later(tx, new).await?)
}

fn to_person(row: &ApprovalRow, channel: &str, person: UserId, at: UnixMillis) -> AnnouncementRow {
    announcement(row, channel, RecipientKind::Person, person.to_string(), at)
}

fn announcement(
    row: &ApprovalRow,
    channel: &str,
    kind: RecipientKind,
    recipient: String,
    at: UnixMillis,
) -> AnnouncementRow {
    AnnouncementRow {
        txn_id: row.txn_id,
        channel: channel.to_owned(),
        kind,
        recipient,
        at,
        workspace_id: row.workspace_id,
    }
}
