//! E-mail, with a real mail server and with ones that misbehave (`docs/reference/notifications.md#e-mail`).

use std::time::Duration;

use pyxis_core::chat::ChatPlatform;
use pyxis_core::policy::Policy;
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::{channels, policies};
use pyxis_gateway::channels::deliver_due;
use pyxis_gateway::channels::email::{EmailConfig, Login, Security};
use pyxis_gateway::{ChatSettings, Config, Error};
use pyxis_net::HostPort;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::smtp::PASSWORD;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

mod real_mail_server;

use crate::races::proxy::Proxy;

/// Host of the mail server. Every name resolves to loopback.
pub(super) const HOST: &str = "mail.example.com";
const OPS: &str = "ops@example.com";

/// A proxy whose requests are announced by e-mail to [`OPS`], through the server at this port.
pub(super) async fn proxy_at(database: TestDatabase, port: u16, security: Security, password: &str) -> Proxy {
    let login = Login { username: "pyxis".to_owned(), password: SecretString::new(password.to_owned()) };
    let mut chats = ChatSettings::default().with_platform(EmailConfig {
        server: HostPort::new(HOST, port),
        security,
        login: (security != Security::Loopback).then_some(login),
        from: "Pyxis <px@px.example.com>".parse().unwrap(),
    });
    chats.set_room(ChatPlatform::EMAIL, Some("fallback@example.com, second@example.com".to_owned()));
    let config = Config { base_url: "https://px.example.com".to_owned(), chats, ..Config::default() };
    let proxy = Proxy::with_config(database, config).await;
    announce_to(&proxy, OPS).await;
    proxy
}

/// Announces requests to these addresses from now on.
async fn announce_to(proxy: &Proxy, to: &str) {
    proxy.policy(&json!({ "channel": "email", "email_to": to }).to_string()).await;
}

/// The reports of the doctor, with problems only.
async fn doctor(proxy: &Proxy) -> Vec<(String, String)> {
    let found = channels::examine(&proxy.state).await.unwrap();
    found.into_iter().filter_map(|(part, wrong)| Some((part, wrong?))).collect()
}

/// Why messages could not be sent.
async fn errors(proxy: &Proxy) -> Vec<String> {
    let failing = channels::list_failing(&proxy.state.store, proxy.workspace).await.unwrap();
    failing.into_iter().map(|failing| failing.message.error.unwrap()).collect()
}

/// A server that says these things, one after each line that it receives, and then only listens. Returns its port and
/// everything that it received on its first connection.
async fn scripted(replies: &'static [&'static str]) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut received, mut answered) = (Vec::new(), 0);
        for reply in replies {
            stream.write_all(reply.as_bytes()).await.unwrap();
            while !received[answered..].contains(&b'\n') {
                if stream.read_buf(&mut received).await.unwrap() == 0 {
                    break;
                }
            }
            answered = received.len();
        }
        // The client may reset the connection.
        let _ = stream.read_to_end(&mut received).await;
        String::from_utf8_lossy(&received).into_owned()
    });
    (port, serving)
}

const HELLO: &str = "250-mail.example.com\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN\r\n";

engines! {
    async fn bytes_that_come_before_tls_end_the_dialog_before_a_password_is_sent(database: TestDatabase) {
        let injected = "220 go\r\n250-mail.example.com\r\n250 AUTH PLAIN\r\n235 in\r\n250 OK\r\n";
        let replies: &[&str] = Box::leak(Box::new(["220 mail.example.com\r\n", HELLO, injected]));
        let (port, serving) = scripted(replies).await;
        let proxy = proxy_at(database, port, Security::StartTls, PASSWORD).await;
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(serving.await.unwrap(), "EHLO px.example.com\r\nSTARTTLS\r\n");
        let errors = errors(&proxy).await;
        assert!(errors.len() == 1 && errors[0].contains("a reply that nothing asked for"), "{errors:?}");
    }

    async fn a_server_that_answers_in_plain_text_after_starttls_learns_nothing(database: TestDatabase) {
        let (port, serving) = scripted(&["220 mail.example.com\r\n", HELLO, "220 go\r\n", "250 OK\r\n"]).await;
        let proxy = proxy_at(database, port, Security::StartTls, PASSWORD).await;
        let found = doctor(&proxy).await;
        assert!(found.len() == 1 && found[0].0 == "E-mail bot", "{found:?}");
        assert!(found[0].1.contains("cannot connect to the mail server mail.example.com:"), "{found:?}");
        let received = serving.await.unwrap();
        let after = received.strip_prefix("EHLO px.example.com\r\nSTARTTLS\r\n").unwrap();
        assert!(!after.contains("EHLO") && !after.contains("AUTH"), "{after:?}");
    }

    async fn a_server_of_another_protocol_is_named(database: TestDatabase) {
        let (port, _serving) = scripted(&["HTTP/1.1 400 Bad Request\r\n\r\n"]).await;
        let proxy = proxy_at(database, port, Security::StartTls, PASSWORD).await;
        let found = doctor(&proxy).await;
        assert!(found[0].1.contains("not an SMTP reply; check the port"), "{found:?}");
    }

    async fn the_egress_guard_refuses_a_mail_server_at_an_address_of_cloud_metadata(database: TestDatabase) {
        let proxy = proxy_at(database, 587, Security::StartTls, PASSWORD).await;
        proxy.gate.moved_to("169.254.169.254".parse().unwrap());
        let found = doctor(&proxy).await;
        assert!(found[0].1.contains("the egress guard refuses the host"), "{found:?}");
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert!(errors(&proxy).await[0].contains("the egress guard refuses the host"));
    }

    async fn a_plain_connection_goes_nowhere_but_to_this_machine(database: TestDatabase) {
        let (port, serving) = scripted(&[
            "220 m\r\n", "250 m\r\n", "250 OK\r\n", "250 OK\r\n", "354 go\r\n", "250 queued\r\n", "221 bye\r\n",
        ])
        .await;
        let proxy = proxy_at(database, port, Security::Loopback, "").await;
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        let received = serving.await.unwrap();
        assert!(received.contains("RCPT TO:<ops@example.com>\r\nDATA\r\n"), "{received}");
        assert!(errors(&proxy).await.is_empty());
    }

    async fn an_address_is_checked_before_it_becomes_a_setting(database: TestDatabase) {
        let proxy = proxy_at(database, 1, Security::Tls, PASSWORD).await;
        let (state, actor) = (&proxy.state, proxy.actor());
        let put = async |to: &str| {
            let policy = json!({ "channel": "email", "email_to": to }).to_string();
            policies::put(state, &actor, "api", &Policy::from_json(policy.as_bytes()).unwrap()).await
        };
        let default = async |to: &str| channels::set_default_chat(state, &actor, ChatPlatform::EMAIL, to).await;
        let eleven = (0..11).map(|n| format!("a{n}@example.com")).collect::<Vec<_>>().join(",");
        for (wrong, says) in [
            ("ops", "\"ops\" is not an e-mail address; write name@example.com"),
            ("a@example.com,b@exa mple.com", "e-mail address"),
            ("a@example.com>", "e-mail address"),
            ("a@bücher.example", "xn--"),
            (&eleven, "11 addresses; at most 10"),
        ] {
            let error = put(wrong).await.unwrap_err();
            let Error::InvalidField { field, detail } = &error else { panic!("{error:?}") };
            assert!(field == "email_to" && detail.contains(says), "{error:?}");
            if !wrong.contains(' ') {
                assert!(matches!(default(wrong).await.unwrap_err(), Error::InvalidField { .. }), "{wrong}");
            }
        }
        put("a@example.com, b@example.com").await.unwrap();
        default("a@example.com, b@example.com").await.unwrap();
        let stored = channels::default_chat(&state.store, proxy.workspace, ChatPlatform::EMAIL).await.unwrap();
        assert_eq!(stored.as_deref(), Some("a@example.com,b@example.com"));
    }
}
