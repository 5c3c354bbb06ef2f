//! Connections to the operator's mail server, behind the egress guard.

use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::dialog::{Dialog, DialogError};
use super::settings::{EmailConfig, Security};

/// A connection, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type AnyDialog = Dialog<Box<dyn Stream>>;

/// Sends a message to one recipient.
pub(super) async fn send(
    config: &EmailConfig,
    net_private: &pyxis_net::Client,
    hello: &str,
    to: &lettre::Address,
    content: &[u8],
) -> Result<(), DialogError> {
    let mut dialog = connect(config, net_private, hello).await?;
    let sent = dialog.send(config.from.email.as_ref(), to.as_ref(), content).await;
    if sent.is_ok() {
        dialog.quit().await;
    }
    sent
}

/// Does everything but send a message.
pub(super) async fn examine(
    config: &EmailConfig,
    net_private: &pyxis_net::Client,
    hello: &str,
) -> Result<(), DialogError> {
    let mut dialog = connect(config, net_private, hello).await?;
    dialog.noop().await?;
    dialog.quit().await;
    Ok(())
}

/// Name by which to greet: the host of this installation's URL (RFC 5321, section 4.1.1.1).
pub(super) fn hello_name(base_url: &str) -> String {
    let uri: Option<http::Uri> = base_url.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or("localhost");
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => format!("[{address}]"),
        Ok(IpAddr::V6(address)) => format!("[IPv6:{address}]"),
        Err(_) => host.to_owned(),
    }
}

/// A dialog that is encrypted and signed in, as far as the settings ask for it.
async fn connect(
    config: &EmailConfig,
    net_private: &pyxis_net::Client,
    hello: &str,
) -> Result<AnyDialog, DialogError> {
    let failed = |error: &pyxis_net::Error| {
        let server = format!("{}:{}", config.server.host(), config.server.port());
        DialogError::Connection(format!(
            "cannot connect to the mail server {server}: {}",
            error.public_message()
        ))
    };
    // The operator's own setting says where this is, so it may be on a private network.
    let stream = net_private.mail_tunnel(&config.server).await.map_err(|error| failed(&error))?;
    let stream = match config.security {
        Security::Loopback => return Dialog::open(on_this_machine(stream)?, hello).await,
        Security::Tls => stream,
        Security::StartTls => Dialog::open(stream, hello).await?.start_tls().await?,
    };
    let stream = net_private.start_tls(&config.server, stream).await.map_err(|error| failed(&error))?;
    let stream: Box<dyn Stream> = Box::new(stream);
    let mut dialog = match config.security {
        Security::StartTls => Dialog::resume(stream, hello).await?,
        Security::Tls | Security::Loopback => Dialog::open(stream, hello).await?,
    };
    if let Some(login) = &config.login {
        dialog.sign_in(&login.username, &login.password).await?;
    }
    Ok(dialog)
}

/// The connection, if its other end is this machine.
fn on_this_machine(stream: TcpStream) -> Result<Box<dyn Stream>, DialogError> {
    match stream.peer_addr() {
        Ok(peer) if peer.ip().to_canonical().is_loopback() => Ok(Box::new(stream)),
        Ok(_) | Err(_) => Err(DialogError::Connection(
            "PX_SMTP_URL names another machine, to which mail must be encrypted; use smtps or smtp"
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_greeted_by_the_host_of_the_base_url() {
        for (url, name) in [
            ("https://px.example.com", "px.example.com"),
            ("http://localhost:8700", "localhost"),
            ("http://127.0.0.1:8700", "[127.0.0.1]"),
            ("http://[::1]:8700", "[IPv6:::1]"),
            ("", "localhost"),
        ] {
            assert_eq!(hello_name(url), name);
        }
    }
}
