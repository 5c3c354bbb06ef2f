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

/// A file of addresses.
#[derive(Debug)]
pub(super) struct AddressFile {
    /// Names of the other columns, if the first line has names.
    heading: Option<Vec<String>>,
    pub(super) lines: Vec<AddressLine>,
}

impl AddressFile {
    /// Refuses other columns that may be nullifiers, when they are not read as such. Without them an account with
    /// several addresses would count several times. Returns true if there are other columns, which are ignored.
    pub(super) fn check_without_nullifiers(&self) -> Result<bool> {
        const ADVICE: &str = "add --nullifiers to read them as nullifiers, or remove them";
        let names = self.heading.as_deref().unwrap_or_default();
        if let Some(name) = names.iter().find(|name| name.to_ascii_lowercase().contains("nullifier")) {
            bail!("the file has a column {name}; {ADVICE}");
        }
        let is_filled = |line: &&AddressLine| line.rest.iter().any(|cell| !cell.is_empty());
        let Some(line) = self.lines.iter().find(is_filled) else { return Ok(false) };
        ensure!(
            self.heading.is_some(),
            "{}: there are columns after the address, and no first line names them; {ADVICE}",
            line.place
        );
        Ok(true)
    }
}

/// The lines of a file, or of standard input for `-`. Each address may stand there once.
pub(super) fn read(file: &Path) -> Result<Vec<AddressLine>> {
    Ok(read_file(file)?.lines)
}

/// The same, with the names of the columns.
pub(super) fn read_file(file: &Path) -> Result<AddressFile> {
    if file.as_os_str() == "-" {
        return lines(io::stdin().lock(), "standard input");
    }
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    lines(BufReader::new(opened), &file.display().to_string())
}

fn lines(source: impl BufRead, name: &str) -> Result<AddressFile> {
    let (mut read, mut seen, mut heading) = (Vec::new(), BTreeMap::new(), None);
    for (number, line) in (1..).zip(source.lines()) {
        let place = format!("{name}, line {number}");
        let line = line.with_context(|| format!("{place}: not text"))?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut cells = line.split(',').map(|cell| cell.trim().to_owned());
        if number == 1 && line.starts_with("address") {
            heading = Some(cells.skip(1).collect());
            continue;
        }
        let first = cells.next().unwrap_or_default();
        let address = address::read(&first).with_context(|| format!("{place}: {first:?}"))?;
        if let Some(earlier) = seen.insert(address, number) {
            bail!("{place}: {address} is on line {earlier} already; keep one");
        }
        read.push(AddressLine { address, rest: cells.collect(), place });
    }
    ensure!(!read.is_empty(), "{name} has no address; write one on each line");
    Ok(AddressFile { heading, lines: read })
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
        let read = lines(text.as_bytes(), "file").unwrap().lines;
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

    #[test]
    fn columns_that_may_be_nullifiers_are_not_ignored() {
        let one = "0x1111111111111111111111111111111111111111";
        let check = |text: String| lines(text.as_bytes(), "file").unwrap().check_without_nullifiers();
        assert!(!check(format!("address,nullifier\n{one}\n").replace(",nullifier", "")).unwrap());
        assert!(!check(format!("{one},\n")).unwrap());
        assert!(check(format!("address,handle\n{one},ann\n")).unwrap());
        for (text, said) in [
            (format!("{one},member:1\n"), "file, line 1: there are columns after the address"),
            (format!("address,Nullifier\n{one},member:1\n"), "the file has a column Nullifier"),
        ] {
            let error = check(text).unwrap_err().to_string();
            assert!(error.starts_with(said) && error.contains("--nullifiers"), "{error}");
        }
    }
}
