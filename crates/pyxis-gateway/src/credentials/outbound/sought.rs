//! The strings that answers are searched for: a secret, and each form of it that goes out.
//!
//! An API can only give back what it was sent. So what is attached to a request is looked for as it was
//! attached: the base64 of a basic pair, the percent-encoded value of a parameter, a signature. The encodings
//! of each string are the business of [`pyxis_scrub`].

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use pyxis_core::auth::Auth;
use pyxis_scrub::Needles;
use zeroize::Zeroizing;

use super::inject;
use crate::runtime::secret_value::SecretValue;

/// Secrets with fewer characters are not looked for on their own: answers are full of such words.
pub(crate) const MIN_CHARS: usize = 8;
/// Length from which a user name beside a short password may be a key, in bytes.
const KEY_LENGTH: usize = 16;
/// Passwords that services tell people to write beside a key that is the user name.
const PLACEHOLDERS: [&str; 8] =
    ["x-oauth-basic", "api_token", "password", "anything", "anystring", "ignored", "unused", "nopassword"];
/// Names of fields that tell who somebody is.
const IDENTIFIERS: [&str; 16] = [
    "user",
    "username",
    "user_name",
    "login",
    "email",
    "account",
    "organization",
    "org",
    "project",
    "tenant",
    "region",
    "name",
    "id",
    "client_id",
    "app_id",
    "key_id",
];

/// Strings to search an answer for, wiped when dropped.
#[derive(Default)]
pub(crate) struct Sought(Vec<Zeroizing<String>>);

impl Sought {
    /// What the stored secret alone says. Without `auth` it is the token of a sidecar, which is told nothing else.
    pub(crate) fn of(auth: Option<&Auth>, secret: &SecretValue) -> Self {
        let mut sought = Self::default();
        match (auth, secret.text()) {
            (None | Some(Auth::Bearer {}), Some(text)) => sought.add_sent(text, || format!("Bearer {text}")),
            (None, None) => {}
            (Some(Auth::Basic {}), _) => sought.add_basic(secret),
            (Some(Auth::Query { parameter }), Some(text)) => {
                let encoded = Zeroizing::new(inject::query_encoded(text).to_string());
                sought.add_sent(text, || format!("{}={}", inject::query_encoded(parameter), &*encoded));
                sought.add_percent_encoded(&encoded);
            }
            (Some(Auth::Cookie { name }), Some(text)) => sought.add_sent(text, || format!("{name}={text}")),
            (Some(auth), _) => {
                secret_fields(auth, secret).for_each(|(_, value)| sought.add(value));
                if let Auth::Header(formats) = auth {
                    sought.add_headers(
                        formats.list().iter().map(|format| format.format.as_str()),
                        auth,
                        secret,
                    );
                }
            }
        }
        sought
    }

    /// Adds a string, unless it is too short to stand for a secret.
    pub(crate) fn add(&mut self, text: &str) {
        if is_long(text) && !self.0.iter().any(|known| **known == text) {
            self.0.push(Zeroizing::new(text.to_owned()));
        }
    }

    /// Adds a secret; one that is too short with what stands around it where it goes out.
    pub(crate) fn add_sent(&mut self, secret: &str, around: impl FnOnce() -> String) {
        if is_long(secret) {
            self.add(secret);
        } else if !secret.is_empty() {
            self.add(&Zeroizing::new(around()));
        }
    }

    /// Adds what stands percent-encoded on the wire, with digits in either case. Encoded again it is another text
    /// than the secret is.
    pub(crate) fn add_percent_encoded(&mut self, encoded: &str) {
        if !encoded.contains('%') {
            return self.add(encoded);
        }
        self.add(encoded);
        let mut lower = Zeroizing::new(String::with_capacity(encoded.len()));
        let mut digits = 0_u8;
        for letter in encoded.chars() {
            lower.push(if digits > 0 { letter.to_ascii_lowercase() } else { letter });
            digits = if letter == '%' { 2 } else { digits.saturating_sub(1) };
        }
        self.add(&lower);
        self.add(&Zeroizing::new(percent_decode_str(encoded).decode_utf8_lossy().into_owned()));
    }

    /// The pair as it was given and as it goes out, and of its halves the one that is the secret.
    fn add_basic(&mut self, secret: &SecretValue) {
        let Ok(pair) = inject::basic_pair(secret) else {
            return secret.parts().for_each(|part| self.add(part));
        };
        if let Some((username, password)) = pair.split_once(':') {
            self.add(if is_key(username, password) { username } else { password });
        }
        self.add(&pair);
        self.add(&Zeroizing::new(STANDARD.encode(pair.as_bytes())));
    }

    /// The whole value of each header that holds a part too short to be looked for on its own.
    fn add_headers<'f>(&mut self, formats: impl Iterator<Item = &'f str>, auth: &Auth, secret: &SecretValue) {
        for format in formats {
            let short = |(name, value): (&str, &str)| {
                let marked =
                    if name.is_empty() { "{secret}".to_owned() } else { format!("{{secret.{name}}}") };
                !value.is_empty() && !is_long(value) && format.contains(&marked)
            };
            if secret_fields(auth, secret).any(short)
                && let Ok(value) = inject::expand(format, secret)
            {
                self.add(&value);
            }
        }
    }

    /// What finds them, for answers to the agent.
    pub(crate) fn needles(&self, credential: &str) -> Needles {
        Needles::new(credential, &self.slices())
    }

    /// The same for what people read.
    pub(crate) fn needles_in_words(&self, credential: &str) -> Needles {
        Needles::in_words(credential, &self.slices())
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.0.iter().map(|text| text.as_bytes()).collect()
    }
}

/// Fields of a secret that are too short to be looked for in answers, as they are named in an input.
pub(crate) fn short_fields(auth: Option<&Auth>, secret: &SecretValue) -> Vec<String> {
    let named = |name: &str| if name.is_empty() { "secret".to_owned() } else { format!("secret.{name}") };
    if let (Some(Auth::Basic {}), Ok(pair)) = (auth, inject::basic_pair(secret)) {
        let (username, password) = pair.split_once(':').unwrap_or_default();
        let (field, value) =
            if is_key(username, password) { ("username", username) } else { ("password", password) };
        let field = named(if secret.text().is_some() { "" } else { field });
        return if is_long(value) { Vec::new() } else { vec![field] };
    }
    let fields: Vec<(&str, &str)> = match auth {
        Some(auth) => secret_fields(auth, secret).collect(),
        None => secret.named().collect(),
    };
    let short = fields.into_iter().filter(|(_, value)| !value.is_empty() && !is_long(value));
    short.map(|(name, _)| named(name)).collect()
}

/// The parts of a secret that are one.
fn secret_fields<'s>(auth: &Auth, secret: &'s SecretValue) -> impl Iterator<Item = (&'s str, &'s str)> {
    secret.named().filter(move |(name, _)| is_secret(auth, name))
}

/// True if a part of a secret is one; one string alone, whose name is empty, always is. What only names
/// the client or is shown to everybody is none, and answers are full of it.
fn is_secret(auth: &Auth, name: &str) -> bool {
    match auth {
        Auth::Oauth1(_) => name != "consumer_key",
        Auth::AwsSigv4(_) => name != "access_key_id",
        Auth::Oauth2ClientCredentials(_) | Auth::Oauth2Refresh(_) => name != "client_id",
        // A key file as a provider hands it out, whose other fields are names and addresses.
        Auth::JwtBearer(_) | Auth::GithubApp(_) => name.is_empty() || name == "private_key",
        Auth::Mtls {} => name != "certificate",
        Auth::Header(_) => !IDENTIFIERS.contains(&name.to_ascii_lowercase().as_str()),
        // What an `hmac` template sends of the secret, only its owner knows.
        _ => true,
    }
}

/// True if of a basic pair the user name is the secret: services that take a key for one want no password, one that
/// only fills the place, or a short one. Any other user name is a word or an id that answers may well have in them.
fn is_key(username: &str, password: &str) -> bool {
    let may_be = username.len() >= KEY_LENGTH && !username.contains('@');
    password.is_empty() || PLACEHOLDERS.contains(&password) || (!is_long(password) && may_be)
}

fn is_long(text: &str) -> bool {
    text.chars().nth(MIN_CHARS - 1).is_some()
}

#[cfg(test)]
mod tests {
    use pyxis_core::auth::{HeaderFormat, HeaderList, Headers, derived};
    use serde_json::{Value, json};

    use super::*;

    fn secret(value: Value) -> SecretValue {
        SecretValue::from_json(value).unwrap()
    }

    fn sought(auth: &Auth, value: Value) -> Vec<String> {
        Sought::of(Some(auth), &secret(value)).0.iter().map(|text| text.to_string()).collect()
    }

    fn header(name: &str, format: &str) -> Auth {
        let format = HeaderFormat { name: name.into(), format: format.into() };
        Auth::Header(Headers::Several(HeaderList { headers: vec![format] }))
    }

    #[test]
    fn what_goes_out_is_looked_for_as_it_goes_out() {
        let basic = sought(&Auth::Basic {}, json!({"username": "alice", "password": "hunter2-hunter2"}));
        assert_eq!(basic, ["hunter2-hunter2", "alice:hunter2-hunter2", "YWxpY2U6aHVudGVyMi1odW50ZXIy"]);
        let query = Auth::Query { parameter: "api_key".into() };
        assert_eq!(sought(&query, json!("qk-plain-1")), ["qk-plain-1"]);
        assert_eq!(sought(&query, json!("a/b c=+d")), ["a/b c=+d", "a%2Fb%20c%3D%2Bd", "a%2fb%20c%3d%2bd"]);
    }

    #[test]
    fn of_a_basic_pair_the_half_is_looked_for_that_is_the_secret() {
        let basic = |pair: &str| sought(&Auth::Basic {}, json!(pair)).remove(0);
        // An account's id beside its token; a key beside what only fills the place.
        assert_eq!(basic("AC0123456789abcdef0123:token-canary"), "token-canary");
        assert_eq!(basic("sk-canary-0123456789:"), "sk-canary-0123456789");
        assert_eq!(basic("sk-canary-0123456789:x-oauth-basic"), "sk-canary-0123456789");
        assert_eq!(basic("sk-canary-0123456789:X"), "sk-canary-0123456789");
        assert_eq!(basic("somebody@company.example:1234"), "somebody@company.example:1234");
    }

    #[test]
    fn a_short_secret_is_looked_for_only_with_what_stands_around_it() {
        assert_eq!(sought(&Auth::Bearer {}, json!("1234")), ["Bearer 1234"]);
        assert_eq!(sought(&Auth::Cookie { name: "session".into() }, json!("ab")), ["session=ab"]);
        assert_eq!(sought(&Auth::Query { parameter: "token".into() }, json!("a b")), ["token=a%20b"]);
        assert_eq!(sought(&Auth::Basic {}, json!("bob:1")), ["Ym9iOjE="]);
        assert_eq!(sought(&header("X-Pin", "{secret}"), json!("1234")), [""; 0]);
        let several = header("X-Auth", "{secret.user}/{secret.pin}");
        assert_eq!(sought(&several, json!({"user": "somebody", "pin": "1234"})), ["somebody/1234"]);
    }

    #[test]
    fn names_and_ids_are_no_secrets() {
        let auth = header("X-Auth", "{secret.username}:{secret.key}");
        let found = sought(&auth, json!({"username": "somebody-known", "key": "key-of-theirs"}));
        assert_eq!(found, ["key-of-theirs"]);
        assert_eq!(
            sought(
                &Auth::Oauth1(derived::Oauth1::default()),
                json!({"consumer_key": "known-to-all", "consumer_secret": "cs-canary"})
            ),
            ["cs-canary"]
        );
    }

    #[test]
    fn short_parts_are_named_and_long_or_public_ones_are_not() {
        let short = |auth: &Auth, value| short_fields(Some(auth), &secret(value));
        assert_eq!(short(&Auth::Bearer {}, json!("1234567")), ["secret"]);
        assert_eq!(short(&Auth::Bearer {}, json!("12345678")), [""; 0]);
        assert_eq!(
            short(&Auth::Basic {}, json!({"username": "bob", "password": "1234"})),
            ["secret.password"]
        );
        assert_eq!(short(&Auth::Basic {}, json!({"username": "bob", "password": "long enough"})), [""; 0]);
        assert_eq!(short(&Auth::Basic {}, json!("bob:")), ["secret"]);
        let oauth1 = json!({"consumer_key": "ck", "consumer_secret": "cs", "token": ""});
        assert_eq!(short(&Auth::Oauth1(derived::Oauth1::default()), oauth1), ["secret.consumer_secret"]);
        assert_eq!(short_fields(None, &secret(json!("token"))), ["secret"]);
    }
}
