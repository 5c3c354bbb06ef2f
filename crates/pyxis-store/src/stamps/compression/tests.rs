use pyxis_core::hex;
use sha2::{Digest as _, Sha256};

use super::*;

const CREDENTIAL: &str =
    r#"{"credentialSubject":{"id":"did:pkh:eip155:1:0xaaaa","provider":"Google"},"issuer":"é"}"#;

#[test]
fn a_credential_comes_out_as_it_went_in() {
    let long = CREDENTIAL.repeat(64 * 1024 / CREDENTIAL.len());
    for credential in ["", "{}", CREDENTIAL, &long, &FORMS.replace('\n', " \r\n\t"), "\u{10ffff}\u{0}"] {
        assert_eq!(Packed::pack(credential).unpack().as_deref(), Some(credential));
    }
}

#[test]
fn of_what_all_have_in_common_little_is_stored() {
    for form in FORMS.lines() {
        let packed = Packed::pack(form).0.len();
        assert!(packed * 6 < form.len(), "{packed} bytes: {form}");
    }
}

/// After a change of the dictionary, stored credentials could no longer be read.
#[test]
fn what_packed_credentials_refer_to_is_still_what_it_was() {
    let hash = hex::encode(&Sha256::digest(FORMS));
    assert_eq!(hash, "be989af9abe829ebff7fce6a1ac02256dfd05fb4a34b33e9adc3948b857d7663");
    let stored = "58000000107b260703100004cc02203a7bfd08021a050bb7054261616161bc0004a20550476f6f676c3a0801\
                  ce02906572223a22c3a9227d01";
    let stored = hex::decode(stored).unwrap();
    assert_eq!(Packed(stored).unpack().as_deref(), Some(CREDENTIAL));
}

#[test]
fn what_is_damaged_is_none_and_nothing_is_allocated_for_a_size_that_cannot_be() {
    let good = Packed::pack(CREDENTIAL).0;
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Packed(bytes)
    };
    for length in 0..good.len() {
        assert_eq!(Packed(good[..length].to_vec()).unpack(), None, "{length}");
    }
    // Longer than stated, shorter than stated, impossible size, other dictionary number, not text.
    for damaged in [changed(0, 1), changed(0, 255), changed(3, 255), changed(good.len() - 1, 2)] {
        assert_eq!(damaged.unpack(), None);
    }
    let mut no_text = compress_prepend_size_with_dict(&[0xff; 20], FORMS.as_bytes());
    no_text.push(NUMBER);
    assert_eq!(Packed(no_text).unpack(), None);
}

#[test]
fn no_damage_makes_it_panic_or_allocate_more_than_a_credential() {
    for form in FORMS.lines().chain([CREDENTIAL]) {
        let good = Packed::pack(form).0;
        for at in 0..good.len() {
            for byte in [0, 255, good[at] ^ 1, good[at] ^ 16, good[at] ^ 128] {
                let mut bytes = good.clone();
                bytes[at] = byte;
                if let Some(text) = Packed(bytes).unpack() {
                    assert!(text.len() <= MAX_BYTES);
                }
            }
        }
    }
}
