//! Signed credentials for `bench/import.sh`, and what the recovery of their signers costs alone.
//!
//!     credentials write COUNT       JSON lines, five Stamps an address; the issuer on standard error
//!     credentials recover COUNT     recoveries a second on one thread: by `k256`, and by the library of Pyxis

use std::env::args;
use std::hint::black_box;
use std::io::{BufWriter, Write, stdout};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use base64::prelude::{BASE64_STANDARD as STANDARD, Engine};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::hex;
use pyxis_signing::{eip712::abi_words, recovery};
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};

const STAMPS: u64 = 5;
/// 1 January of 2026 and of 2099.
const ISSUED: UnixMillis = UnixMillis(1_767_225_600_000);
const EXPIRES: UnixMillis = UnixMillis(4_070_908_800_000);

fn main() -> Result<()> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [command, count] = arguments.as_slice() else { bail!("credentials write|recover COUNT") };
    let count: u32 = count.parse().context("COUNT is a number")?;
    let issuer = Eip712Issuer::new(&SeededEntropy::new(1));
    match command.as_str() {
        "write" => write(&issuer, count.into()),
        "recover" => recover(&issuer, count),
        _ => bail!("credentials write|recover COUNT"),
    }
}

fn write(issuer: &Eip712Issuer, count: u64) -> Result<()> {
    eprintln!("{}", issuer.did());
    let mut out = BufWriter::new(stdout().lock());
    for number in 0..count {
        let claim = CredentialFields {
            address: holder(number / STAMPS),
            provider: &format!("Stamp#{}", number % STAMPS),
            nullifiers: &[&nullifier(number)],
            issued_at: UnixMillis(ISSUED.0 + i64::try_from(number)? * 617),
            expires_at: UnixMillis(EXPIRES.0 + i64::try_from(number)? * 617),
        };
        writeln!(out, "{}", issuer.issue(&claim))?;
    }
    Ok(out.flush()?)
}

/// As spread as those of people, as hashes are.
fn holder(number: u64) -> EvmAddress {
    let mut address = EvmAddress([0; 20]);
    address.0.copy_from_slice(&abi_words::keccak(&number.to_be_bytes())[..20]);
    address
}

fn nullifier(number: u64) -> String {
    format!("v0.0.0:{}", STANDARD.encode(abi_words::text(&number.to_string())))
}

fn recover(issuer: &Eip712Issuer, count: u32) -> Result<()> {
    let signed = (0..64).map(|number| signature(issuer, [number; 32])).collect::<Result<Vec<_>>>()?;
    let k256 = rate(&signed, count, |(hash, bytes)| {
        let recovery = RecoveryId::from_byte(bytes[64] - 27).context("27 or 28")?;
        Ok(VerifyingKey::recover_from_prehash(hash, &Signature::from_slice(&bytes[..64])?, recovery)?)
    })?;
    let ours = rate(&signed, count, |(hash, bytes)| {
        recovery::Signature::from_bytes(bytes)?.signer(hash).context("a signer")
    })?;
    println!("{k256:.0} {ours:.0}");
    Ok(())
}

type Signed = ([u8; 32], Vec<u8>);

/// Recoveries a second.
fn rate<T>(signed: &[Signed], count: u32, recover: impl Fn(&Signed) -> Result<T>) -> Result<f64> {
    let began = Instant::now();
    for signed in signed.iter().cycle().take(count as usize) {
        black_box(recover(signed)?);
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

/// r, s and v over a hash.
fn signature(issuer: &Eip712Issuer, hash: [u8; 32]) -> Result<Signed> {
    Ok((hash, hex::decode_prefixed(&issuer.sign_hash(&hash)).context("hexadecimal digits")?))
}
