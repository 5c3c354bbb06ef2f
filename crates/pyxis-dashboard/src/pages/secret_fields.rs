//! Values that are masked in summaries and excerpts because of the names of their fields.

use pyxis_core::headers::is_sensitive;

/// Text in place of a masked value.
pub(super) const MASK: &str = "•••";
/// Longest name, in bytes, that gives meaning to the members below it.
const PARENT: usize = 64;
/// Words that mark a field besides those of headers.
const WORDS: [&str; 22] = [
    "apikeys",
    "cardnumber",
    "ccnumber",
    "credential",
    "csc",
    "cvc",
    "cvc2",
    "cvv",
    "cvv2",
    "iban",
    "mnemonic",
    "pan",
    "passcode",
    "passcodes",
    "passwords",
    "pin",
    "pins",
    "secrets",
    "securitycode",
    "signatures",
    "tokens",
    "totp",
];
/// Words that mark a field together.
const PAIRS: [[&str; 2]; 5] = [
    ["card", "number"],
    ["cards", "number"],
    ["cc", "number"],
    ["security", "code"],
    ["verification", "code"],
];

/// True if the value of a field must not be shown. `name` may be a path such as `card.number`. In doubt, it is masked.
pub(super) fn is_masked(name: &str, value: &str) -> bool {
    is_secret(name) && !is_harmless(name, value)
}

fn is_secret(name: &str) -> bool {
    let words = split_name(name);
    is_sensitive(&words.join("-"))
        || words.iter().any(|word| WORDS.contains(&word.as_str()))
        || words.windows(2).any(|pair| PAIRS.iter().any(|marked| marked[..] == *pair))
}

/// True for a value that says nothing, and for a count of tokens.
fn is_harmless(name: &str, value: &str) -> bool {
    let counts = split_name(name).last().is_some_and(|word| word == "tokens");
    matches!(value, "null" | "true" | "false") || (counts && value.parse::<f64>().is_ok())
}

/// Words of a name in lower case: `clientSecret`, `client_secret` and `client.secret` have two. Numbers between them,
/// as of list items, are left out.
fn split_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_alphanumeric() && !letter.is_uppercase();
    }
    words.retain(|word| !word.bytes().all(|byte| byte.is_ascii_digit()));
    words
}

/// JSON in which the values of secret fields are masked. `None` if there are none. No other token changes, and text that
/// is cut or otherwise not quite JSON is masked as far as it looks like JSON.
pub(super) fn mask_json(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut masked = String::new();
    // Names of the open objects and lists, and the name of the value that comes next.
    let (mut open, mut name): (Vec<&str>, &str) = (Vec::new(), "");
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at);
                let colon = after_blanks(bytes, end);
                if bytes.get(colon) != Some(&b':') {
                    at = end;
                    continue;
                }
                name = &text[at..end];
                at = after_blanks(bytes, colon + 1);
                let path = format!(
                    "{}.{}",
                    open.last().map(|parent| decoded(parent)).unwrap_or_default(),
                    decoded(name)
                );
                if !is_secret(&path) {
                    continue;
                }
                let end = value_end(bytes, at);
                if !is_harmless(&path, &text[at..end]) {
                    masked.extend([&text[copied..at], "\"", MASK, "\""]);
                    copied = end;
                }
                at = end;
            }
            b'{' | b'[' => {
                // The items of a list have its name.
                let own = if name.is_empty() { open.last().copied().unwrap_or("") } else { name };
                open.push(if own.len() <= PARENT { own } else { "" });
                name = "";
                at += 1;
            }
            b'}' | b']' => {
                open.pop();
                name = "";
                at += 1;
            }
            b',' => {
                name = "";
                at += 1;
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| masked + &text[copied..])
}

/// Text of a string in quotes.
fn decoded(quoted: &str) -> String {
    serde_json::from_str(quoted).unwrap_or_else(|_| quoted.trim_matches('"').to_owned())
}

fn after_blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = bytes.iter().skip(from).take_while(|byte| byte.is_ascii_whitespace());
    from + blanks.count()
}

/// End of a string, or of the text if the string has none.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// End of a value, or of the text if the value has none.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let rest = bytes.iter().skip(at);
                return at + rest.take_while(|byte| !ends(byte)).count();
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_masked_by_the_words_of_its_name() {
        for name in [
            "password",
            "user.password",
            "newPassword",
            "client_secret",
            "clientSecret",
            "access_token",
            "refreshToken",
            "id-token",
            "api_key",
            "apiKey",
            "APIKEY",
            "authorization",
            "signature",
            "pin",
            "cardPin",
            "otp",
            "otp_code",
            "cvv",
            "card.cvc",
            "security_code",
            "iban",
            "destination.IBAN",
            "card_number",
            "cardNumber",
            "card.number",
            "cards[0].number",
            "private_key",
            "passcode",
            "credentials",
        ] {
            assert!(is_masked(name, "4242"), "{name}");
        }
        for name in [
            "amount",
            "number",
            "order_number",
            "card.brand",
            "card_last4",
            "company",
            "opinion",
            "spinning",
            "pinned",
            "code",
            "tokenized",
            "description",
            "[0]",
            "",
        ] {
            assert!(!is_masked(name, "4242"), "{name}");
        }
        for value in ["true", "false", "null"] {
            assert!(!is_masked("password", value), "{value}");
        }
        assert!(!is_masked("usage.prompt_tokens", "1200") && is_masked("tokens", "abc"));
    }

    #[test]
    fn secret_values_of_json_are_masked_and_nothing_else_changes() {
        for (text, expected) in [
            (r#"{"a":1,"access_token":"x\"y","b":"token"}"#, r#"{"a":1,"access_token":"•••","b":"token"}"#),
            (r#"{ "pin" : 1234 , "a" : [1, 2] }"#, r#"{ "pin" : "•••" , "a" : [1, 2] }"#),
            (r#"{"secret":{"a":["}"],"b":{}},"c":1e2}"#, r#"{"secret":"•••","c":1e2}"#),
            (r#"{"secrets":["a","b"],"c":[{"cvv":1}]}"#, r#"{"secrets":"•••","c":[{"cvv":"•••"}]}"#),
            (r#"{"cards":[{"number":"42"}],"number":7}"#, r#"{"cards":[{"number":"•••"}],"number":7}"#),
            (r#"{"card":{"number":"42","brand":"visa"}}"#, r#"{"card":{"number":"•••","brand":"visa"}}"#),
            (
                r#"{"card":[{"number":"42"}],"b":{"number":7}}"#,
                r#"{"card":[{"number":"•••"}],"b":{"number":7}}"#,
            ),
            (r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"•••"}"#),
            (r#"{"token":"ä\ä never ends"#, r#"{"token":"•••""#),
            (r#"{"token":"#, r#"{"token":"•••""#),
            (r#"[{"token":null},{"token":"x"}]"#, r#"[{"token":null},{"token":"•••"}]"#),
        ] {
            assert_eq!(mask_json(text).unwrap_or_else(|| text.to_owned()), expected, "{text}");
        }
        for text in ["", "{}", r#"{"a":"token"}"#, r#"["password"]"#, r#"{"has_token":true}"#, "}]\"", "\"\\"]
        {
            assert_eq!(mask_json(text), None, "{text}");
        }
    }
}
