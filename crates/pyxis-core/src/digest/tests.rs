use super::*;
use crate::clock::UnixMillis;
use crate::entropy::SeededEntropy;

type Header = (&'static str, &'static [u8]);

fn ids() -> (AgentId, CredentialId) {
    let agent = "018f0000-0000-7000-8000-00000000000a".parse().expect("an agent id");
    let credential = "018f0000-0000-7000-8000-00000000000c".parse().expect("a credential id");
    (agent, credential)
}

fn digest_of(method: &str, target: &str, headers: &[Header], body: &[u8], version: i64) -> String {
    let (agent, credential) = ids();
    request(method, target, headers.iter().copied(), body, credential, version, agent)
}

#[test]
fn sha256_of_a_known_message() {
    // FIPS 180-4, example for "abc".
    assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn every_part_of_a_request_changes_its_digest() {
    let base = digest_of("POST", "https://h.example/", &[("a", b"1"), ("b", b"2")], b"body", 1);
    for other in [
        digest_of("PUT", "https://h.example/", &[("a", b"1"), ("b", b"2")], b"body", 1),
        digest_of("POST", "https://h.example/x", &[("a", b"1"), ("b", b"2")], b"body", 1),
        digest_of("POST", "https://h.example/", &[("a", b"1")], b"body", 1),
        digest_of("POST", "https://h.example/", &[("a", b"1"), ("b", b"3")], b"body", 1),
        digest_of("POST", "https://h.example/", &[("a", b"2"), ("b", b"1")], b"body", 1),
        digest_of("POST", "https://h.example/", &[("a", b"1"), ("b", b"2")], b"bodY", 1),
        digest_of("POST", "https://h.example/", &[("a", b"1"), ("b", b"2")], b"body", 2),
    ] {
        assert_ne!(other, base);
    }
    let entropy = SeededEntropy::new(2);
    let (agent, credential) = ids();
    let with = |credential, agent| request("POST", "t", [].into_iter(), b"", credential, 1, agent);
    assert_ne!(with(credential, agent), with(CredentialId::new(UnixMillis(1), &entropy), agent));
    assert_ne!(with(credential, agent), with(credential, AgentId::new(UnixMillis(1), &entropy)));
}

#[test]
fn bytes_cannot_move_from_one_field_to_the_next() {
    let digests = [
        digest_of("GET", "ab", &[], b"", 1),
        digest_of("GETa", "b", &[], b"", 1),
        digest_of("GET", "a", &[("b", b"")], b"", 1),
        digest_of("GET", "a", &[("", b"b")], b"", 1),
        digest_of("GET", "a", &[], b"b", 1),
        digest_of("GET", "", &[("a", b"b"), ("", b"")], b"", 1),
        digest_of("GET", "", &[("a", b""), ("b", b"")], b"", 1),
    ];
    for (i, digest) in digests.iter().enumerate() {
        assert!(!digests[..i].contains(digest), "case {i}");
    }
}

#[test]
fn header_order_counts_only_within_one_name() {
    let digest = |headers: &[Header]| digest_of("GET", "t", headers, b"", 1);
    assert_eq!(
        digest(&[("a", b"1"), ("b", b"2"), ("a", b"3")]),
        digest(&[("b", b"2"), ("a", b"1"), ("a", b"3")])
    );
    assert_ne!(digest(&[("a", b"1"), ("a", b"3")]), digest(&[("a", b"3"), ("a", b"1")]));
}

#[test]
fn a_digest_is_stable_over_releases() {
    // Stored with pending transactions: a change of the encoding would refuse all of them. The values come from another
    // implementation of the encoding.
    let digest = digest_of("GET", "https://h.example/", &[("accept", b"*/*")], b"", 1);
    assert_eq!(digest, "93b895ff07ba41be885cce2f6f78fbfde00390bfd8277bad6fd37b150f24839f");
    let (agent, credential) = ids();
    assert_eq!(
        dedupe(agent, credential, "GET", "https://h.example/", b""),
        "017455b3a04e2bab7220a6c8ee98efd8d696300476edc47d009a6e7af14db6f7"
    );
}

#[test]
fn dedupe_separates_agents_credentials_methods_targets_and_bodies() {
    let (agent, credential) = ids();
    let entropy = SeededEntropy::new(3);
    let digests = [
        dedupe(agent, credential, "GET", "t", b""),
        dedupe(AgentId::new(UnixMillis(1), &entropy), credential, "GET", "t", b""),
        dedupe(agent, CredentialId::new(UnixMillis(1), &entropy), "GET", "t", b""),
        dedupe(agent, credential, "PUT", "t", b""),
        dedupe(agent, credential, "GET", "u", b""),
        dedupe(agent, credential, "GET", "t", b"x"),
        dedupe(agent, credential, "GETt", "", b""),
    ];
    for (i, digest) in digests.iter().enumerate() {
        assert!(!digests[..i].contains(digest), "case {i}");
    }
}
