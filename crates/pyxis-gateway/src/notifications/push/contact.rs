//! Contact for push services (RFC 8292, section 2.1). Some refuse every message without a valid one.

use url::{Host, Url};

/// Fallback if the base URL has no public host. Push services check only its form.
const NOBODY: &str = "mailto:pyxis@example.com";

/// Checks a contact: an https URL, or `mailto:` with one address, whose host is not local.
///
/// # Errors
/// The problem with the contact.
pub fn check(contact: &str) -> Result<(), &'static str> {
    const FORM: &str = "write mailto: and an address, as in mailto:ops@example.com, or an https URL";
    let odd = |c: char| c.is_control() || c.is_whitespace() || !c.is_ascii() || "<>\"\\,".contains(c);
    if contact.len() > 255 || contact.contains(odd) {
        return Err(FORM);
    }
    let is_mail = contact.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
    let host = if is_mail {
        match contact[7..].split_once('@') {
            Some((name, host)) if !name.is_empty() && !host.contains(['@', '?', ':', '/']) => host.to_owned(),
            _ => return Err(FORM),
        }
    } else {
        let url = Url::parse(contact).map_err(|_| FORM)?;
        let plain = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
        match url.host() {
            Some(Host::Domain(host)) if plain => host.to_owned(),
            Some(_) if plain => return Err("its host must be a name, not an address"),
            _ => return Err(FORM),
        }
    };
    let host = host.to_ascii_lowercase();
    let labels = host.split('.').all(|label| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    });
    let local = ["localhost", "local", "localdomain", "internal", "invalid", "test"];
    let last = host.rsplit('.').next().unwrap_or_default();
    if !labels
        || !host.contains('.')
        || local.contains(&last)
        || last.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err("its host must be a public name, such as example.com");
    }
    Ok(())
}

/// The configured contact, or else the base URL if it is a valid one.
pub(super) fn choose(set: Option<&str>, base_url: &str) -> String {
    match set {
        Some(contact) => contact.to_owned(),
        None if check(base_url).is_ok() => base_url.to_owned(),
        None => NOBODY.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{NOBODY, check, choose};

    #[test]
    fn a_contact_is_an_address_or_an_https_url_that_others_can_know() {
        for good in [
            "mailto:ops@example.com",
            "mailto:a.b+c@mail.example.co.uk",
            "https://px.example.com",
            "https://px.example.com:8443/contact?to=ops",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "ops@example.com",
            "mailto:",
            "mailto:ops",
            "mailto:@example.com",
            "mailto: ops@example.com",
            "mailto:<ops@example.com>",
            "mailto:ops@example.com,b@example.com",
            "mailto:ops@example.com?subject=x",
            "mailto:ops@localhost",
            "mailto:ops@LOCALHOST",
            "mailto:ops@px.localhost",
            "mailto:ops@px.local",
            "mailto:ops@example.com.",
            "mailto:ops@exam ple.com",
            "mailto:ops@10.0.0.1",
            "http://px.example.com",
            "https://localhost",
            "https://localhost:8700",
            "https://px",
            "https://10.0.0.1",
            "https://[2001:db8::1]",
            "https://user:secret@px.example.com",
            "https://px.example.com/\n",
            "ftp://px.example.com",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn without_a_setting_the_base_url_is_the_contact_where_it_can_be_one() {
        assert_eq!(choose(None, "https://px.example.com"), "https://px.example.com");
        assert_eq!(check("MAILTO:ops@example.com"), Ok(()));
        assert_eq!(
            choose(Some("mailto:ops@example.com"), "https://px.example.com"),
            "mailto:ops@example.com"
        );
        for local in ["http://localhost:8700", "https://localhost", "https://px", "http://127.0.0.1:8700"] {
            assert_eq!(choose(None, local), NOBODY, "{local}");
        }
        assert_eq!(check(NOBODY), Ok(()));
    }
}
