//! Requests that are announced through a real mail server.

use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_store::chat_messages;
use pyxis_testkit::smtp::{Encryption, MailServer, Port, header};
use pyxis_testkit::tls::Authority;
use serde_json::Value;

use super::*;
use crate::delivery::reports;
use crate::support::{Setup, Site};

struct Office {
    proxy: Proxy,
    server: MailServer,
}

impl Office {
    async fn open(database: TestDatabase, encryption: Encryption, without: &[&str]) -> Self {
        Self::with_password(database, encryption, without, PASSWORD).await
    }

    async fn with_password(
        database: TestDatabase,
        encryption: Encryption,
        without: &[&str],
        password: &str,
    ) -> Self {
        let port = Port::reserve();
        let security = match encryption {
            Encryption::Tls => Security::Tls,
            Encryption::StartTls | Encryption::None => Security::StartTls,
        };
        let proxy = proxy_at(database, port.number(), security, password).await;
        let server = MailServer::start(port, &proxy.authority, HOST, encryption, without);
        Self { proxy, server }
    }

    async fn deliver(&self) {
        deliver_due(&self.proxy.state).await.unwrap();
    }

    /// Delivers what another attempt is due for.
    async fn deliver_again(&self) {
        self.proxy.advance(Duration::from_mins(2));
        self.deliver().await;
    }

    /// The only mail.
    fn mail(&mut self) -> Value {
        let mut mails = self.server.mails();
        assert_eq!(mails.len(), 1, "{mails:?}");
        mails.remove(0)
    }

    async fn message_ids(&self, txn: TxnId) -> Vec<String> {
        let rows = chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap();
        rows.iter().map(|row| format!("<{}@px.example.com>", row.id)).collect()
    }
}

fn text<'a>(mail: &'a Value, field: &str) -> &'a str {
    mail[field].as_str().unwrap()
}

/// A whole announcement, over any kind of encryption.
async fn announced(mut office: Office, mechanism: &str) {
    assert!(doctor(&office.proxy).await.is_empty());
    assert!(office.server.happened("sender").is_empty(), "an examination sends nothing");
    let txn = office.proxy.pause_because(1, "Monthly <invoice> & more").await;
    office.deliver().await;
    let mail = office.mail();
    assert!(mail["is_encrypted"] == true && mail["login"] == "pyxis", "{mail}");
    assert!(mail["from"] == "px@px.example.com" && mail["to"] == json!([OPS]), "{mail}");
    let signed_in = office.server.happened("sign-in");
    assert!(signed_in.iter().all(|found| found["mechanism"] == mechanism && found["is_right"] == true));
    assert_eq!(mail["parts"], json!(["multipart/alternative", "text/plain", "text/html"]));
    assert_eq!(mail["defects"], json!([]), "{mail}");
    assert_eq!(header(&mail, "From"), "Pyxis <px@px.example.com>");
    assert_eq!(header(&mail, "To"), OPS);
    let subject = header(&mail, "Subject");
    assert!(
        subject.starts_with("Pyxis · Approval needed: ") && subject.ends_with(" wants to use api"),
        "{subject}"
    );
    assert_eq!(header(&mail, "Auto-Submitted"), "auto-generated");
    assert_eq!([header(&mail, "Message-ID").to_owned()], office.message_ids(txn).await.as_slice());
    let url = format!("https://px.example.com/approve/{txn}");
    let plain = text(&mail, "plain");
    assert!(plain.contains(&format!("\nRead the full request and approve: {url}\n")), "{plain}");
    assert!(
        plain.contains("\nReason: “Monthly <invoice> & more”\n") && plain.contains("│ round 1"),
        "{plain}"
    );
    let html = text(&mail, "html");
    assert!(
        html.contains(&format!("<a href=\"{url}\">")) && html.contains("&lt;invoice&gt; &amp; more"),
        "{html}"
    );

    // A mail cannot be changed, so a decision sends none.
    let owner = office.proxy.approver(0, DecisionSurface::Dashboard);
    decide(&office.proxy.state, &owner, txn, Decision::Deny(None)).await.unwrap();
    office.deliver_again().await;
    assert_eq!(office.server.mails().len(), 1);
    assert!(errors(&office.proxy).await.is_empty());
}

engines! {
    async fn a_request_is_announced_with_a_link_over_starttls(database: TestDatabase) {
        announced(Office::open(database, Encryption::StartTls, &[]).await, "PLAIN").await;
    }

    async fn a_request_is_announced_over_a_connection_that_is_encrypted_from_its_start(database: TestDatabase) {
        announced(Office::open(database, Encryption::Tls, &[]).await, "PLAIN").await;
    }

    async fn a_server_that_knows_only_auth_login_is_signed_in_to(database: TestDatabase) {
        announced(Office::open(database, Encryption::StartTls, &["PLAIN"]).await, "LOGIN").await;
    }

    async fn a_wrong_password_is_shown_by_the_doctor_and_messages_wait(database: TestDatabase) {
        let mut office = Office::with_password(database, Encryption::StartTls, &[], "wrong-canary").await;
        let found = doctor(&office.proxy).await;
        assert!(found.len() == 1 && found[0].0 == "E-mail bot", "{found:?}");
        assert!(found[0].1.contains("refused PX_SMTP_USERNAME with PX_SMTP_PASSWORD: 535"), "{found:?}");
        assert!(!found[0].1.contains("wrong-canary"));
        let txn = office.proxy.pause(1).await;
        office.deliver().await;
        office.deliver_again().await;
        let rows = chat_messages::list(&office.proxy.state.store, office.proxy.workspace, txn).await.unwrap();
        assert!(rows[0].attempts == 2 && rows[0].next_at.is_some(), "it is tried until the request is over");
        assert!(rows[0].error.as_deref().unwrap().contains(": 535"));
        assert!(office.server.happened("sender").is_empty());
    }

    async fn a_server_without_starttls_is_given_nothing(database: TestDatabase) {
        let mut office = Office::open(database, Encryption::None, &[]).await;
        let found = doctor(&office.proxy).await;
        assert!(found.len() == 1 && found[0].1.contains("offers no STARTTLS"), "{found:?}");
        office.proxy.pause(1).await;
        office.deliver().await;
        assert!(errors(&office.proxy).await[0].contains("offers no STARTTLS"));
        for kind in ["sign-in", "sender", "recipient", "mail"] {
            assert!(office.server.happened(kind).is_empty(), "{kind}");
        }
    }

    async fn a_server_whose_certificate_is_not_trusted_is_given_nothing(database: TestDatabase) {
        let port = Port::reserve();
        let proxy = proxy_at(database, port.number(), Security::StartTls, PASSWORD).await;
        let mut server = MailServer::start(port, &Authority::new(), HOST, Encryption::StartTls, &[]);
        let found = doctor(&proxy).await;
        assert!(found[0].1.contains("certificate"), "{found:?}");
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert!(server.happened("sign-in").is_empty() && server.happened("sender").is_empty());
    }

    async fn a_message_that_is_refused_for_now_is_sent_later_as_the_same_message(database: TestDatabase) {
        let mut office = Office::open(database, Encryption::StartTls, &[]).await;
        announce_to(&office.proxy, "later@example.com,busy@example.com").await;
        let txn = office.proxy.pause(1).await;
        office.deliver().await;
        assert!(office.server.mails().is_empty());
        let mut found = errors(&office.proxy).await;
        found.sort();
        assert!(found[0].contains("451 4.3.0") && found[1].contains("451 4.7.1 Greylisted"), "{found:?}");
        office.deliver_again().await;
        assert!(errors(&office.proxy).await.is_empty());
        assert_eq!(office.server.mails().len(), 2);
        // The server has seen the content of one of them twice.
        let seen = office.server.happened("mail");
        let mut ids: Vec<_> = seen.iter().map(|mail| header(mail, "Message-ID").to_owned()).collect();
        assert_eq!(ids.len(), 3);
        ids.sort();
        ids.dedup();
        let mut expected = office.message_ids(txn).await;
        expected.sort();
        assert_eq!(ids, expected);
    }

    async fn an_address_that_is_refused_for_good_is_named_and_the_others_get_their_mail(database: TestDatabase) {
        let mut office = Office::open(database, Encryption::StartTls, &[]).await;
        announce_to(&office.proxy, "refused@example.com, ops@example.com").await;
        office.proxy.pause(1).await;
        office.deliver().await;
        office.deliver_again().await;
        assert_eq!(office.mail()["to"], json!([OPS]));
        let tried = office.server.happened("recipient");
        let tried = tried.iter().filter(|event| event["address"] == "refused@example.com").count();
        assert_eq!(tried, 1, "it is given up");
        let found = doctor(&office.proxy).await;
        assert!(found.len() == 1 && found[0].0 == "E-mail address refused@example.com", "{found:?}");
        assert!(found[0].1.contains("refused the recipient: 550 5.1.1 No such user here"), "{found:?}");
    }

    async fn text_of_an_agent_changes_neither_headers_nor_the_end_of_a_mail(database: TestDatabase) {
        let mut office = Office::open(database, Encryption::StartTls, &[]).await;
        let body = "a\r\n.\r\nRSET\r\nMAIL FROM:<eve@example.com>\r\n\r\nBcc: eve@example.com\n.\n--px-0\r\n\r\n<script>";
        let request = office.proxy.forward("POST", &office.proxy.upstream.url("/act"));
        let request = request.header("x-px-reason", "a\u{2028}Bcc: eve@example.com".as_bytes());
        office.proxy.send_pending(request.body(body.into()).unwrap()).await;
        office.deliver().await;
        assert_eq!(office.server.happened("sender").len(), 1);
        let mail = office.mail();
        assert_eq!(mail["to"], json!([OPS]));
        let names: Vec<_> = mail["headers"].as_array().unwrap().iter().map(|header| header[0].as_str().unwrap()).collect();
        assert!(!names.contains(&"Bcc") && names.len() == 8, "{names:?}");
        assert_eq!(mail["parts"], json!(["multipart/alternative", "text/plain", "text/html"]));
        let plain = text(&mail, "plain");
        assert!(plain.contains("│ .") && plain.contains("│ MAIL FROM:<eve@example.com>"), "{plain}");
        assert!(plain.ends_with("Secured by Pyxis"), "{plain}");
        assert!(!text(&mail, "html").contains("<script>"));
    }

    async fn long_text_and_any_script_arrive_as_they_were_written(database: TestDatabase) {
        let mut office = Office::open(database, Encryption::Tls, &[]).await;
        let reason = "Überweisung für 日本語 😀 ".repeat(20);
        let reason = reason.trim_end();
        let body = format!("{}\n{}", "x".repeat(1200), "é".repeat(80));
        let request = office.proxy.forward("POST", &office.proxy.upstream.url("/act"));
        let request = request.header("x-px-reason", reason.as_bytes());
        office.proxy.send_pending(request.body(body.into()).unwrap()).await;
        office.deliver().await;
        let mail = office.mail();
        assert!(text(&mail, "plain").contains(&format!("\nReason: “{reason}”\n")), "{mail}");
        assert!(text(&mail, "html").contains(reason));
        assert!(text(&mail, "raw").split("\r\n").all(|line| line.len() <= 998));
        assert_eq!(mail["defects"], json!([]));
    }

    async fn mail_goes_to_the_policys_addresses_else_to_the_workspaces_else_to_the_operators(database: TestDatabase) {
        let mut office = Office::open(database, Encryption::StartTls, &[]).await;
        announce_to(&office.proxy, "policy@example.com").await;
        office.proxy.pause(1).await;
        office.proxy.policy(r#"{"channel": "email"}"#).await;
        office.proxy.pause(2).await;
        let (state, actor) = (&office.proxy.state, office.proxy.actor());
        channels::set_default_chat(state, &actor, ChatPlatform::EMAIL, "team@example.com").await.unwrap();
        office.proxy.pause(3).await;
        office.deliver().await;
        let mails = office.server.mails();
        let mut to: Vec<_> = mails.iter().map(|mail| mail["to"][0].as_str().unwrap()).collect();
        to.sort_unstable();
        assert_eq!(to, ["fallback@example.com", "policy@example.com", "second@example.com", "team@example.com"]);
    }
}

engines! {
    async fn a_server_that_runs_with_settings_of_mail_announces_and_its_doctor_names_a_wrong_password(setup: Setup) {
        let (authority, port) = (Authority::new(), Port::reserve());
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let password = file("password", &format!("{PASSWORD}\n"));
        let setup = setup
            .env("PX_EGRESS_CA_FILE", &file("roots.pem", &authority.pem()))
            .env("PX_SMTP_URL", &format!("smtp://localhost:{}", port.number()))
            .env("PX_SMTP_USERNAME", "pyxis")
            .env("PX_SMTP_PASSWORD_FILE", &password)
            .env("PX_SMTP_FROM", "Pyxis <px@example.com>")
            .env("PX_EMAIL_TO", "ops@example.com");
        let mut server = MailServer::start(port, &authority, "localhost", Encryption::StartTls, &[]);
        let site = Site::with(setup).await;
        site.policy(&json!({ "channel": "email" })).await;
        assert_eq!(reports::doctor(&site, "E-mail bot").await, None);
        assert_eq!(reports::doctor(&site, "E-mail address ops@example.com").await, None);
        let txn = site.pause("/act").await;
        let mail = crate::support::until("the mail", async || server.mails().pop()).await;
        assert!(text(&mail, "plain").contains(&format!("/approve/{txn}")), "{mail}");
        // Programs that follow links in mail send GET and HEAD.
        let path = format!("/approve/{txn}");
        site.app.anonymous().get(&path).send().await;
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
        std::fs::write(&password, "wrong-canary").unwrap();
        let wrong = reports::doctor(&site, "E-mail bot").await.unwrap();
        assert!(wrong.contains("535") && !wrong.contains("wrong-canary"), "{wrong}");
    }
}
