//! Signing in, links, sessions, and the proofs that a form is ours.

use std::time::Duration;

use http::StatusCode;
use http::header::{ORIGIN, SET_COOKIE};
use pyxis_core::approval_mode::Role;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{agents, people};
use pyxis_testkit::engines;

use crate::support::{ORIGIN_URL, PASSWORD, Server};

type Pairs<'a> = &'a [(&'a str, &'a str)];

#[tokio::test]
async fn a_page_without_a_session_leads_to_sign_in_and_back() {
    let server = Server::new().await;
    let (_, _) = server.with_owner().await;
    let mut browser = server.browser();
    let away = browser.get("/app/audit?q=a%20b").await;
    assert_eq!(away.status, StatusCode::SEE_OTHER);
    assert_eq!(away.location(), "/sign-in?next=%2Fapp%2Faudit%3Fq%3Da%2520b");
    let form = browser.get(away.location()).await;
    assert!(form.text.contains("name=\"next\" value=\"/app/audit?q=a%20b\""));
    let fields = [("email", "ana@example.com"), ("password", PASSWORD), ("next", "/app/audit?q=a%20b")];
    assert_eq!(browser.submit("/sign-in", "/sign-in", &fields).await.location(), "/app/audit?q=a%20b");
    assert_eq!(browser.get("/app/audit").await.status, StatusCode::OK);
}

#[tokio::test]
async fn signing_in_never_leads_to_another_site() {
    let server = Server::new().await;
    let (_, _) = server.with_owner().await;
    for next in ["//evil.example", "https://evil.example/app/", "/app/\\evil"] {
        let mut browser = server.browser();
        let fields = [("email", "ana@example.com"), ("password", PASSWORD), ("next", next)];
        assert_eq!(browser.submit("/sign-in", "/sign-in", &fields).await.location(), "/app");
    }
}

#[tokio::test]
async fn opening_a_link_uses_nothing_up_and_the_button_works_once() {
    let server = Server::new().await;
    let team = server.team("acme", "ana@example.com").await;
    let mut browser = server.browser();
    for _ in 0..3 {
        assert_eq!(browser.get(&team.link).await.status, StatusCode::OK);
    }
    let short = browser.submit(&team.link, &team.link, &[("password", "short")]).await;
    assert_eq!(short.status, StatusCode::UNPROCESSABLE_ENTITY, "a typing error does not cost the link");
    browser.use_link(&team.link).await;
    assert_eq!(browser.get("/app/inbox").await.status, StatusCode::OK);
    assert_eq!(server.browser().get(&team.link).await.status, StatusCode::NOT_FOUND);
}

engines! {
    async fn an_invitation_opens_for_two_days_and_no_longer(server: Server) {
        let (team, _) = server.with_owner().await;
        let invite = async |email: &str| {
            let (_, link) = people::add(&server.gateway, &Actor::cli(team.id), email, Role::Member).await.unwrap();
            link.expose().strip_prefix(ORIGIN_URL).unwrap().to_owned()
        };
        let (in_time, late) = (invite("one@example.com").await, invite("two@example.com").await);
        server.later(Duration::from_hours(48) - Duration::from_secs(1));
        server.browser().use_link(&in_time).await;
        server.later(Duration::from_secs(1));
        let mut browser = server.browser();
        assert_eq!(browser.get(&late).await.status, StatusCode::NOT_FOUND);
        let fields = [("password", PASSWORD), ("password_again", PASSWORD)];
        let refused = browser.submit("/sign-in", &late, &fields).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{}", refused.text);
        let refused = browser.sign_in("two@example.com", PASSWORD).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn five_wrong_passwords_lock_even_the_right_one_out_for_a_while() {
    let server = Server::new().await;
    let (_, _) = server.with_owner().await;
    let mut browser = server.browser();
    for _ in 0..5 {
        let page = browser.sign_in("ana@example.com", "wrong password").await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    }
    let locked = browser.sign_in("ana@example.com", PASSWORD).await;
    assert_eq!(locked.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(locked.text.contains("Too many failed attempts"));
    server.later(Duration::from_mins(15));
    assert_eq!(browser.sign_in("ana@example.com", PASSWORD).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn the_session_cookie_is_out_of_reach_of_scripts_and_other_sites() {
    let server = Server::new().await;
    let (_, _) = server.with_owner().await;
    let page = server.browser().sign_in("ana@example.com", PASSWORD).await;
    let cookies: Vec<_> =
        page.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap().to_owned()).collect();
    let session = cookies.iter().find(|cookie| cookie.starts_with("px_session=")).unwrap();
    for attribute in ["; Path=/", "; HttpOnly", "; SameSite=Lax"] {
        assert!(session.contains(attribute), "{session}");
    }
    assert!(!session.contains("Domain"));
}

#[tokio::test]
async fn signing_in_again_replaces_the_session_and_signing_out_ends_it() {
    let server = Server::new().await;
    let (_, mut browser) = server.with_owner().await;
    let old = browser.clone();
    // The sign-in form redirects a signed-in browser, so the token comes from a fresh visit.
    let mut fresh = server.browser();
    let csrf = fresh.get("/sign-in").await.csrf();
    browser.jar.extend(fresh.jar);
    let fields = [("csrf", csrf.as_str()), ("email", "ana@example.com"), ("password", PASSWORD)];
    let page = browser.post("/sign-in", &[(ORIGIN.as_str(), ORIGIN_URL)], &fields).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_ne!(browser.jar["px_session"], old.jar["px_session"]);
    assert_eq!(old.clone().get("/app/inbox").await.status, StatusCode::SEE_OTHER, "the old one is over");
    let kept = browser.clone();
    assert_eq!(browser.submit("/app/inbox", "/sign-out", &[]).await.location(), "/sign-in");
    assert!(!browser.jar.contains_key("px_session"));
    assert_eq!(kept.clone().get("/app/inbox").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_form_that_is_not_provably_ours_changes_nothing() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let csrf = browser.get("/app/new/agent").await.csrf();
    let name = ("name", "intruder");
    let ours = (ORIGIN.as_str(), ORIGIN_URL);
    let cases: &[(Pairs<'_>, Pairs<'_>)] = &[
        (&[ours], &[name]),
        (&[ours], &[("csrf", "0123456789abcdef"), name]),
        (&[ours], &[("csrf", ""), name]),
        (&[], &[("csrf", &csrf), name]),
        (&[(ORIGIN.as_str(), "https://evil.example")], &[("csrf", &csrf), name]),
        (&[(ORIGIN.as_str(), "null")], &[("csrf", &csrf), name]),
        (&[ours, ("sec-fetch-site", "cross-site")], &[("csrf", &csrf), name]),
        (&[ours, ("sec-fetch-site", "same-site")], &[("csrf", &csrf), name]),
    ];
    for (headers, fields) in cases {
        let page = browser.post("/app/agents", headers, fields).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{headers:?} {fields:?}");
        assert!(page.text.contains("This form is no longer valid"));
    }
    let names = agents::list(&server.gateway.store, team.id).await.unwrap();
    assert!(names.iter().all(|agent| agent.row.name != "intruder"));
    let good = browser.post("/app/agents", &[ours], &[("csrf", &csrf), name]).await;
    assert_eq!(good.status, StatusCode::OK, "the same form from our own page works");
}

#[tokio::test]
async fn the_sign_in_form_needs_the_token_of_its_own_visit() {
    let server = Server::new().await;
    let (_, _) = server.with_owner().await;
    let stolen = server.browser().get("/sign-in").await.csrf();
    let fields = [("csrf", stolen.as_str()), ("email", "ana@example.com"), ("password", PASSWORD)];
    let ours = [(ORIGIN.as_str(), ORIGIN_URL)];
    assert_eq!(server.browser().post("/sign-in", &ours, &fields).await.status, StatusCode::FORBIDDEN);
    let mut other = server.browser();
    other.get("/sign-in").await;
    assert_eq!(other.post("/sign-in", &ours, &fields).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_bearer_session_is_nobody_in_a_cookie() {
    use pyxis_core::secret::SecretString;
    use pyxis_gateway::admin::sessions::{LinkHolder, sign_in};
    let server = Server::new().await;
    let (_, _) = server.with_owner().await;
    let password = SecretString::new(PASSWORD.to_owned());
    let opened = sign_in(&server.gateway, "ana@example.com", &password, LinkHolder::Bearer).await.unwrap();
    let mut browser = server.browser();
    browser.jar.insert("px_session".to_owned(), opened.token.expose().clone());
    assert_eq!(browser.get("/app/inbox").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_leads_to_sign_in() {
    let server = Server::new().await;
    let (_, mut browser) = server.with_owner().await;
    let csrf = browser.get("/app/inbox").await.csrf();
    server.later(Duration::from_hours(25));
    let ours = [(ORIGIN.as_str(), ORIGIN_URL)];
    let page = browser.post("/app/settings", &ours, &[("csrf", &csrf)]).await;
    assert_eq!(page.location(), "/sign-in?ended=1");
}
