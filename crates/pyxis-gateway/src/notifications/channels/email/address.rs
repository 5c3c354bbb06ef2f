//! E-mail addresses of settings.

use lettre::Address;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::preview::visible;

/// Most addresses of one setting. Larger groups have a mailing list.
const MAX_ADDRESSES: usize = 10;
/// Longest address, in bytes (RFC 5321, section 4.5.3.1.3).
const MAX_BYTES: usize = 254;
/// Characters of a local part besides letters and digits, without quotation marks (RFC 5322, section 3.2.3).
const LOCAL: &str = "!#$%&'*+-/=?^_`{|}~.";

/// One address. Only characters that every mail server accepts are allowed, so nothing can leave its command or header.
pub(super) fn parse(text: &str) -> Result<Address, String> {
    let wrong = || format!("{} is not an e-mail address; write name@example.com", quoted(text));
    if !text.is_ascii() {
        return Err(format!(
            "{} has characters that many mail servers refuse; write the domain in its xn-- form",
            quoted(text)
        ));
    }
    let (local, domain) = text.rsplit_once('@').ok_or_else(wrong)?;
    let is_local = local.chars().all(|c| c.is_ascii_alphanumeric() || LOCAL.contains(c));
    let is_domain = domain.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    if text.len() > MAX_BYTES || !is_local || !is_domain {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

/// Addresses with commas between them.
pub(super) fn parse_list(text: &str) -> Result<Vec<Address>, String> {
    let parts = ChatPlatform::EMAIL.rooms_of(text);
    if parts.is_empty() {
        return Err("no address; write name@example.com".to_owned());
    }
    if parts.len() > MAX_ADDRESSES {
        return Err(format!(
            "{} addresses; at most {MAX_ADDRESSES} are allowed, so use a mailing list",
            parts.len()
        ));
    }
    parts.iter().map(|part| parse(part)).collect()
}

fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(80).map(visible).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_only_characters_that_cannot_leave_its_place() {
        for right in
            ["ops@example.com", "o'neil+px@mail.example.co", "a@localhost", "x_1@xn--bcher-kva.example"]
        {
            assert_eq!(parse(right).unwrap().as_ref() as &str, right);
        }
        for wrong in [
            "",
            "ops",
            "@example.com",
            "ops@",
            "a@b@c",
            "a b@example.com",
            "a@exa mple.com",
            "<a@example.com>",
            "a@example.com\r\nRCPT TO:<b@example.com>",
            "\"a b\"@example.com",
            "a@[127.0.0.1]",
            "a@example.com>",
            "a..b@example.com",
            "a@example..com",
            "bücher@example.com",
            "a@bücher.example",
            "a@-",
            "Ops <a@example.com>",
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains("write "), "{wrong:?}: {error}");
            assert!(!error.contains('\n'), "{wrong:?}");
        }
        assert!(parse(&format!("{}@example.com", "a".repeat(250))).is_err());
    }

    #[test]
    fn a_list_has_at_most_ten_addresses_and_names_the_wrong_one() {
        assert_eq!(parse_list("a@example.com, b@example.com").unwrap().len(), 2);
        assert!(parse_list("a@example.com,b@").unwrap_err().contains("\"b@\""));
        assert!(parse_list(" , ").is_err());
        let many: Vec<String> = (0..11).map(|n| format!("a{n}@example.com")).collect();
        assert!(parse_list(&many.join(",")).unwrap_err().contains("11 addresses"));
        assert!(parse_list(&many[1..].join(",")).is_ok());
    }
}
