//! People: who may decide and manage.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/people`.
#[derive(Clone, Debug, Template)]
#[template(path = "people.html")]
pub struct PeoplePage {
    /// The frame.
    pub shell: Layout,
    /// True if there is nobody else.
    pub alone: bool,
    /// The search field and pages.
    pub search: Search,
    /// Those found, by e-mail address.
    pub people: Vec<Person>,
}

/// One person. Posts to `/app/people/{id}/disable`, `/enable`, `/link` (a new one-time sign-in link),
/// `/role` (`role`),
/// `/withdraw` (an invitation nobody used).
#[derive(Clone, Debug)]
pub struct Person {
    /// User id.
    pub id: String,
    /// E-mail address.
    pub email: String,
    /// Role in words.
    pub role: String,
    /// Roles this person could be given; empty if they cannot be changed by the viewer.
    pub roles: Vec<Choice>,
    /// True if they may sign in.
    pub enabled: bool,
    /// True if it is the viewer.
    pub you: bool,
    /// Last sign-in; `None` means never, the link is still out.
    pub last_seen: Option<Timestamp>,
    /// True if the viewer may disable them, or make a link.
    pub changeable: bool,
    /// What they may do: `everything`, `3 credentials`, `nothing yet`.
    pub grants: String,
    /// The page where a member's grants are set.
    pub grants_page: Option<String>,
}

/// `GET /app/people/{id}`: what a member may do. Posts to `/app/people/{id}/grants`: `credential` (each
/// that is shown), `approve` and `policy` (those that are ticked).
#[derive(Clone, Debug, Template)]
#[template(path = "member.html")]
pub struct MemberPage {
    /// The frame.
    pub shell: Layout,
    /// User id.
    pub id: String,
    /// E-mail address.
    pub email: String,
    /// The search field and pages. A form changes only the rights that it shows.
    pub search: Search,
    /// The credentials that were found, by name.
    pub rows: Vec<GrantRow>,
}

/// What a member may do with one credential.
#[derive(Clone, Debug)]
pub struct GrantRow {
    /// Its name.
    pub name: String,
    /// Decide its requests.
    pub approve: bool,
    /// Propose changes of its policy.
    pub policy: bool,
}

/// `GET /app/new/person`; posts to `/app/people`: `email`, `role`.
#[derive(Clone, Debug, Template)]
#[template(path = "person_new.html")]
pub struct NewPersonPage {
    /// The frame.
    pub shell: Layout,
    /// E-mail address as typed.
    pub email: String,
    /// Roles the viewer may give.
    pub roles: Vec<Choice>,
    /// What is wrong.
    pub problems: Problems,
}

/// The answer to adding a person or making a link: the link, this once. Never cached.
#[derive(Clone, Template)]
#[template(path = "person_link.html")]
pub struct PersonLinkPage {
    /// The frame.
    pub shell: Layout,
    /// For whom.
    pub email: String,
    /// The full URL.
    pub link: String,
    /// How long it works: `48 hours`.
    pub valid: String,
}

impl std::fmt::Debug for PersonLinkPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PersonLinkPage").field("email", &self.email).finish_non_exhaustive()
    }
}

in_section!(PeoplePage => People, MemberPage => People, NewPersonPage => People, PersonLinkPage => People);
