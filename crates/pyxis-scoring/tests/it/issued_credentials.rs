//! Credentials of issuers with test keys, and the checks apart from the signature.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_scoring::credential::{CLOCK_SKEW, MAX_NULLIFIERS, Rejection, issuer_did, parse_and_verify};
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::json;

use crate::{HOLDER, NOW, NULLIFIERS, changed, check, claim, code, ed25519, eip712, issued};

#[test]
fn what_was_issued_is_what_is_read() {
    for (text, nullifiers) in issued(&claim()).into_iter().zip([2, 1, 2, 1]) {
        let verified = check(&text).unwrap();
        assert_eq!(verified.address, HOLDER);
        assert_eq!(verified.provider.as_str(), "Discord");
        assert_eq!(verified.issued_at, claim().issued_at);
        assert_eq!(verified.expires_at, claim().expires_at);
        let expected: Vec<_> = NULLIFIERS[..nullifiers].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(verified.nullifiers, expected);
        assert_eq!(verified.credential, text);
    }
}

#[test]
fn another_spelling_of_the_json_keeps_the_digest_and_is_kept_as_it_is() {
    for text in issued(&claim()) {
        let spelled =
            text.replace("\"Discord\"", " \"\\u0044iscord\"\n").replace("\"proof\":", "\"\\u0070roof\" : ");
        let (one, other) = (check(&text).unwrap(), check(&spelled).unwrap());
        assert_eq!(one.digest, other.digest);
        assert_eq!(other.credential, spelled);
    }
}

#[test]
fn credentials_that_say_different_things_have_different_digests() {
    let later = CredentialFields { expires_at: UnixMillis(claim().expires_at.0 + 1), ..claim() };
    let mut digests: Vec<_> =
        issued(&claim()).iter().chain(&issued(&later)).map(|text| check(text).unwrap().digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 8);
}

#[test]
fn a_credential_is_valid_from_its_issuance_until_its_expiry() {
    let CredentialFields { issued_at, expires_at, .. } = claim();
    let millisecond = Duration::from_millis(1);
    for text in issued(&claim()) {
        let at = |now| parse_and_verify(&text, HOLDER, now, |_| true).map(|_| ());
        assert_eq!(at(issued_at), Ok(()));
        assert_eq!(at(issued_at.minus(CLOCK_SKEW)), Ok(()));
        assert_eq!(
            at(issued_at.minus(CLOCK_SKEW + millisecond)),
            Err(Rejection::IssuedInFuture { at: issued_at })
        );
        assert_eq!(at(expires_at.minus(millisecond)), Ok(()));
        assert_eq!(at(expires_at), Err(Rejection::Expired { at: expires_at }));
    }
    for expires_at in [issued_at, UnixMillis(0)] {
        for text in issued(&CredentialFields { expires_at, ..claim() }) {
            assert_eq!(code(&text), "expires_before_issuance");
        }
    }
}

#[test]
fn only_trusted_issuers_count() {
    for text in issued(&claim()) {
        let mut asked = std::cell::RefCell::new(Vec::new());
        let refused = parse_and_verify(&text, HOLDER, NOW, |issuer| {
            asked.borrow_mut().push(issuer.to_owned());
            false
        });
        let issuer = asked.get_mut().pop().unwrap();
        assert!([eip712().did(), ed25519().did()].contains(&issuer));
        assert_eq!(refused, Err(Rejection::UnknownIssuer { issuer }));
    }
}

#[test]
fn an_issuer_may_be_an_account_of_any_chain() {
    for chain in [1, 10, 8453] {
        let issuer = Eip712Issuer::of_chain(chain, &SeededEntropy::new(3));
        let did = issuer.did();
        assert!(did.starts_with(&format!("did:pkh:eip155:{chain}:0x")), "{did}");
        for text in [issuer.issue(&claim()), issuer.issue_older_form(&claim())] {
            // The key is trusted under any DID that the credential uses for it.
            let key = issuer_did(&did).unwrap();
            let verified = parse_and_verify(&text, HOLDER, NOW, |trusted| trusted == key).unwrap();
            assert_eq!((verified.issuer.as_str(), verified.provider.as_str()), (key.as_str(), "Discord"));
            // But the signature covers the DID as written.
            for other in [format!("did:pkh:eip155:{chain}0:"), "did:ethr:".to_owned()] {
                let prefix = format!("did:pkh:eip155:{chain}:");
                let renamed = text
                    .replace(&format!("\"{prefix}0x"), &format!("\"{other}0x"))
                    .replace(&format!("\"{other}{HOLDER}"), &format!("\"{prefix}{HOLDER}"));
                let refused = |trusted: &dyn Fn(&str) -> bool| {
                    parse_and_verify(&renamed, HOLDER, NOW, trusted).unwrap_err().code()
                };
                assert_eq!(refused(&|trusted| trusted == key), "signature_mismatch");
                assert_eq!(refused(&|_| false), "unknown_issuer");
            }
        }
    }
}

#[test]
fn a_stranger_cannot_sign_in_the_name_of_an_issuer() {
    let stranger = Eip712Issuer::new(&SeededEntropy::new(99));
    let text = stranger.issue(&claim());
    assert_eq!(code(&text), "unknown_issuer");
    let (own, others) = (stranger.did(), eip712().did());
    assert_eq!(code(&text.replace(&own, &others)), "signature_mismatch");
    let named = changed(&text, |value| value["issuer"] = json!(others));
    assert_eq!(code(&named), "wrong_verification_method");
}

#[test]
fn a_credential_about_another_address_is_refused() {
    let other = CredentialFields { address: pyxis_core::address::EvmAddress([1; 20]), ..claim() };
    for text in issued(&other) {
        assert_eq!(code(&text), "subject_mismatch");
    }
}

#[test]
fn the_issuer_may_write_its_address_in_any_case() {
    let text = eip712().issue(&claim());
    let did = eip712().did();
    let shouted = format!("did:ethr:0x{}", did["did:ethr:0x".len()..].to_uppercase());
    // The signature covers the text, so it fails, but the issuer is the trusted one.
    assert_eq!(code(&text.replace(&did, &shouted)), "signature_mismatch");
}

#[test]
fn names_and_nullifiers_are_checked_even_if_they_are_signed() {
    let long = "x".repeat(300);
    for (provider, nullifiers, expected) in [
        ("", NULLIFIERS, "invalid_provider"),
        ("Dis cord", NULLIFIERS, "invalid_provider"),
        (&long, NULLIFIERS, "invalid_provider"),
        ("Discord", &[""], "invalid_nullifiers"),
        ("Discord", &["a\nb"], "invalid_nullifiers"),
        ("Discord", &[&long], "invalid_nullifiers"),
    ] {
        for text in issued(&CredentialFields { provider, nullifiers, ..claim() }) {
            assert_eq!(code(&text), expected);
        }
    }
    let many: Vec<String> = (0..=MAX_NULLIFIERS).map(|i| format!("v0:{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (nullifiers, expected) in [
        (&[][..], "invalid_nullifiers"),
        (&["v0:a", "v0:b", "v0:a"], "invalid_nullifiers"),
        (&many, "invalid_nullifiers"),
        (&many[1..], "verified"),
    ] {
        let claim = CredentialFields { nullifiers, ..claim() };
        assert_eq!(code(&eip712().issue(&claim)), expected);
        assert_eq!(code(&ed25519().issue(&claim)), expected);
    }
}

#[test]
fn every_rejection_says_what_to_do() {
    let rejection = check("{}").unwrap_err();
    assert_eq!(rejection.to_string(), "@context is missing; send the credential as it was issued");
    let rejection =
        check(&eip712().issue(&CredentialFields { expires_at: UnixMillis(NOW.0 - 1), ..claim() }))
            .unwrap_err();
    assert_eq!(
        rejection.to_string(),
        "expired at 2026-01-01T00:00:00.249Z; ask the issuer for a new credential"
    );
}
