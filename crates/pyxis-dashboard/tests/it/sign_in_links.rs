//! Rights that a sign-in link gives, and those it does not
//! (`docs/decisions/0007-count-accounts-behind-one-link-as-one-approver.md`).

use std::time::Duration;

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::UserId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::people;
use pyxis_gateway::admin::sessions::{self, LinkHolder};
use pyxis_gateway::{Actor, Error};
use pyxis_store::sign_in_links::{self, SignInLinkRow};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use sha2::{Digest, Sha256};

use crate::passkeys::{set_policy, state};
use crate::support::{Browser, ORIGIN_URL, PASSWORD, Page, Server, Team, begin, finish, register};

const ACCOUNT: &str = "/app/account";
const ANA: &str = "ana@example.com";
const BO: &str = "bo@example.com";

/// A team of an owner, Ana, and an admin, Bo, whose credential asks for two approvers.
struct Scene {
    server: Server,
    team: Team,
    ana: Browser,
    bo: Browser,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let server = Server::start(database).await;
        let (team, ana) = server.with_owner().await;
        let bo = server.with_person(&team, BO, Role::Admin).await;
        set_policy(&server, &team, r#"{"min_approvals":2}"#).await;
        server.later(Duration::from_secs(1));
        Self { server, team, ana, bo }
    }
}

impl Scene {
    async fn id(&self, email: &str) -> UserId {
        people::by_email(&self.server.gateway.store, self.team.id, email).await.unwrap().id
    }

    async fn actor(&self, email: &str) -> Actor {
        Actor::user(self.team.id, self.id(email).await, email)
    }

    /// A link to Bo's account, created by `actor`.
    async fn link(&self, actor: &Actor) -> String {
        let link = people::link(&self.server.gateway, actor, self.id(BO).await).await.unwrap();
        link.expose().strip_prefix(ORIGIN_URL).unwrap().to_owned()
    }

    /// Opens a link in a new browser, a second after anything before.
    async fn open(&self, link: &str) -> (Browser, Page) {
        self.server.later(Duration::from_secs(1));
        let mut browser = self.server.browser();
        let page = browser.submit(link, link, &[]).await;
        (browser, page)
    }

    /// The person who opened Bo's account, and the time of the first visit.
    async fn opened(&self) -> (Option<UserId>, Option<UnixMillis>) {
        let bo = people::by_email(&self.server.gateway.store, self.team.id, BO).await.unwrap();
        (bo.opened_by, bo.opened_at)
    }

    /// Final state of a request that Ana and someone in Bo's account approve.
    async fn both_approve(&mut self, other: &mut Browser) -> ApprovalState {
        let txn = self.server.post_pending(&self.team, "/v1/pay", "", "{}").await;
        let to = format!("/app/approvals/{txn}/approve");
        self.ana.submit(ACCOUNT, &to, &[]).await;
        other.submit(ACCOUNT, &to, &[]).await;
        state(&self.server, &self.team, &txn).await
    }

    async fn sign_in_with(&self, key: &mut Authenticator) -> Browser {
        let mut browser = self.server.browser();
        let begun = begin(&mut browser, "/sign-in", "/sign-in/passkey/begin", &[]).await;
        let given = key.get(&begun["options"]);
        let page = finish(&mut browser, "/sign-in", "/sign-in/passkey", &begun, &given, &[]).await;
        assert_eq!(page.location(), "/app");
        browser
    }
}

/// True if the browser is refused another passkey for the reason `why`.
async fn refused_a_passkey(browser: &mut Browser, why: &str) -> bool {
    let page = browser.submit(ACCOUNT, "/app/account/passkeys/begin", &[("name", "another")]).await;
    page.status == StatusCode::CONFLICT && page.text.contains(why)
}

engines! {
    async fn a_link_that_an_account_makes_for_itself_does_not_make_it_another_persons(scene: &mut Scene) {
        let ana = scene.id(ANA).await;
        scene.open(&scene.link(&scene.actor(ANA).await).await).await;
        let opened = scene.opened().await;
        assert_eq!(opened.0, Some(ana));
        let bo = scene.actor(BO).await;
        let refused = people::link(&scene.server.gateway, &bo, scene.id(BO).await).await;
        assert!(matches!(refused, Err(Error::Forbidden(_))));
        // A link from a time when this was not refused yet.
        let made = SignInLinkRow {
            token_hash: hex(&Sha256::digest("from-before")),
            workspace_id: scene.team.id,
            user_id: scene.id(BO).await,
            created_at: scene.server.gateway.now(),
            expires_at: scene.server.gateway.now().plus(people::LINK_LIFETIME),
            used_at: None,
            made_by: bo.user_id(),
        };
        sign_in_links::insert(&scene.server.gateway.store, &made).await.unwrap();
        let (mut puppet, page) = scene.open("/link/from-before").await;
        assert_eq!(page.location(), "/app");
        assert_eq!(scene.opened().await, opened);
        assert_eq!(scene.both_approve(&mut puppet).await, ApprovalState::Pending);
    }

    async fn a_passkey_that_came_after_the_first_link_gives_no_account_back_whatever_links_follow(scene: &mut Scene) {
        let ana = scene.actor(ANA).await;
        let (mut puppet, _) = scene.open(&scene.link(&ana).await).await;
        let opened = scene.opened().await;
        scene.server.later(Duration::from_secs(1));
        let mut key = Authenticator::new(ORIGIN_URL, 7);
        register(&mut puppet, &mut key, "brought along").await;
        scene.open(&scene.link(&ana).await).await;
        assert_eq!(scene.opened().await, opened);
        let mut puppet = scene.sign_in_with(&mut key).await;
        assert_eq!(scene.opened().await, opened);
        assert_eq!(scene.both_approve(&mut puppet).await, ApprovalState::Pending);
    }

    async fn a_passkey_from_before_or_a_link_of_the_command_line_gives_the_account_back(scene: &mut Scene) {
        let (ana, cli) = (scene.actor(ANA).await, Actor::cli(scene.team.id));
        let mut key = Authenticator::new(ORIGIN_URL, 2);
        let mut bo = scene.bo.clone();
        register(&mut bo, &mut key, "bo").await;
        for _ in 0..2 {
            scene.open(&scene.link(&ana).await).await;
        }
        assert!(scene.opened().await.0.is_some());
        let mut real = scene.sign_in_with(&mut key).await;
        assert_eq!(scene.opened().await, (None, None));
        assert_eq!(scene.both_approve(&mut real).await, ApprovalState::Approved);
        scene.open(&scene.link(&ana).await).await;
        assert!(scene.opened().await.0.is_some());
        let (mut real, _) = scene.open(&scene.link(&cli).await).await;
        assert_eq!(scene.opened().await, (None, None));
        assert_eq!(scene.both_approve(&mut real).await, ApprovalState::Approved);
    }

    async fn nobody_takes_the_place_of_the_person_who_opened_an_account(scene: &mut Scene) {
        scene.server.with_person(&scene.team, "cleo@example.com", Role::Admin).await;
        let (ana, cleo) = (scene.actor(ANA).await, scene.actor("cleo@example.com").await);
        let (early, late) = (scene.link(&cleo).await, scene.link(&ana).await);
        let (mut puppet, _) = scene.open(&late).await;
        let opened = scene.opened().await;
        let (_, page) = scene.open(&early).await;
        assert_eq!(page.status, StatusCode::CONFLICT);
        assert!(page.text.contains("another person made the link"), "{}", page.text);
        let refused = people::link(&scene.server.gateway, &cleo, scene.id(BO).await).await;
        assert!(matches!(refused, Err(Error::Conflict(_))));
        assert_eq!(scene.opened().await, opened);
        assert_eq!(scene.both_approve(&mut puppet).await, ApprovalState::Pending);
        // The refused link was not used up: it works once the account is no one else's.
        scene.open(&scene.link(&Actor::cli(scene.team.id)).await).await;
        assert_eq!(scene.open(&early).await.1.location(), "/app");
        assert_eq!(scene.opened().await.0, cleo.user_id());
    }

    async fn a_session_of_a_link_brings_the_first_passkey_and_no_further_one(scene: &Scene) {
        let mut bo = scene.bo.clone();
        register(&mut bo, &mut Authenticator::new(ORIGIN_URL, 1), "first").await;
        let again = "sign out and in again first, with the password or a passkey";
        assert!(refused_a_passkey(&mut bo, again).await, "an invitation");
        let page = bo.get(ACCOUNT).await.text;
        let id = page.split("/app/account/passkeys/").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let remove = format!("/app/account/passkeys/{id}/remove");
        assert_eq!(bo.submit(ACCOUNT, &remove, &[]).await.status, StatusCode::CONFLICT);
        let mut proved = scene.server.browser();
        proved.sign_in(BO, PASSWORD).await;
        register(&mut proved, &mut Authenticator::new(ORIGIN_URL, 2), "second").await;
        assert!(proved.get(ACCOUNT).await.text.contains("value=\"second\""));
        let (mut linked, _) = scene.open(&scene.link(&Actor::cli(scene.team.id)).await).await;
        assert!(refused_a_passkey(&mut linked, again).await, "the command line");
        // While someone else has the account open, its password may be theirs as well.
        let (mut linked, _) = scene.open(&scene.link(&scene.actor(ANA).await).await).await;
        let mut password = scene.server.browser();
        password.sign_in(BO, PASSWORD).await;
        for browser in [&mut linked, &mut password] {
            assert!(refused_a_passkey(browser, "an earlier passkey").await);
        }
    }

    async fn an_account_with_nothing_but_passkeys_takes_its_first_password_from_no_session_of_a_link(scene: &Scene) {
        let gateway = &scene.server.gateway;
        let (_, link) = people::add(gateway, &Actor::cli(scene.team.id), "cleo@example.com", Role::Admin).await.unwrap();
        let token = link.expose().rsplit('/').next().unwrap();
        let (opened, _) = sessions::sign_in_by_link(gateway, token, LinkHolder::Browser).await.unwrap();
        let mut cleo = scene.server.browser();
        cleo.jar.insert("px_session".to_owned(), opened.token.expose().clone());
        let mut key = Authenticator::new(ORIGIN_URL, 1);
        register(&mut cleo, &mut key, "cleo").await;
        let set_password = async |token: &str| {
            let person = sessions::find(&gateway.store, token, gateway.now()).await.unwrap();
            let new = SecretString::new(PASSWORD.to_owned());
            sessions::change_password(gateway, &person, &SecretString::new(String::new()), &new).await
        };
        assert!(matches!(set_password(opened.token.expose()).await, Err(Error::Conflict(_))));
        let proved = scene.sign_in_with(&mut key).await;
        set_password(&proved.jar["px_session"]).await.unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    pyxis_core::hex::encode(bytes)
}
