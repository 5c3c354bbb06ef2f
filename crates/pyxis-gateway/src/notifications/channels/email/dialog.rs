//! The client's side of SMTP (RFC 5321, 3207 and 4954) over a given connection.
//!
//! Commands are never pipelined. So a server that has sent more than one reply sent something that nothing asked for,
//! and the dialog ends. Before TLS that is how an attacker on the way injects replies.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::secret::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeroize::Zeroizing;

use super::reply::{Malformed, Reply};
use crate::notifications::channels::platform::DeliveryError;

/// Part of a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Greeting,
    Hello,
    StartTls,
    SignIn,
    Sender,
    Recipient,
    Content,
    Examination,
}

impl Step {
    /// Noun phrase for "the mail server refused …".
    const fn noun(self) -> &'static str {
        match self {
            Self::Greeting => "the connection",
            Self::Hello => "the greeting",
            Self::StartTls => "to start TLS",
            Self::SignIn => "PX_SMTP_USERNAME with PX_SMTP_PASSWORD",
            Self::Sender => "the sender, PX_SMTP_FROM",
            Self::Recipient => "the recipient",
            Self::Content => "the message",
            Self::Examination => "the examination",
        }
    }

    /// True if a refusal is about this message, not about the server or its settings.
    const fn is_about_message(self) -> bool {
        matches!(self, Self::Sender | Self::Recipient | Self::Content)
    }
}

/// Reasons that a dialog failed.
#[derive(Debug)]
pub(super) enum DialogError {
    /// No connection, or none that may be used.
    Connection(String),
    /// The connection ended early.
    Ended,
    /// The server does not speak SMTP.
    Malformed(Malformed),
    /// The server sent more than was asked for.
    Unasked,
    /// The server does not offer TLS on this port.
    NoTls,
    /// The server offers no sign-in that Pyxis knows.
    NoSignIn,
    /// The server refused a step.
    Refused(Step, Reply),
}

impl fmt::Display for DialogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(why) => f.write_str(why),
            Self::Ended => f.write_str("the mail server closed the connection early"),
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Unasked => {
                f.write_str("the mail server sent a reply that nothing asked for, so the dialog was ended")
            }
            Self::NoTls => f.write_str(
                "the mail server offers no STARTTLS, so nothing was sent; use its TLS port, such as smtps://HOST:465",
            ),
            Self::NoSignIn => f.write_str("the mail server offers neither AUTH PLAIN nor AUTH LOGIN"),
            Self::Refused(step, reply) => write!(f, "the mail server refused {}: {}", step.noun(), reply.on_one_line()),
        }
    }
}

impl From<DialogError> for DeliveryError {
    fn from(error: DialogError) -> Self {
        let why = error.to_string();
        match error {
            // 53x is about signing in, which an operator can fix.
            DialogError::Refused(step, reply)
                if step.is_about_message() && reply.code >= 500 && !(530..540).contains(&reply.code) =>
            {
                Self::Refused(why)
            }
            _ => Self::Failed(why),
        }
    }
}

impl From<std::io::Error> for DialogError {
    fn from(_: std::io::Error) -> Self {
        Self::Ended
    }
}

/// A connection to a server, with the extensions that it offers.
#[derive(Debug)]
pub(super) struct Dialog<S> {
    stream: S,
    /// Received bytes that no reply has used.
    unread: Vec<u8>,
    /// Lines of the response to EHLO, in upper case.
    extensions: Vec<String>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Dialog<S> {
    /// Reads the greeting of a new connection, and greets the server as `hello`.
    pub(super) async fn open(stream: S, hello: &str) -> Result<Self, DialogError> {
        let mut dialog = Self { stream, unread: Vec::new(), extensions: Vec::new() };
        dialog.expect(Step::Greeting).await?;
        dialog.greet(hello).await?;
        Ok(dialog)
    }

    /// Greets the server as `hello` on a connection that has just turned on TLS.
    pub(super) async fn resume(stream: S, hello: &str) -> Result<Self, DialogError> {
        let mut dialog = Self { stream, unread: Vec::new(), extensions: Vec::new() };
        dialog.greet(hello).await?;
        Ok(dialog)
    }

    async fn greet(&mut self, hello: &str) -> Result<(), DialogError> {
        let reply = self.command(Step::Hello, &format!("EHLO {hello}")).await?;
        self.extensions = reply.lines.iter().skip(1).map(|line| line.to_ascii_uppercase()).collect();
        Ok(())
    }

    /// Asks for TLS, and returns the connection for the handshake. Nothing of the dialog so far counts afterwards.
    pub(super) async fn start_tls(mut self) -> Result<S, DialogError> {
        if !self.extensions.iter().any(|extension| extension.trim() == "STARTTLS") {
            return Err(DialogError::NoTls);
        }
        self.command(Step::StartTls, "STARTTLS").await?;
        if !self.unread.is_empty() {
            return Err(DialogError::Unasked);
        }
        Ok(self.stream)
    }

    /// Signs in. Call this only on connections with TLS.
    pub(super) async fn sign_in(
        &mut self,
        username: &str,
        password: &SecretString,
    ) -> Result<(), DialogError> {
        let offers = |mechanism: &str| {
            self.extensions.iter().any(|extension| {
                let mut words = extension.split([' ', '=']);
                words.next() == Some("AUTH") && words.any(|word| word == mechanism)
            })
        };
        let signed_in = if offers("PLAIN") {
            let both = Zeroizing::new(format!("\0{username}\0{}", password.expose()));
            let line = Zeroizing::new(format!("AUTH PLAIN {}", *encoded(&both)));
            self.command(Step::SignIn, &line).await
        } else if offers("LOGIN") {
            self.command(Step::SignIn, "AUTH LOGIN").await?;
            self.command(Step::SignIn, &encoded(username)).await?;
            self.command(Step::SignIn, &encoded(password.expose())).await
        } else {
            return Err(DialogError::NoSignIn);
        };
        match signed_in {
            Ok(reply) if reply.code < 300 => Ok(()),
            // The server asks for more than it needs; there is nothing more to say.
            Ok(reply) | Err(DialogError::Refused(_, reply)) => {
                Err(DialogError::Refused(Step::SignIn, without_secret(reply, password)))
            }
            Err(other) => Err(other),
        }
    }

    /// Sends a message to one recipient.
    pub(super) async fn send(&mut self, from: &str, to: &str, content: &[u8]) -> Result<(), DialogError> {
        self.command(Step::Sender, &format!("MAIL FROM:<{from}>")).await?;
        self.command(Step::Recipient, &format!("RCPT TO:<{to}>")).await?;
        let reply = self.command(Step::Content, "DATA").await?;
        if reply.code != 354 {
            return Err(DialogError::Refused(Step::Content, reply));
        }
        self.stream.write_all(&stuffed(content)).await?;
        self.stream.flush().await?;
        let reply = self.expect(Step::Content).await?;
        if reply.code >= 300 { Err(DialogError::Refused(Step::Content, reply)) } else { Ok(()) }
    }

    /// Asks for nothing, to see that the server still responds.
    pub(super) async fn noop(&mut self) -> Result<(), DialogError> {
        self.command(Step::Examination, "NOOP").await.map(drop)
    }

    /// Ends the dialog. The server has done its work, so its response does not matter.
    pub(super) async fn quit(mut self) {
        drop(self.command(Step::Examination, "QUIT").await);
        drop(self.stream.shutdown().await);
    }

    async fn command(&mut self, step: Step, line: &str) -> Result<Reply, DialogError> {
        if !self.unread.is_empty() {
            return Err(DialogError::Unasked);
        }
        debug_assert!(!line.contains(['\r', '\n']), "a command is one line");
        let line = Zeroizing::new(format!("{line}\r\n"));
        self.stream.write_all(line.as_bytes()).await?;
        self.stream.flush().await?;
        self.expect(step).await
    }

    /// The next reply, unless it refuses.
    async fn expect(&mut self, step: Step) -> Result<Reply, DialogError> {
        let reply = loop {
            if !self.unread.is_empty()
                && let Some(reply) = Reply::take(&mut self.unread).map_err(DialogError::Malformed)?
            {
                break reply;
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(DialogError::Ended);
            }
        };
        if reply.is_positive() { Ok(reply) } else { Err(DialogError::Refused(step, reply)) }
    }
}

fn encoded(text: &str) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(text))
}

/// A reply to a password, in which a careless server may have repeated it.
fn without_secret(mut reply: Reply, secret: &SecretString) -> Reply {
    for line in &mut reply.lines {
        for secret in [secret.expose().as_str(), encoded(secret.expose()).trim_end_matches('=')] {
            *line = line.replace(secret, "[password]");
        }
    }
    reply
}

/// Content for DATA with its end: every line end is CRLF, and a dot that starts a line is doubled. So no line of the
/// content ends it, even on servers that accept other line ends.
fn stuffed(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 64);
    let (mut starts_line, mut after_cr) = (true, false);
    for &byte in content {
        match byte {
            // The second half of an end that is written already.
            b'\n' if after_cr => {}
            b'\r' | b'\n' => {
                out.extend_from_slice(b"\r\n");
                starts_line = true;
            }
            byte => {
                if starts_line && byte == b'.' {
                    out.push(b'.');
                }
                out.push(byte);
                starts_line = false;
            }
        }
        after_cr = byte == b'\r';
    }
    if !starts_line {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
    out
}

#[cfg(test)]
mod tests;
