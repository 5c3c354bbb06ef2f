//! People and their rights to decide and manage.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/people`.
#[derive(Clone, Debug, Template)]
#[template(path = "people.html")]
pub struct PeoplePage {
    pub shell: Layout,
    /// True if there are no other people.
    pub alone: bool,
    /// The search field and pages.
    pub search: Search,
    /// The people found, by e-mail address.
    pub people: Vec<Person>,
}

/// One person. Posts to `/app/people/{id}/disable`, `/enable`, `/link` (a new one-time sign-in link), `/role` (`role`)
/// and `/withdraw` (an unused invitation).
#[derive(Clone, Debug)]
pub struct Person {
    pub id: String,
    pub email: String,
    /// Role in words.
    pub role: String,
    /// Roles that the viewer may give this person; empty if the viewer may not change them.
    pub roles: Vec<Choice>,
    /// True if they may sign in.
    pub enabled: bool,
    /// True if it is the viewer.
    pub you: bool,
    /// Last sign-in; `None` means never, and the link is still unused.
    pub last_seen: Option<Timestamp>,
    /// True if the viewer may disable this person or create a link for them.
    pub changeable: bool,
    /// Rights: `everything`, `3 credentials`, `nothing yet`.
    pub grants: String,
    /// The page for setting a member's grants.
    pub grants_page: Option<String>,
}

/// `GET /app/people/{id}`: a member's rights. Posts to `/app/people/{id}/grants`: `credential` (each one that is
/// shown), `approve` and `policy` (the ticked ones).
#[derive(Clone, Debug, Template)]
#[template(path = "member.html")]
pub struct MemberPage {
    pub shell: Layout,
    pub id: String,
    pub email: String,
    /// The search field and pages. A form changes only the rights that it shows.
    pub search: Search,
    /// The credentials found, by name.
    pub rows: Vec<GrantRow>,
}

/// A member's rights for one credential.
#[derive(Clone, Debug)]
pub struct GrantRow {
    pub name: String,
    /// Decide its requests.
    pub approve: bool,
    /// Propose changes to its policy.
    pub policy: bool,
}

/// `GET /app/new/person`; posts to `/app/people`: `email`, `role`.
#[derive(Clone, Debug, Template)]
#[template(path = "person_new.html")]
pub struct NewPersonPage {
    pub shell: Layout,
    /// E-mail address as typed.
    pub email: String,
    /// Roles the viewer may give.
    pub roles: Vec<Choice>,
    pub problems: Problems,
}

/// Response to adding a person or creating a link: shows the link once. Never cached.
#[derive(Clone, Template)]
#[template(path = "person_link.html")]
pub struct PersonLinkPage {
    pub shell: Layout,
    /// Recipient.
    pub email: String,
    pub link: String,
    /// Validity: `48 hours`.
    pub valid: String,
}

impl std::fmt::Debug for PersonLinkPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PersonLinkPage").field("email", &self.email).finish_non_exhaustive()
    }
}

in_section!(PeoplePage => People, MemberPage => People, NewPersonPage => People, PersonLinkPage => People);
