//! Cost of one signature.

use pyxis_core::auth::WithoutToken;
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use pyxis_signing::oauth1::{NonceAndTimestamp, Tokens, authorization};

fn main() {
    divan::main();
}

fn tokens() -> Tokens {
    Tokens {
        consumer_key: "xvz1evFS4wEEPTGEFPHBog".to_owned(),
        consumer_secret: SecretString::new("kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw".to_owned()),
        token: SecretString::new("370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb".to_owned()),
        without_token: WithoutToken::Omit,
        token_secret: SecretString::new("LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE".to_owned()),
    }
}

#[divan::bench(args = ["", "status=Hello%20Ladies%20%2b%20Gentlemen%2c%20a%20signed%20OAuth%20request%21"])]
fn one_signature(bencher: divan::Bencher<'_, '_>, form: &str) {
    let tokens = tokens();
    let target = Target::parse("https://api.example.com/1.1/statuses/update.json?include_entities=true").ok();
    let stamp =
        NonceAndTimestamp { timestamp: 1_318_622_958, nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgm".to_owned() };
    let form = (!form.is_empty()).then_some(form.as_bytes());
    bencher.bench_local(|| {
        target.as_ref().map(|target| authorization(&tokens, "POST", target, form, &stamp).is_ok())
    });
}
