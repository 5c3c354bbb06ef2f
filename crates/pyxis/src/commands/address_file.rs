//! Files of addresses: one on each line, or in the first column of a CSV file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use pyxis_core::address::EvmAddress;
use pyxis_scoring::address;

#[derive(Debug)]
pub(super) struct AddressLine {
    pub(super) address: EvmAddress,
    /// The other columns.
    pub(super) rest: Vec<String>,
    /// File and line, for errors.
    pub(super) place: String,
}

/// The lines of a file, or of standard input for `-`. Each address may stand there once.
pub(super) fn read(file: &Path) -> Result<Vec<AddressLine>> {
    if file.as_os_str() == "-" {
        return lines(io::stdin().lock(), "standard input");
    }
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    lines(BufReader::new(opened), &file.display().to_string())
}

fn lines(source: impl BufRead, name: &str) -> Result<Vec<AddressLine>> {
    let (mut read, mut seen) = (Vec::new(), BTreeMap::new());
    for (number, line) in (1..).zip(source.lines()) {
        let place = format!("{name}, line {number}");
        let line = line.with_context(|| format!("{place}: not text"))?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') || (number == 1 && line.starts_with("address")) {
            continue;
        }
        let mut cells = line.split(',').map(|cell| cell.trim().to_owned());
        let first = cells.next().unwrap_or_default();
        let address = address::read(&first).with_context(|| format!("{place}: {first:?}"))?;
        if let Some(earlier) = seen.insert(address, number) {
            bail!("{place}: {address} is on line {earlier} already; keep one");
        }
        read.push(AddressLine { address, rest: cells.collect(), place });
    }
    ensure!(!read.is_empty(), "{name} has no address; write one on each line");
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_an_address_and_its_other_columns_on_each_line() {
        let one = "0x1111111111111111111111111111111111111111";
        let two = "0x2222222222222222222222222222222222222222";
        let text =
            format!("\u{feff}address,nullifier\r\n{one}\r\n\n# a comment\n {two} , member:1,member:2\n");
        let read = lines(text.as_bytes(), "file").unwrap();
        let found: Vec<_> = read.iter().map(|line| (line.address.to_string(), line.rest.len())).collect();
        assert_eq!(found, [(one.to_owned(), 0), (two.to_owned(), 2)]);
        for (wrong, said) in [
            ("0x12", "file, line 1"),
            ("0xAbcdefabcdefabcdefabcdefabcdefabcdefabcd", "file, line 1"),
            (
                &*format!("{one}\n{two}\n{one}"),
                "file, line 3: 0x1111111111111111111111111111111111111111 is on line 1",
            ),
            ("", "file has no address"),
        ] {
            let error = lines(wrong.as_bytes(), "file").unwrap_err().to_string();
            assert!(error.starts_with(said), "{wrong:?}: {error}");
        }
    }
}
