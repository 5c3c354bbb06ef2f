//! Published examples, properties, and agreement with an independent library.

use proptest::prelude::*;

use super::*;

mod agreement;

fn target(url: &str) -> Target {
    Target::parse(url).unwrap()
}

fn secret(text: &str) -> SecretString {
    SecretString::new(text.to_owned())
}

/// RFC 5849, section 3.4.1.1, with the signature of erratum 2550, because the RFC prints that of a different request.
#[test]
fn the_base_string_of_the_rfc_and_its_corrected_signature_come_out() {
    let protocol = [
        ("oauth_consumer_key", "9djdj82h48djs9d2"),
        ("oauth_token", "kkk9d7dh3k39sjv7"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131201"),
        ("oauth_nonce", "7d8f3e4a"),
    ];
    let url = target("http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b");
    let base = base_string("post", &url, Some(b"c2&a3=2+q"), &protocol).unwrap();
    assert_eq!(
        base,
        "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D\
         %26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a\
         %26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
    );
    let signature = sign(&base, &secret("j49sk3j29djd"), &secret("dh893hdasih9"));
    assert_eq!(signature, "r6/TJjbCOr97/+UU0NsvSne7s5g=");
}

/// RFC 5849, section 3.4.1.2.
#[test]
fn the_base_uris_of_the_rfc_come_out() {
    for (url, expected) in [
        ("http://EXAMPLE.COM:80/r%20v/X?id=123", "GET&http%3A%2F%2Fexample.com%2Fr%2520v%2FX&"),
        ("https://www.example.net:8080/?q=1", "GET&https%3A%2F%2Fwww.example.net%3A8080%2F&"),
        ("https://www.example.net:443", "GET&https%3A%2F%2Fwww.example.net%2F&"),
        ("https://[2001:DB8::1]:8443/a", "GET&https%3A%2F%2F%5B2001%3Adb8%3A%3A1%5D%3A8443%2Fa&"),
    ] {
        let base = base_string("GET", &target(url), None, &[]).unwrap();
        assert!(base.starts_with(expected), "{base}");
    }
}

/// RFC 5849, section 1.2: token credentials and the protected resource. The signature of its first request is left out
/// because the RFC prints one that does not match.
#[test]
fn the_signatures_of_the_rfcs_introduction_come_out() {
    let token = [
        ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
        ("oauth_token", "hh5s93j4hdidpola"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131201"),
        ("oauth_nonce", "walatlh"),
        ("oauth_verifier", "hfdp7dh39dks9884"),
    ];
    let base = base_string("POST", &target("https://photos.example.net/token"), None, &token).unwrap();
    let signature = sign(&base, &secret("kd94hf93k423kf44"), &secret("hdhd0244k9j7ao03"));
    assert_eq!(signature, "gKgrFCywp7rO0OXSjdot/IHF7IU=");

    let photo = [
        ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
        ("oauth_token", "nnch734d00sl2jdk"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131202"),
        ("oauth_nonce", "chapoH"),
    ];
    let url = target("http://photos.example.net/photos?file=vacation.jpg&size=original");
    let base = base_string("GET", &url, None, &photo).unwrap();
    let signature = sign(&base, &secret("kd94hf93k423kf44"), &secret("pfkkdhi9sl3r4s00"));
    assert_eq!(signature, "MdpQcU8iPSUjWoN/UDMsK2sui9I=");
}

/// OAuth Core 1.0, appendix A.5.
#[test]
fn the_signature_of_oauth_core_comes_out() {
    let tokens = Tokens {
        consumer_key: "dpf43f3p2l4k3l03".to_owned(),
        consumer_secret: secret("kd94hf93k423kf44"),
        token: secret("nnch734d00sl2jdk"),
        without_token: WithoutToken::Omit,
        token_secret: secret("pfkkdhi9sl3r4s00"),
    };
    let stamp = NonceAndTimestamp { timestamp: 1_191_242_096, nonce: "kllo9940pd9333jh".to_owned() };
    let url = target("http://photos.example.net/photos?file=vacation.jpg&size=original");
    let header = authorization(&tokens, "GET", &url, None, &stamp).unwrap();
    assert_eq!(
        header,
        "OAuth oauth_consumer_key=\"dpf43f3p2l4k3l03\", oauth_nonce=\"kllo9940pd9333jh\", \
         oauth_signature_method=\"HMAC-SHA1\", oauth_timestamp=\"1191242096\", \
         oauth_token=\"nnch734d00sl2jdk\", oauth_version=\"1.0\", \
         oauth_signature=\"tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D\""
    );
}

/// The example "Creating a signature" from the X API documentation, in each of its editions.
#[test]
fn the_signatures_of_the_x_api_come_out() {
    let tokens = Tokens {
        consumer_key: "xvz1evFS4wEEPTGEFPHBog".to_owned(),
        consumer_secret: secret("kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw"),
        token: secret("370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb"),
        without_token: WithoutToken::Omit,
        token_secret: secret("LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"),
    };
    let stamp = NonceAndTimestamp {
        timestamp: 1_318_622_958,
        nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg".to_owned(),
    };
    let form = b"status=Hello%20Ladies%20%2b%20Gentlemen%2c%20a%20signed%20OAuth%20request%21";
    for (api, signature) in [
        ("https://api.twitter.com/1", "tnnArxj06cWHq44gCs1OSKk%2FjLY%3D"),
        ("https://api.twitter.com/1.1", "hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D"),
        ("https://api.x.com/1.1", "Ls93hJiZbQ3akF3HF3x1Bz8%2FzU4%3D"),
    ] {
        let url = target(&format!("{api}/statuses/update.json?include_entities=true"));
        let header = authorization(&tokens, "POST", &url, Some(form), &stamp).unwrap();
        assert!(header.ends_with(&format!("oauth_signature=\"{signature}\"")), "{api}: {header}");
    }
}

/// The OAuth walkthrough of Twitter's first documentation: both steps to a token, and a form in Japanese.
#[test]
fn the_signatures_of_twitters_walkthrough_come_out() {
    let form = "status=setting%20up%20my%20twitter%20%E7%A7%81%E3%81%AE%E3%81%95%E3%81%88%E3%81%9A%E3%82%8A\
                %E3%82%92%E8%A8%AD%E5%AE%9A%E3%81%99%E3%82%8B";
    for (url, form, protocol, token_secret, expected) in [
        (
            "https://api.twitter.com/oauth/request_token",
            None,
            &[
                ("oauth_callback", "http://localhost:3005/the_dance/process_callback?service_provider_id=11"),
                ("oauth_nonce", "QP70eNmVz8jvdPevU3oJD2AfF7R7odC2XJcn4XlZJqk"),
                ("oauth_timestamp", "1272323042"),
            ][..],
            "",
            "8wUi7m5HFQy76nowoCThusfgB+Q=",
        ),
        (
            "https://api.twitter.com/oauth/access_token",
            None,
            &[
                ("oauth_token", "8ldIZyxQeVrFZXFOZH5tAwj6vzJYuLQpl0WUEYtWc"),
                ("oauth_verifier", "pDNg57prOHapMbhv25RNf75lVRd6JDsni1AJJIDYoTY"),
                ("oauth_nonce", "9zWH6qe0qG7Lc1telCn7FhUbLyVdjEaL3MO5uHxn8"),
                ("oauth_timestamp", "1272323047"),
            ],
            "x6qpRnlEmW9JbQn4PQVVeVG8ZLPEx6A0TOebgwcuA",
            "PUw/dHA4fnlJYM6RhXk5IU/0fCc=",
        ),
        (
            "http://api.twitter.com/1/statuses/update.json",
            Some(form.as_bytes()),
            &[
                ("oauth_token", "819797-Jxq8aYUDRmykzVKrgoLhXSq67TEa5ruc4GJC2rWimw"),
                ("oauth_nonce", "oElnnMTQIZvqvlfXM56aBLAf5noGD0AQR3Fmi7Q6Y"),
                ("oauth_timestamp", "1272325550"),
            ],
            "J6zix3FfA9LofH0awS24M3HcBYXO5nI1iYe8EfBA",
            "yOahq5m0YjDDjfjxHaXEsW9D+X0=",
        ),
    ] {
        let always = [
            ("oauth_consumer_key", "GDdmIQH6jhtmLUypg82g"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_version", "1.0"),
        ];
        let base = base_string("POST", &target(url), form, &[protocol, &always].concat()).unwrap();
        let consumer_secret = secret("MCD8BKwGdgPHvAuvgvz4EQpqDAtx89grbuNMRd7Eh98");
        assert_eq!(sign(&base, &consumer_secret, &secret(token_secret)), expected, "{base}");
    }
}

/// The test cases of the OAuth wiki (wiki.oauth.net/TestCases): encoding (5.1), normalization (9.1.1), base strings
/// (9.1.3) and HMAC-SHA1 (9.2). The others cover PLAINTEXT and RSA-SHA1, which are not used here.
#[test]
fn the_test_cases_of_the_oauth_wiki_pass() {
    for (raw, encoded) in [
        ("abcABC123", "abcABC123"),
        ("-._~", "-._~"),
        ("%", "%25"),
        ("+", "%2B"),
        ("&=*", "%26%3D%2A"),
        ("\n", "%0A"),
        (" ", "%20"),
        ("\u{7f}", "%7F"),
        ("\u{80}", "%C2%80"),
        ("\u{3001}", "%E3%80%81"),
    ] {
        assert_eq!(percent::encode(raw.as_bytes()), encoded);
    }
    for (query, expected) in [
        ("name", "name="),
        ("a=b", "a=b"),
        ("a=b&c=d", "a=b&c=d"),
        ("a=x!y&a=x+y", "a=x%20y&a=x%21y"),
        ("x!y=a&x=a", "x=a&x%21y=a"),
    ] {
        assert_eq!(normalized(query.as_bytes()), expected);
    }
    for url in ["http://example.com/?n=v", "http://example.com?n=v"] {
        let base = base_string("GET", &target(url), None, &[]).unwrap();
        assert_eq!(base, "GET&http%3A%2F%2Fexample.com%2F&n%3Dv");
    }
    let request = [
        ("oauth_version", "1.0"),
        ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
        ("oauth_timestamp", "1191242090"),
        ("oauth_nonce", "hsu94j3884jdopsl"),
        ("oauth_signature_method", "PLAINTEXT"),
    ];
    let url = target("https://photos.example.net/request_token");
    assert_eq!(
        base_string("POST", &url, None, &request).unwrap(),
        "POST&https%3A%2F%2Fphotos.example.net%2Frequest_token&oauth_consumer_key%3Ddpf43f3p2l4k3l03\
         %26oauth_nonce%3Dhsu94j3884jdopsl%26oauth_signature_method%3DPLAINTEXT\
         %26oauth_timestamp%3D1191242090%26oauth_version%3D1.0"
    );
    for (token_secret, expected) in
        [("", "egQqG5AJep5sJ7anhXju1unge2I="), ("ts", "VZVjXceV7JgPq/dOTnNmEfO0Fv8=")]
    {
        assert_eq!(sign("bs", &secret("cs"), &secret(token_secret)), expected);
    }
}

#[test]
fn a_two_legged_request_names_no_token_and_its_key_ends_in_an_ampersand() {
    let tokens = Tokens {
        consumer_key: "k&y".to_owned(),
        consumer_secret: secret("s&cret %"),
        token: secret(""),
        without_token: WithoutToken::Omit,
        token_secret: secret(""),
    };
    let stamp = NonceAndTimestamp { timestamp: 1, nonce: "n".to_owned() };
    let header = authorization(&tokens, "GET", &target("https://a.example/"), None, &stamp).unwrap();
    assert!(!header.contains("oauth_token") && header.contains("\"k%26y\""), "{header}");
}

#[test]
fn an_empty_token_is_sent_and_signed_where_a_server_wants_it() {
    let tokens = |token: &str, without_token| Tokens {
        consumer_key: "key".to_owned(),
        consumer_secret: secret("secret"),
        token: secret(token),
        without_token,
        token_secret: secret(""),
    };
    let stamp = NonceAndTimestamp { timestamp: 1, nonce: "n".to_owned() };
    let url = target("https://a.example/?b=1");
    let signed = |tokens: &Tokens| authorization(tokens, "GET", &url, None, &stamp).unwrap();
    let header = signed(&tokens("", WithoutToken::Empty));
    assert!(header.contains(", oauth_token=\"\", "), "{header}");
    let protocol = [
        ("oauth_consumer_key", "key"),
        ("oauth_nonce", "n"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "1"),
        ("oauth_token", ""),
        ("oauth_version", "1.0"),
    ];
    let base = base_string("GET", &url, None, &protocol).unwrap();
    assert!(base.contains("oauth_token%3D%26oauth_version"), "{base}");
    let signature = percent::text(sign(&base, &secret("secret"), &secret("")).into_bytes());
    let mut encoded = Vec::new();
    percent::push(&mut encoded, signature.as_bytes());
    assert!(header.ends_with(&format!("oauth_signature=\"{}\"", percent::text(encoded))), "{header}");
    assert_ne!(header, signed(&tokens("", WithoutToken::Omit)));
    // With a token the setting has no effect.
    assert_eq!(signed(&tokens("t", WithoutToken::Empty)), signed(&tokens("t", WithoutToken::Omit)));
}

#[test]
fn protocol_parameters_of_the_request_are_refused_in_every_spelling() {
    let refused = |query: &str, form: Option<&[u8]>| {
        base_string("GET", &target(&format!("https://a.example/?{query}")), form, &[]).is_err()
    };
    assert!(refused("oauth_token=x", None));
    assert!(refused("a=b&o%61uth%5Fnonce", None));
    assert!(refused("", Some(b"oauth_anything=1")));
    assert!(!refused("xoauth_token=x&oauth=1", Some(b"OAuth_x=1")));
}

#[test]
fn only_the_form_type_is_a_form_whatever_its_parameters() {
    let of = |kind: &str| is_form([kind.as_bytes()], []).unwrap();
    assert!(of("application/x-www-form-urlencoded"));
    assert!(of("Application/X-WWW-Form-Urlencoded ; charset=utf-8"));
    assert!(!of("multipart/form-data; boundary=application/x-www-form-urlencoded"));
    assert!(!of("application/x-www-form-urlencoded2"));
    assert!(!of(""));
    assert_eq!(is_form([], [&b"gzip"[..]]), Ok(false));
}

#[test]
fn a_body_that_signer_and_host_could_read_differently_is_no_body_to_sign() {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    assert_eq!(is_form([FORM, FORM], []), Err(AmbiguousBody::TwoTypes));
    assert_eq!(is_form([&b"text/\xff"[..]], []), Err(AmbiguousBody::NoText));
    let coded: [&[u8]; 2] = [b"identity", b"gzip"];
    assert_eq!(is_form([FORM], coded), Err(AmbiguousBody::EncodedForm));
    assert_eq!(is_form([FORM], [coded[0]]), Ok(true));
    assert_eq!(is_form([&b"application/json"[..]], coded), Ok(false));
}

fn normalized(query: &[u8]) -> String {
    let mut parameters = Parameters::new();
    parameters.add_encoded(query, "query").unwrap();
    let mut base = Vec::new();
    parameters.push_normalized(&mut base);
    percent_encoding::percent_decode(&base).decode_utf8().unwrap().into_owned()
}

proptest! {
    #[test]
    fn the_order_of_parameters_does_not_matter(
        mut pairs in proptest::collection::vec(("[a-z%+]{0,4}", "[a-zA-Z0-9+~!*]{0,6}"), 0..8),
    ) {
        let join = |pairs: &[(String, String)]| {
            let pieces: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            pieces.join("&")
        };
        let before = normalized(join(&pairs).as_bytes());
        pairs.reverse();
        prop_assert_eq!(before, normalized(join(&pairs).as_bytes()));
    }

    #[test]
    fn normalising_is_stable_and_keeps_every_byte(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
        let Ok(()) = Parameters::new().add_encoded(&raw, "query") else { return Ok(()) };
        let once = normalized(&raw);
        prop_assert_eq!(&normalized(once.as_bytes()), &once);
        prop_assert!(once.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%&=".contains(&b)), "{}", once);
    }

    #[test]
    fn encoding_again_is_encoding_what_was_encoded(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
        let once = percent::encode(&raw);
        let mut again = Vec::new();
        percent::push_again(&mut again, once.as_bytes());
        prop_assert_eq!(percent::text(again), percent::encode(once.as_bytes()));
    }

    #[test]
    fn encoding_decodes_to_the_same_bytes(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
        let encoded = percent::encode(&raw);
        prop_assert_eq!(percent::decode_form(encoded.as_bytes()).into_owned(), raw);
    }
}

#[test]
fn credentials_print_none_of_their_secrets() {
    let tokens = Tokens {
        consumer_key: "who".to_owned(),
        consumer_secret: secret("canary-1"),
        token: secret("canary-2"),
        without_token: WithoutToken::Omit,
        token_secret: secret("canary-3"),
    };
    let printed = format!("{tokens:?}");
    assert!(printed.contains("who") && !printed.contains("canary"), "{printed}");
}
