//! Signed credentials for `bench/import.sh`, and what the recovery of their signers costs by itself.
//!
//!     credentials write COUNT       JSON lines, five Stamps an address; the issuer on standard error
//!     credentials recover COUNT     recoveries a second on one thread

use std::env::args;
use std::io::{BufWriter, Write, stdout};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_testkit::issuer::{Claim, Eip712Issuer};

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
        let mut address = [0; 20];
        address[12..].copy_from_slice(&(number / STAMPS + 1).to_be_bytes());
        let claim = Claim {
            address: EvmAddress(address),
            provider: &format!("Stamp#{}", number % STAMPS),
            nullifiers: &[&format!("v0.0.0:{number:043}=")],
            issued_at: ISSUED,
            expires_at: EXPIRES,
        };
        writeln!(out, "{}", issuer.issue(&claim))?;
    }
    Ok(out.flush()?)
}

fn recover(issuer: &Eip712Issuer, count: u32) -> Result<()> {
    let signed = (0..64).map(|number| signature(issuer, [number; 32])).collect::<Result<Vec<_>>>()?;
    let began = Instant::now();
    for (hash, signature, recovery) in signed.iter().cycle().take(count as usize) {
        let key = VerifyingKey::recover_from_prehash(hash, signature, *recovery)?;
        std::hint::black_box(key);
    }
    println!("{:.0}", f64::from(count) / began.elapsed().as_secs_f64());
    Ok(())
}

fn signature(issuer: &Eip712Issuer, hash: [u8; 32]) -> Result<([u8; 32], Signature, RecoveryId)> {
    let text = issuer.sign_hash(&hash);
    let byte = |index: usize| u8::from_str_radix(&text[2 + 2 * index..4 + 2 * index], 16);
    let bytes = (0..64).map(byte).collect::<Result<Vec<u8>, _>>()?;
    let recovery = RecoveryId::from_byte(byte(64)? - 27).context("27 or 28")?;
    Ok((hash, Signature::from_slice(&bytes)?, recovery))
}
