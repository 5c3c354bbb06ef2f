//! The address of the server, and whether a key may be sent there.

use std::net::IpAddr;

use reqwest::Url;

use crate::error::{Error, Result};

/// An absolute URL without user name, query and fragment.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    text: String,
    is_loopback: bool,
    is_encrypted: bool,
}

impl BaseUrl {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let refuse = |rest: &str| Error::InvalidArgument(format!("base_url {rest}"));
        let url = Url::parse(text.trim()).map_err(|_| refuse("is not a URL: write https://host"))?;
        let host = match url.host_str() {
            Some(host) if matches!(url.scheme(), "http" | "https") => host.to_owned(),
            _ => return Err(refuse("must begin with https:// or http:// and name a host")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("must not hold a user name or password: pass the key as an argument"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("must end before ? and #"));
        }
        let is_encrypted = url.scheme() == "https";
        let text = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { text, is_loopback: is_loopback(&host), is_encrypted })
    }

    /// Fails where others on the network could read a key.
    pub(crate) fn check_key(&self, name: &str) -> Result<()> {
        if self.is_encrypted || self.is_loopback {
            return Ok(());
        }
        let rest = "use https://, or http:// on loopback only";
        Err(Error::InvalidArgument(format!("{name} would be sent unencrypted to {}: {rest}", self.text)))
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_encrypted_or_on_loopback() {
        for url in
            ["https://pyxis.example.org", "http://localhost:8700", "http://127.9.9.9", "http://[::1]:1/a/"]
        {
            BaseUrl::parse(url).unwrap().check_key("api_key").unwrap();
        }
        for url in [
            "http://pyxis.example.org",
            "http://10.0.0.1",
            "http://localhost.example.org",
            "http://[2001:db8::1]",
        ] {
            let error = BaseUrl::parse(url).unwrap().check_key("api_key").unwrap_err();
            assert!(error.to_string().contains("would be sent unencrypted"), "{url}");
        }
    }

    #[test]
    fn a_bad_url_is_refused_without_being_repeated() {
        for url in [
            "",
            "localhost",
            "ftp://localhost",
            "https://",
            "https://u:pass@h",
            "https://h/?a",
            "https://h/#a",
        ] {
            let error = BaseUrl::parse(url).unwrap_err().to_string();
            assert!(error.starts_with("base_url") && !error.contains("pass@"), "{url}: {error}");
        }
    }
}
