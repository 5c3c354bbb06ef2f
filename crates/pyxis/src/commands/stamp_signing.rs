//! `pyxis stamps sign`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use pyxis_core::stamp::Nullifier;
use pyxis_gateway::Actor;
use pyxis_scoring::State;
use pyxis_scoring::service::stamp_signing::{self, Holder, MAX_SIGNED, SigningRequest};

use super::address_file::{self, AddressLine};
use super::out;
use crate::cli::SignStamps;

/// Signs for one holder or for a file of holders, all of which are read and checked first.
pub(super) async fn run(state: &State, actor: &Actor, wanted: SignStamps) -> Result<()> {
    let holders = match (wanted.address, &wanted.file) {
        (Some(address), _) => vec![Holder { address, nullifiers: wanted.nullifier }],
        (None, Some(file)) => holders(address_file::read(file)?)?,
        (None, None) => bail!("name an ADDRESS, or a file of them with --file FILE"),
    };
    let mut output = Output::open(wanted.out.as_deref())?;
    let (count, mut issuer) = (holders.len(), String::new());
    for part in holders.chunks(MAX_SIGNED) {
        let request = SigningRequest {
            provider: wanted.provider.clone(),
            holders: part.to_vec(),
            valid_days: wanted.valid_days,
        };
        let signed = stamp_signing::sign(state, actor, request).await?;
        for credential in &signed.credentials {
            output.line(credential)?;
        }
        issuer = signed.issuer;
    }
    output.finish()?;
    out::notice(format_args!("{} signed by {issuer}", out::count_noun(count, "credential")));
    Ok(())
}

/// The holders of a file: `ADDRESS`, or `ADDRESS,NULLIFIER,…`.
pub(super) fn holders(lines: Vec<AddressLine>) -> Result<Vec<Holder>> {
    let holder = |line: AddressLine| {
        let nullifiers = line
            .rest
            .iter()
            .map(|cell| cell.parse::<Nullifier>().with_context(|| format!("{}: {cell:?}", line.place)));
        Ok(Holder { address: line.address, nullifiers: nullifiers.collect::<Result<_>>()? })
    };
    lines.into_iter().map(holder).collect()
}

/// Standard output, or a new file.
enum Output {
    Standard,
    File(io::BufWriter<File>),
}

impl Output {
    fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::Standard) };
        let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.with_context(|| format!("cannot create {}; name a new file", path.display()))?;
        Ok(Self::File(io::BufWriter::new(file)))
    }

    fn line(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Standard => out::line(text),
            Self::File(file) => writeln!(file, "{text}")?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        if let Self::File(file) = self {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        }
        Ok(())
    }
}
