//! What each kind attaches, refuses, and searches for.

use http::HeaderMap;
use pyxis_core::auth::{
    Auth, BasicPair, BearerToken, CookieName, HeaderFormat, HeaderList, Headers, Oauth1, QueryParameter,
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{behavior, short_parts};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

fn secret(value: Value) -> SecretValue {
    SecretValue::from_json(value).unwrap()
}

fn attach(
    auth: &Auth,
    secret: &SecretValue,
    headers: &mut HeaderMap,
    wire: &str,
) -> Result<Option<Zeroizing<String>>> {
    behavior(auth).put(secret, headers, wire)
}

fn check(auth: &Auth, secret: &SecretValue) -> Result<()> {
    behavior(auth).check(secret)
}

fn several(headers: Vec<HeaderFormat>) -> Auth {
    Auth::Header(Headers::Several(HeaderList { headers }))
}

#[test]
fn every_kind_puts_the_secret_where_it_belongs() {
    let mut headers = HeaderMap::new();
    attach(&Auth::Bearer(BearerToken {}), &secret(json!("tok")), &mut headers, "/").unwrap();
    assert_eq!(headers["authorization"], "Bearer tok");

    let pair = secret(json!({"username": "Aladdin", "password": "open sesame"}));
    attach(&Auth::Basic(BasicPair {}), &pair, &mut headers, "/").unwrap();
    assert_eq!(headers["authorization"], "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");

    attach(&Auth::Cookie(CookieName { name: "sid".into() }), &secret(json!("x1")), &mut headers, "/")
        .unwrap();
    assert_eq!(headers["cookie"], "sid=x1");

    let formats = vec![
        HeaderFormat { name: "X-Key".into(), format: "{secret.key}".into() },
        HeaderFormat { name: "X-Sig".into(), format: "v1={secret.sig};".into() },
    ];
    let both = secret(json!({"key": "k", "sig": "s"}));
    attach(&several(formats), &both, &mut headers, "/").unwrap();
    assert_eq!((&headers["x-key"], &headers["x-sig"]), (&"k".parse().unwrap(), &"v1=s;".parse().unwrap()));
}

#[test]
fn a_query_credential_replaces_what_the_agent_put_there_under_any_spelling() {
    let auth = Auth::Query(QueryParameter { parameter: "api_key".into() });
    let wire = "/v1?a=1&api%5Fkey=mine&api_key=mine2&b=2";
    let changed = attach(&auth, &secret(json!("a&b=c")), &mut HeaderMap::new(), wire).unwrap();
    assert_eq!(changed.unwrap().as_str(), "/v1?a=1&b=2&api_key=a%26b%3Dc");
}

#[test]
fn a_cookie_is_one_value_of_characters_that_a_cookie_may_have() {
    let auth = Auth::Cookie(CookieName { name: "sid".into() });
    for value in ["abc", "a=b&c", "\"quoted\"", "s%3Aabc.def/+=", "{x:[1]}", "!#$%&'()*+-./:<=>?@[]^_`{|}~"] {
        assert!(check(&auth, &secret(json!(value))).is_ok(), "{value}");
    }
    for (value, named) in [
        ("a; other=1", "semicolon"),
        ("a;", "semicolon"),
        ("\"a;b\"", "semicolon"),
        ("a,b", "comma"),
        ("a b", "space"),
        ("a\"b", "quotation mark"),
        ("\"", "quotation mark"),
        ("\"a", "quotation mark"),
        ("a\\b", "backslash"),
        ("a\tb", "control character"),
        ("a\u{7f}", "control character"),
        ("é", "outside ASCII"),
    ] {
        let error = check(&auth, &secret(json!(value))).unwrap_err();
        let Error::InvalidField { field, detail } = &error else { panic!("{value:?}: {error:?}") };
        assert_eq!(field, "secret", "{value:?}");
        assert!(detail.contains(named), "{value:?}: {detail}");
    }
    // What is stored with one kind is looked at again when it becomes a cookie.
    assert!(check(&Auth::Bearer(BearerToken {}), &secret(json!("a; b"))).is_ok());
}

#[test]
fn a_secret_without_the_needed_parts_is_refused_when_written() {
    assert!(check(&Auth::Basic(BasicPair {}), &secret(json!("no colon"))).is_err());
    assert!(check(&Auth::Bearer(BearerToken {}), &secret(json!({"a": "b"}))).is_err());
    assert!(check(&Auth::Bearer(BearerToken {}), &secret(json!("line\nbreak"))).is_err());
    let format = HeaderFormat { name: "X".into(), format: "{secret.missing}".into() };
    assert!(check(&several(vec![format]), &secret(json!({"a": "b"}))).is_err());
}

fn search_strings(auth: &Auth, value: Value) -> Vec<String> {
    super::collect_from_secret(Some(auth), &secret(value)).to_texts()
}

fn header(name: &str, format: &str) -> Auth {
    let format = HeaderFormat { name: name.into(), format: format.into() };
    Auth::Header(Headers::Several(HeaderList { headers: vec![format] }))
}

#[test]
fn what_goes_out_is_looked_for_as_it_goes_out() {
    let basic = search_strings(
        &Auth::Basic(BasicPair {}),
        json!({"username": "alice", "password": "hunter2-hunter2"}),
    );
    assert_eq!(basic, ["hunter2-hunter2", "alice:hunter2-hunter2", "YWxpY2U6aHVudGVyMi1odW50ZXIy"]);
    let query = Auth::Query(QueryParameter { parameter: "api_key".into() });
    assert_eq!(search_strings(&query, json!("qk-plain-1")), ["qk-plain-1"]);
    assert_eq!(
        search_strings(&query, json!("a/b c=+d")),
        ["a/b c=+d", "a%2Fb%20c%3D%2Bd", "a%2fb%20c%3d%2bd"]
    );
}

#[test]
fn of_a_basic_pair_the_half_is_looked_for_that_is_the_secret() {
    let basic = |pair: &str| search_strings(&Auth::Basic(BasicPair {}), json!(pair)).remove(0);
    // An account's id with its token; a key with a placeholder.
    assert_eq!(basic("AC0123456789abcdef0123:token-canary"), "token-canary");
    assert_eq!(basic("sk-canary-0123456789:"), "sk-canary-0123456789");
    assert_eq!(basic("sk-canary-0123456789:x-oauth-basic"), "sk-canary-0123456789");
    assert_eq!(basic("sk-canary-0123456789:X"), "sk-canary-0123456789");
    assert_eq!(basic("somebody@company.example:1234"), "somebody@company.example:1234");
}

#[test]
fn a_short_secret_is_looked_for_only_with_what_stands_around_it() {
    assert_eq!(search_strings(&Auth::Bearer(BearerToken {}), json!("1234")), ["Bearer 1234"]);
    assert_eq!(
        search_strings(&Auth::Cookie(CookieName { name: "session".into() }), json!("ab")),
        ["session=ab"]
    );
    assert_eq!(
        search_strings(&Auth::Query(QueryParameter { parameter: "token".into() }), json!("a b")),
        ["token=a%20b"]
    );
    assert_eq!(search_strings(&Auth::Basic(BasicPair {}), json!("bob:1")), ["Ym9iOjE="]);
    assert_eq!(search_strings(&header("X-Pin", "{secret}"), json!("1234")), [""; 0]);
    let several = header("X-Auth", "{secret.user}/{secret.pin}");
    assert_eq!(search_strings(&several, json!({"user": "somebody", "pin": "1234"})), ["somebody/1234"]);
}

#[test]
fn names_and_ids_are_no_secrets() {
    let auth = header("X-Auth", "{secret.username}:{secret.key}");
    let found = search_strings(&auth, json!({"username": "somebody-known", "key": "key-of-theirs"}));
    assert_eq!(found, ["key-of-theirs"]);
    assert_eq!(
        search_strings(
            &Auth::Oauth1(Oauth1::default()),
            json!({"consumer_key": "known-to-all", "consumer_secret": "cs-canary"})
        ),
        ["cs-canary"]
    );
}

#[test]
fn short_parts_are_named_and_long_or_public_ones_are_not() {
    let short = |auth: &Auth, value| short_parts(Some(auth), &secret(value));
    assert_eq!(short(&Auth::Bearer(BearerToken {}), json!("1234567")), ["secret"]);
    assert_eq!(short(&Auth::Bearer(BearerToken {}), json!("12345678")), [""; 0]);
    assert_eq!(
        short(&Auth::Basic(BasicPair {}), json!({"username": "bob", "password": "1234"})),
        ["secret.password"]
    );
    assert_eq!(
        short(&Auth::Basic(BasicPair {}), json!({"username": "bob", "password": "long enough"})),
        [""; 0]
    );
    assert_eq!(short(&Auth::Basic(BasicPair {}), json!("bob:")), ["secret"]);
    let oauth1 = json!({"consumer_key": "ck", "consumer_secret": "cs", "token": ""});
    assert_eq!(short(&Auth::Oauth1(Oauth1::default()), oauth1), ["secret.consumer_secret"]);
    assert_eq!(short_parts(None, &secret(json!("token"))), ["secret"]);
}
