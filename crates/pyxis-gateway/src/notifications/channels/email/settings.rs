//! Settings of e-mail.

use std::net::IpAddr;

use lettre::message::Mailbox;
use pyxis_core::BoxError;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::preview::visible;
use pyxis_core::secret::SecretString;
use pyxis_net::HostPort;

use super::address;
use crate::config::ChatSettings;
use crate::notifications::channels::settings::{SettingKey, SettingsSource};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "smtp_url",
        "",
        "Mail server: `smtps://HOST:465` for TLS, `smtp://HOST:587` for STARTTLS, which is required. `smtp+plain://localhost:25` is for a server on this machine only. Empty: no e-mail.",
    ),
    SettingKey::new("smtp_username", "", "User name at the mail server. Empty: no sign-in."),
    SettingKey::new(
        "smtp_password",
        "",
        "Password at the mail server; or name a file with `PX_SMTP_PASSWORD_FILE`.",
    ),
    SettingKey::new("smtp_from", "", "Sender, such as `Pyxis <pyxis@example.com>`."),
    SettingKey::new(
        "email_to",
        "",
        "Recipients for workspaces and policies that name none: up to 10 addresses with commas between them.",
    ),
];

/// Settings of e-mail.
#[derive(Clone, Debug)]
pub struct EmailConfig {
    /// Mail server.
    pub server: HostPort,
    /// Encryption of the connection.
    pub security: Security,
    /// Account at the server.
    pub login: Option<Login>,
    /// Sender.
    pub from: Mailbox,
}

/// Account at a mail server.
#[derive(Clone, Debug)]
pub struct Login {
    /// User name.
    pub username: String,
    pub password: SecretString,
}

/// Encryption of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// From the first byte on.
    Tls,
    /// From STARTTLS on. Nothing is sent to a server that does not offer it.
    StartTls,
    /// None. The server is on this machine.
    Loopback,
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let url = text(source, "smtp_url")?;
    let username = text(source, "smtp_username")?;
    let password = source.secret("smtp_password")?;
    let from = text(source, "smtp_from")?;
    let from = if from.is_empty() { None } else { Some(sender(&from)?) };
    let to = text(source, "email_to")?;
    if !to.is_empty() {
        address::parse_list(&to).map_err(|wrong| format!("PX_EMAIL_TO: {wrong}"))?;
    }
    let login = match (username.is_empty(), password) {
        (true, None) => None,
        (false, Some(password)) => Some(Login { username, password }),
        (true, Some(_)) => return Err("PX_SMTP_PASSWORD needs PX_SMTP_USERNAME".into()),
        (false, None) => return Err("PX_SMTP_USERNAME needs PX_SMTP_PASSWORD".into()),
    };
    if url.is_empty() {
        return Ok(());
    }
    let (server, security) = server(&url)?;
    if security == Security::Loopback && login.is_some() {
        return Err("PX_SMTP_USERNAME needs a server with TLS: write PX_SMTP_URL with smtps or smtp".into());
    }
    let from = from.ok_or("PX_SMTP_URL needs PX_SMTP_FROM")?;
    chats.insert(EmailConfig { server, security, login, from });
    chats.set_room(ChatPlatform::EMAIL, (!to.is_empty()).then_some(to));
    Ok(())
}

/// A setting without blanks around it and without invisible characters.
fn text(source: &dyn SettingsSource, key: &'static str) -> Result<String, BoxError> {
    let text = source.text(key)?;
    let text = text.trim();
    if text.contains(|c: char| c.is_control() || visible(c) != c) {
        return Err(format!("{} has an invisible character; remove it", SettingKey::variable(key)).into());
    }
    Ok(text.to_owned())
}

fn sender(text: &str) -> Result<Mailbox, BoxError> {
    let wrong = || format!("PX_SMTP_FROM is {text:?}: write name@example.com or Name <name@example.com>");
    let mailbox: Mailbox = text.parse().map_err(|_| wrong())?;
    address::parse(mailbox.email.as_ref()).map_err(|wrong| format!("PX_SMTP_FROM: {wrong}"))?;
    Ok(mailbox)
}

/// The server and its encryption. An error does not repeat the URL, in which somebody may have written a password.
fn server(url: &str) -> Result<(HostPort, Security), BoxError> {
    let wrong = "PX_SMTP_URL: write smtps://HOST:465 or smtp://HOST:587";
    let (scheme, rest) = url.split_once("://").ok_or(wrong)?;
    let (security, default) = match scheme {
        "smtps" => (Security::Tls, 465),
        "smtp" => (Security::StartTls, 587),
        "smtp+plain" => (Security::Loopback, 25),
        _ => return Err(wrong.into()),
    };
    if rest.contains('@') {
        return Err("PX_SMTP_URL: write the account in PX_SMTP_USERNAME and PX_SMTP_PASSWORD".into());
    }
    let authority: http::uri::Authority = rest.trim_end_matches('/').parse().map_err(|_| wrong)?;
    let (host, port) = (authority.host(), authority.port_u16());
    // `http::uri::Authority` reads `host:` and `host:99999` as "no port".
    if host.is_empty() || (port.is_none() && authority.as_str() != host) || port == Some(0) {
        return Err(wrong.into());
    }
    if security == Security::Loopback && !is_this_machine(host) {
        return Err(
            "PX_SMTP_URL: smtp+plain is for localhost or a loopback address; use smtps or smtp".into()
        );
    }
    Ok((HostPort::new(host, port.unwrap_or(default)), security))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    struct Variables(HashMap<&'static str, &'static str>);

    impl SettingsSource for Variables {
        fn text(&self, key: &'static str) -> Result<String, BoxError> {
            Ok(self.0.get(key).copied().unwrap_or_default().to_owned())
        }

        fn secret(&self, key: &'static str) -> Result<Option<SecretString>, BoxError> {
            Ok(self.0.get(key).map(|&secret| SecretString::new(secret.to_owned())))
        }
    }

    fn read_from(pairs: &[(&'static str, &'static str)]) -> Result<ChatSettings, String> {
        let mut chats = ChatSettings::default();
        let read = read(&Variables(pairs.iter().copied().collect()), &mut chats);
        read.map(|()| chats).map_err(|error| error.to_string())
    }

    #[test]
    fn the_url_says_where_the_server_is_and_how_the_connection_is_encrypted() {
        for (url, host, port, security) in [
            ("smtps://mail.example.com", "mail.example.com", 465, Security::Tls),
            ("smtp://mail.example.com/", "mail.example.com", 587, Security::StartTls),
            ("smtp://mail.example.com:2525", "mail.example.com", 2525, Security::StartTls),
            ("smtp+plain://localhost", "localhost", 25, Security::Loopback),
            ("smtp+plain://[::1]:1025", "[::1]", 1025, Security::Loopback),
        ] {
            assert_eq!(server(url).unwrap(), (HostPort::new(host, port), security), "{url}");
        }
        for wrong in [
            "mail.example.com",
            "https://mail.example.com",
            "smtp://",
            "smtp://a:99999",
            "smtp://a:0",
            "smtp://a:",
            "smtp://a/b",
            "smtp://a b",
            "smtp+plain://mail.example.com",
            "smtp+plain://10.0.0.1",
        ] {
            assert!(server(wrong).unwrap_err().to_string().starts_with("PX_SMTP_URL: "), "{wrong}");
        }
        let error = server("smtps://ada:hunter2@mail.example.com").unwrap_err().to_string();
        assert!(error.contains("PX_SMTP_PASSWORD") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_server_needs_a_sender_and_an_account_needs_both_halves_and_tls() {
        let from = ("smtp_from", "Pyxis <px@example.com>");
        let url = ("smtp_url", "smtps://mail.example.com");
        let (name, password) = (("smtp_username", "ada"), ("smtp_password", "hunter2"));
        let config = read_from(&[url, from, name, password]).unwrap();
        let config = config.get::<EmailConfig>().unwrap().clone();
        assert_eq!(config.from.email.as_ref() as &str, "px@example.com");
        assert!(!format!("{config:?}").contains("hunter2"));
        assert!(read_from(&[from, name, password]).unwrap().is_empty(), "no server is no e-mail");
        let plain = ("smtp_url", "smtp+plain://localhost");
        assert!(read_from(&[plain, from]).is_ok());
        for (wrong, named) in [
            (vec![url], "PX_SMTP_FROM"),
            (vec![url, ("smtp_from", "pyxis")], "PX_SMTP_FROM"),
            (vec![url, ("smtp_from", "a@example.com, b@example.com")], "PX_SMTP_FROM"),
            (vec![url, ("smtp_from", "A <a@example.com>\r\nBcc: b@example.com")], "PX_SMTP_FROM"),
            (vec![url, from, name], "PX_SMTP_PASSWORD"),
            (vec![url, from, password], "PX_SMTP_USERNAME"),
            (vec![plain, from, name, password], "PX_SMTP_USERNAME"),
            (vec![("email_to", "ops")], "PX_EMAIL_TO"),
        ] {
            let error = read_from(&wrong).unwrap_err();
            assert!(error.contains(named) && !error.contains("hunter2"), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn the_recipients_of_the_operator_are_the_room_of_last_resort() {
        let url = [("smtp_url", "smtps://m.example.com"), ("smtp_from", "px@example.com")];
        let with = [url.as_slice(), &[("email_to", "a@example.com, b@example.com")]].concat();
        assert_eq!(read_from(&with).unwrap().room(ChatPlatform::EMAIL), Some("a@example.com, b@example.com"));
        assert_eq!(read_from(&url).unwrap().room(ChatPlatform::EMAIL), None);
    }
}
