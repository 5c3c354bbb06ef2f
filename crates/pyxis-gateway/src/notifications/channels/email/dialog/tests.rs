//! Tests of the dialog against scripted servers.

use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;

use super::*;

const GREETING: &str = "220 mail.example ESMTP\r\n";
const HELLO: &str = "250-mail.example\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN\r\n";
const OK: &str = "250 OK\r\n";
const PASSWORD: &str = "hunter2-hunter2";

/// A server that sends the first reply, then one after each command, and returns the commands. A content after DATA
/// counts as one command.
fn server(replies: &[&str]) -> (DuplexStream, JoinHandle<Vec<String>>) {
    let (client, server) = tokio::io::duplex(1 << 20);
    let replies: Vec<String> = replies.iter().map(|&reply| reply.to_owned()).collect();
    let serving = tokio::spawn(async move {
        let mut server = BufReader::new(server);
        let mut heard: Vec<String> = Vec::new();
        for (index, reply) in replies.iter().enumerate() {
            if index > 0 {
                let is_content = heard.last().is_some_and(|line| line == "DATA\r\n");
                let mut command = String::new();
                while server.read_line(&mut command).await.unwrap() > 0 && is_content {
                    if command.ends_with("\r\n.\r\n") {
                        break;
                    }
                }
                if command.is_empty() {
                    return heard;
                }
                heard.push(command);
            }
            server.get_mut().write_all(reply.as_bytes()).await.unwrap();
        }
        heard
    });
    (client, serving)
}

async fn open(replies: &[&str]) -> (Result<Dialog<DuplexStream>, DialogError>, JoinHandle<Vec<String>>) {
    let (client, serving) = server(replies);
    (Dialog::open(client, "px.example").await, serving)
}

fn password() -> SecretString {
    SecretString::new(PASSWORD.to_owned())
}

#[tokio::test]
async fn a_message_is_sent_after_a_sign_in_and_the_server_is_left_politely() {
    let replies = [GREETING, HELLO, "235 in\r\n", OK, OK, "354 go\r\n", "250 queued\r\n", "221 bye\r\n"];
    let (dialog, serving) = open(&replies).await;
    let mut dialog = dialog.unwrap();
    dialog.sign_in("ada", &password()).await.unwrap();
    dialog.send("px@example.com", "ops@example.com", b"Subject: a\r\n\r\n.\nb").await.unwrap();
    dialog.quit().await;
    let heard = serving.await.unwrap();
    let plain = format!("AUTH PLAIN {}\r\n", STANDARD.encode(format!("\0ada\0{PASSWORD}")));
    let expected = [
        "EHLO px.example\r\n",
        &plain,
        "MAIL FROM:<px@example.com>\r\n",
        "RCPT TO:<ops@example.com>\r\n",
        "DATA\r\n",
        "Subject: a\r\n\r\n..\r\nb\r\n.\r\n",
        "QUIT\r\n",
    ];
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn a_server_without_auth_plain_is_given_name_and_password_one_by_one() {
    for hello in ["250-m\r\n250 AUTH CRAM-MD5 LOGIN\r\n", "250-m\r\n250 auth=login\r\n"] {
        let (dialog, serving) =
            open(&[GREETING, hello, "334 VXNlcm5hbWU6\r\n", "334 UGFzc3dvcmQ6\r\n", "235 in\r\n"]).await;
        let mut dialog = dialog.unwrap();
        dialog.sign_in("ada", &password()).await.unwrap();
        drop(dialog);
        let heard = serving.await.unwrap();
        let line = |text: &str| format!("{}\r\n", STANDARD.encode(text));
        assert_eq!(heard[1..], ["AUTH LOGIN\r\n".to_owned(), line("ada"), line(PASSWORD)]);
    }
}

#[tokio::test]
async fn a_password_is_sent_only_by_a_mechanism_that_the_server_offers() {
    for hello in ["250 m\r\n", "250-m\r\n250 AUTH CRAM-MD5 XOAUTH2\r\n", "250-m\r\n250 AUTHPLAIN\r\n"] {
        let (dialog, serving) = open(&[GREETING, hello, OK]).await;
        let mut dialog = dialog.unwrap();
        let error = dialog.sign_in("ada", &password()).await.unwrap_err();
        assert!(matches!(error, DialogError::NoSignIn), "{hello}");
        drop(dialog);
        assert_eq!(serving.await.unwrap(), ["EHLO px.example\r\n"]);
    }
}

#[tokio::test]
async fn a_wrong_password_is_named_without_being_shown_even_if_the_server_repeats_it() {
    let base64 = STANDARD.encode(PASSWORD);
    let answer = format!("535-5.7.8 no {PASSWORD}\r\n535 {base64}\r\n");
    let (dialog, _serving) = open(&[GREETING, HELLO, &answer]).await;
    let error = dialog.unwrap().sign_in("ada", &password()).await.unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("refused PX_SMTP_USERNAME with PX_SMTP_PASSWORD: 535 5.7.8 no [password]"),
        "{said}"
    );
    assert!(!said.contains(PASSWORD) && !said.contains(base64.trim_end_matches('=')), "{said}");
    assert!(matches!(DeliveryError::from(error), DeliveryError::Failed(_)), "an operator can fix it");
    // One that asks on has not let us in.
    let (dialog, _serving) = open(&[GREETING, HELLO, "334 more\r\n"]).await;
    assert!(dialog.unwrap().sign_in("ada", &password()).await.is_err());
}

#[tokio::test]
async fn a_server_that_does_not_offer_tls_is_asked_for_nothing() {
    let (dialog, serving) = open(&[GREETING, "250-m\r\n250 XSTARTTLS\r\n", OK]).await;
    assert!(matches!(dialog.unwrap().start_tls().await, Err(DialogError::NoTls)));
    assert_eq!(serving.await.unwrap(), ["EHLO px.example\r\n"]);
}

#[tokio::test]
async fn bytes_that_were_sent_before_tls_are_refused() {
    let (dialog, _serving) = open(&[GREETING, HELLO, "220 go\r\n250 injected\r\n"]).await;
    assert!(matches!(dialog.unwrap().start_tls().await, Err(DialogError::Unasked)));
    let (dialog, _serving) = open(&[GREETING, HELLO, "454 later\r\n"]).await;
    assert!(matches!(dialog.unwrap().start_tls().await, Err(DialogError::Refused(Step::StartTls, _))));
    let (dialog, serving) = open(&[GREETING, HELLO, "220 go\r\n"]).await;
    let stream = dialog.unwrap().start_tls().await.unwrap();
    assert_eq!(serving.await.unwrap().last().unwrap(), "STARTTLS\r\n");
    drop(stream);
}

#[tokio::test]
async fn a_reply_that_nothing_asked_for_ends_the_dialog() {
    let (dialog, _serving) = open(&["220 m\r\n250 m\r\n", OK]).await;
    assert!(matches!(dialog, Err(DialogError::Unasked)));
    let (dialog, _serving) = open(&[GREETING, HELLO, "250 a\r\n250 b\r\n", OK]).await;
    let sent = dialog.unwrap().send("a@example.com", "b@example.com", b"").await;
    assert!(matches!(sent, Err(DialogError::Unasked)));
}

#[tokio::test]
async fn a_refusal_for_now_is_tried_again_and_one_for_good_is_not() {
    let replies = |step: usize, refusal: &'static str| {
        let mut replies = vec![GREETING, HELLO, OK, OK, "354 go\r\n", OK];
        replies[step] = refusal;
        replies
    };
    for (step, refusal, gives_up) in [
        (0, "421 busy\r\n", false),
        (0, "554 no\r\n", false),
        (1, "502 no\r\n", false),
        (2, "451 later\r\n", false),
        (2, "553 sender\r\n", true),
        (2, "530 sign in\r\n", false),
        (3, "450 greylisted\r\n", false),
        (3, "550 no such user\r\n", true),
        (4, "451 later\r\n", false),
        (4, "554 no\r\n", true),
        (4, "250 what\r\n", false),
        (5, "452 full\r\n", false),
        (5, "552 too large\r\n", true),
        (5, "354 more\r\n", false),
    ] {
        let (dialog, _serving) = open(&replies(step, refusal)).await;
        let sent = match dialog {
            Ok(mut dialog) => dialog.send("a@example.com", "b@example.com", b"c").await,
            Err(error) => Err(error),
        };
        let error = DeliveryError::from(sent.unwrap_err());
        let expected = refusal.trim_end();
        assert!(error.to_string().ends_with(expected), "{error}");
        assert_eq!(matches!(error, DeliveryError::Refused(_)), gives_up, "{step} {refusal}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_or_speaks_another_protocol_fails() {
    let (dialog, _serving) = open(&[""]).await;
    assert!(matches!(dialog, Err(DialogError::Ended)));
    let (dialog, _serving) = open(&["HTTP/1.1 400 Bad Request\r\n"]).await;
    assert!(matches!(dialog, Err(DialogError::Malformed(Malformed::NotSmtp))));
    let (dialog, _serving) = open(&[&"220-a\r\n".repeat(9000)]).await;
    assert!(matches!(dialog, Err(DialogError::Malformed(Malformed::TooLong))));
}

#[test]
fn no_line_of_a_content_ends_it_whatever_its_line_ends_are() {
    let cases: [(&[u8], &[u8]); 8] = [
        (b"", b".\r\n"),
        (b"a", b"a\r\n.\r\n"),
        (b"a\r\n", b"a\r\n.\r\n"),
        (b"a\n.\nb", b"a\r\n..\r\nb\r\n.\r\n"),
        (b"a\r.\rb", b"a\r\n..\r\nb\r\n.\r\n"),
        (b"a\r\n.\r\n\r\nMAIL FROM:<x@y>\r\n", b"a\r\n..\r\n\r\nMAIL FROM:<x@y>\r\n.\r\n"),
        (b"..a\r\n.b", b"...a\r\n..b\r\n.\r\n"),
        (b"a\r\r\nb", b"a\r\n\r\nb\r\n.\r\n"),
    ];
    for (content, expected) in cases {
        assert_eq!(stuffed(content), expected, "{:?}", String::from_utf8_lossy(content));
    }
}
