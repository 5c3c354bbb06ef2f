//! Lists of addresses, as CSV (gzipped or not) or Parquet, cell by cell and in constant memory.
//!
//! The column is the one named `address`, or else by another name of [`NAMES`]. Without one, CSV has its addresses in the
//! first column, and Parquet must have only one column.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::ByteRecord;

use super::table::{self, Table};
use super::{broken, unpack};
use crate::Error;

/// Names of the column, without case; an earlier one is preferred.
const NAMES: [&str; 12] = [
    "address",
    "addresses",
    "wallet",
    "wallet_address",
    "account",
    "account_address",
    "eth_address",
    "evm_address",
    "holder",
    "voter",
    "recipient",
    "owner",
];
/// Most bytes of one record of CSV; more are a quote that is not closed.
const MOST_OF_RECORD: u64 = 1 << 20;
/// Most bytes that a group of Parquet may need in memory.
const MOST_OF_GROUP: u64 = 512 << 20;
/// Columns that an error names.
const NAMED: usize = 10;
/// Most characters of a column's name in an error.
const MOST_OF_NAME: usize = 40;

/// A cell of the column of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressCell {
    /// Line of CSV, from 1, or row of Parquet, from 1. Blank lines before a line of CSV belong to it: then this is the
    /// first of them.
    pub line: u64,
    /// The trimmed text, or the reason that it is none.
    pub text: Result<String, String>,
}

/// A list of addresses.
pub struct AddressReader {
    source: AddressSource,
    column: String,
}

enum AddressSource {
    Lines(Box<Lines>),
    Table { table: Box<Table>, row: u64 },
}

struct Lines {
    source: csv::Reader<Bounded>,
    /// Bytes read since the last record began.
    since: Arc<AtomicU64>,
    record: ByteRecord,
    column: usize,
    /// True until the first record is returned, unless it is a heading.
    first_is_data: bool,
}

/// A source that fails when a record does not end.
struct Bounded {
    source: Box<dyn Read + Send>,
    since: Arc<AtomicU64>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.load(Ordering::Relaxed) > MOST_OF_RECORD {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a record is longer than 1 MiB; look for a quote that is not closed",
            ));
        }
        let length = self.source.read(buffer)?;
        self.since.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

impl AddressReader {
    /// Opens a list, and finds its kind and its column.
    pub fn new(mut file: File) -> Result<Self, Error> {
        file.rewind()?;
        let mut start = Vec::with_capacity(4);
        (&mut file).take(4).read_to_end(&mut start)?;
        file.rewind()?;
        let (source, column) = if start == table::MAGIC { of_table(file)? } else { of_lines(file)? };
        Ok(Self { source, column })
    }

    /// The column that is read, for people.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Number of rows, if the file tells.
    pub fn rows(&self) -> Option<u64> {
        match &self.source {
            AddressSource::Lines(_) => None,
            AddressSource::Table { table, .. } => Some(table.rows()),
        }
    }
}

fn of_table(file: File) -> Result<(AddressSource, String), Error> {
    let mut column = String::new();
    let table = Table::of_one_column(file, |names| match (address_column(names), names.len()) {
        (Some(place), _) => {
            column = format!("column {}", shortened(names[place]));
            Ok(place)
        }
        (None, 1) => {
            column = format!("column {}", shortened(names[0]));
            Ok(0)
        }
        _ => {
            let found: Vec<&str> = names.iter().copied().take(NAMED).collect();
            let why = format!("no column is named address; its columns are {}", found.join(", "));
            Err(Error::unreadable("the Parquet file", why))
        }
    })?;
    if table.largest_group() > MOST_OF_GROUP {
        let why = "a row group needs more than 512 MiB; write smaller row groups";
        return Err(Error::unreadable("the Parquet file", why.to_owned()));
    }
    Ok((AddressSource::Table { table: Box::new(table), row: 0 }, column))
}

/// Place of the best name of the column.
fn address_column(names: &[&str]) -> Option<usize> {
    let plain: Vec<String> =
        names.iter().map(|name| name.trim().to_ascii_lowercase().replace([' ', '-'], "_")).collect();
    NAMES.iter().find_map(|wanted| plain.iter().position(|name| name == wanted))
}

/// A name without control characters, and not too long.
fn shortened(name: &str) -> String {
    name.trim().chars().filter(|char| !char.is_control()).take(MOST_OF_NAME).collect()
}

fn of_lines(file: File) -> Result<(AddressSource, String), Error> {
    let since = Arc::new(AtomicU64::new(0));
    let bounded = Bounded { source: unpack(Box::new(file))?, since: Arc::clone(&since) };
    let mut source = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        // With the line break of Windows as one of its own, the reader would count the line too late.
        .terminator(csv::Terminator::Any(b'\n'))
        .buffer_capacity(1 << 16)
        .from_reader(bounded);
    let mut record = ByteRecord::new();
    let any = source.read_byte_record(&mut record).map_err(broken)?;
    refuse_other_separators(&record)?;
    let cells: Vec<&str> = record.iter().map(|cell| str::from_utf8(plain(cell)).unwrap_or("")).collect();
    // A row with an address is never a heading, whatever else it says.
    let has_address = cells.iter().any(|cell| cell.starts_with("0x") || cell.starts_with("0X"));
    let found = if has_address { None } else { address_column(&cells) };
    // Several columns without an address are a heading, too. A single cell of an unknown name is a row.
    let is_heading = found.is_some() || (cells.len() > 1 && !has_address);
    let column = found.unwrap_or(0);
    let said = match cells.get(column).filter(|_| is_heading) {
        Some(name) => format!("column {} ({})", column + 1, shortened(name)),
        None => format!("column {}", column + 1),
    };
    let said = format!("{said}, with commas between columns");
    let first_is_data = any && !is_heading;
    Ok((AddressSource::Lines(Box::new(Lines { source, since, record, column, first_is_data })), said))
}

/// Refuses lines with another separator than commas. Their first cell would hold the whole line.
fn refuse_other_separators(first: &ByteRecord) -> Result<(), Error> {
    let only = if first.len() == 1 { first.get(0).unwrap_or_default() } else { b"" };
    let is_text = str::from_utf8(only).is_ok_and(|text| !text.contains('\0'));
    for (separator, name) in [(b';', "semicolons"), (b'\t', "tabs")] {
        if is_text && plain(only).contains(&separator) {
            let why = format!("its columns are separated by {name}; separate them by commas");
            return Err(Error::unreadable("the list", why));
        }
    }
    Ok(())
}

/// A cell without spaces, and without the mark that some programs put at the start of a file.
fn plain(cell: &[u8]) -> &[u8] {
    cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell).trim_ascii()
}

impl Lines {
    /// The cell of the present record; `None` for a blank line.
    fn cell(&self) -> Option<AddressCell> {
        if self.record.iter().all(|cell| plain(cell).is_empty()) {
            return None;
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        let text = match self.record.get(self.column).map(plain) {
            None | Some(b"") => Err("no address in this line".to_owned()),
            Some(cell) => str::from_utf8(cell).map(str::to_owned).map_err(|_| "not text in UTF-8".to_owned()),
        };
        Some(AddressCell { line, text })
    }

    fn next(&mut self) -> Option<Result<AddressCell, Error>> {
        loop {
            if !std::mem::take(&mut self.first_is_data) {
                self.since.store(0, Ordering::Relaxed);
                match self.source.read_byte_record(&mut self.record) {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(error) => return Some(Err(broken(error))),
                }
            }
            if let Some(cell) = self.cell() {
                return Some(Ok(cell));
            }
        }
    }
}

impl Iterator for AddressReader {
    /// A failure that ends the reading is an error.
    type Item = Result<AddressCell, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            AddressSource::Lines(lines) => lines.next(),
            AddressSource::Table { table, row } => {
                *row += 1;
                let line = *row;
                let filled = |text: String| {
                    if text.is_empty() { Err("no address in this row".to_owned()) } else { Ok(text) }
                };
                let cell = table.next_cell()?;
                Some(cell.map(|text| AddressCell { line, text: text.and_then(filled) }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const A: &str = "0x00000000000000000000000000000000000000aa";

    type NumberedAddress = (u64, Result<String, String>);

    fn read(bytes: &[u8]) -> Result<Vec<NumberedAddress>, Error> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        AddressReader::new(file)?.map(|cell| cell.map(|cell| (cell.line, cell.text))).collect()
    }

    fn lines(text: &str) -> Vec<NumberedAddress> {
        read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_list_without_a_heading_has_its_addresses_in_the_first_column() {
        let a = || Ok(A.to_owned());
        assert_eq!(lines(&format!("{A}\n\n {A} ,x\n")), [(1, a()), (2, a())]);
        assert_eq!(lines(&format!("\u{feff}{A}\r\n{A}")), [(1, a()), (2, a())]);
        assert_eq!(lines(""), []);
    }

    #[test]
    fn the_column_named_address_is_read_wherever_it_is() {
        let found =
            lines(&format!("name,Address,note\nann,{A},\"a\nb\"\nbob,,x\n,,\ncarl\nnobody,vitalik.eth\n"));
        let missing = || Err("no address in this line".to_owned());
        assert_eq!(
            found,
            [(2, Ok(A.to_owned())), (4, missing()), (6, missing()), (7, Ok("vitalik.eth".to_owned()))]
        );
        assert_eq!(lines(&format!("wallet\n{A}\n")), [(2, Ok(A.to_owned()))]);
        assert_eq!(lines(&format!("handle,Wallet Address\nann,{A}\n")), [(2, Ok(A.to_owned()))]);
        assert_eq!(lines(&format!("wallet,address\nann,{A}\n")), [(2, Ok(A.to_owned()))]);
        assert_eq!(lines(&format!("handle,note\n{A},x\n")), [(2, Ok(A.to_owned()))]);
    }

    #[test]
    fn a_first_row_that_is_not_a_heading_is_not_swallowed() {
        let found = lines(&format!("vitalik.eth\n{A}\n"));
        assert_eq!(found, [(1, Ok("vitalik.eth".to_owned())), (2, Ok(A.to_owned()))]);
        assert_eq!(lines(&format!("ann,{A}\n")), [(1, Ok("ann".to_owned()))]);
        let two = lines(&format!("{A},owner\n{A},voter\n"));
        assert_eq!(two, [(1, Ok(A.to_owned())), (2, Ok(A.to_owned()))]);
    }

    #[test]
    fn other_separators_are_refused_with_a_hint() {
        for (text, said) in [
            (format!("Address;handle\n{A};ann\n"), "semicolons; separate them by commas"),
            (format!("{A}\tann\n"), "separated by tabs"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn gzipped_lines_are_the_same_and_bytes_that_are_no_text_are_a_reason() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(format!("{A}\n\u{1}\n").as_bytes()).unwrap();
        assert_eq!(read(&packed.finish().unwrap()).unwrap().len(), 2);
        let found = read(b"address\n0x\xff\n").unwrap();
        assert_eq!(found, [(2, Err("not text in UTF-8".to_owned()))]);
    }

    #[test]
    fn a_quote_that_is_not_closed_ends_the_reading_instead_of_filling_memory() {
        let mut text = format!("{A}\n\"");
        text.push_str(&"0x00\n".repeat(1 << 19));
        let error = read(text.as_bytes()).unwrap_err();
        assert!(matches!(&error, Error::Io(why) if why.to_string().contains("not closed")), "{error:?}");
    }

    #[test]
    fn a_damaged_parquet_file_is_an_error() {
        assert!(read(b"PAR1 and nothing more").unwrap_err().to_string().contains("Parquet"));
    }
}
