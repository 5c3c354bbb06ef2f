//! Reads activity files, as CSV (gzipped or not) or as Parquet, and label files, as CSV.
//!
//! The columns have names, in any order. Transfers: `from` and `to`; `chain` and `kind` if they differ between lines
//! (default: `ethereum`, `native`); `time` and `amount` if known. The names that explorers and their exports use for
//! these columns are known, too. Facts: `address`, `first_bridge_unix`, `bridge_volume_usd`. Labels: `address` and
//! `label`, which is `human` or `sybil` (or 1 and 0).

mod addresses;
mod columns;
mod table;
mod time;

pub use addresses::{AddressCell, AddressReader};
pub use columns::Layout;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;
use pyxis_core::address::EvmAddress;
use pyxis_core::entries::BadEntries;

use crate::Error;
use crate::graph::{AddressProfile, Builder, Transfer};
use crate::scope::{Chain, Kind};
use columns::{Cells, Columns};
use table::Table;

/// One line of an activity file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActivityRecord {
    Transfer(Moved),
    /// Known facts about an address apart from its transfers.
    Facts(EvmAddress, AddressProfile),
}

/// A transfer between addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub chain: Chain,
    pub kind: Kind,
    pub from: EvmAddress,
    pub to: EvmAddress,
    /// Unix seconds.
    pub time: Option<NonZeroU32>,
    /// True for a round amount.
    pub round: Option<bool>,
}

impl Builder {
    /// Adds the content of a line.
    pub fn add_record(&mut self, record: ActivityRecord) {
        match record {
            ActivityRecord::Facts(address, facts) => self.add_facts(address, facts),
            ActivityRecord::Transfer(Moved { chain, kind, from, to, time, round }) => {
                let (from, to) = (self.node(from), self.node(to));
                self.add(Transfer { from, to, time, chain, kind, round });
            }
        }
    }
}

/// Opens a file and decompresses it if it is gzipped.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, Error> {
    unpack(Box::new(File::open(path)?))
}

/// Decompresses gzipped data, detected by its first two bytes.
pub fn unpack(source: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>, Error> {
    let mut source = BufReader::with_capacity(1 << 17, source);
    let packed = source.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if packed { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) })
}

/// A file that counts the bytes read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// Reads an activity file line by line (Parquet rows count as lines), in constant memory.
pub struct Reader {
    source: RecordSource,
    layout: Layout,
}

enum RecordSource {
    Lines(Box<Lines>),
    Table(Box<Table>),
}

/// Lines of CSV.
struct Lines {
    source: csv::Reader<Box<dyn Read + Send>>,
    columns: Columns,
    line: ByteRecord,
}

impl Cells for ByteRecord {
    fn text(&self, place: usize) -> Result<Cow<'_, str>, String> {
        let bytes = self.get(place).ok_or("too few columns")?;
        str::from_utf8(bytes.trim_ascii()).map(Cow::Borrowed).map_err(|_| "no text".to_owned())
    }
}

impl Reader {
    /// Opens a file of any kind; `read` counts the bytes read.
    pub fn open(path: &Path, read: Arc<AtomicU64>) -> Result<Self, Error> {
        let mut file = File::open(path)?;
        let mut start = [0; 4];
        let known = file.read(&mut start)?;
        file.rewind()?;
        if &start[..known] == table::MAGIC {
            let (table, layout) = Table::new(file, read)?;
            return Ok(Self { source: RecordSource::Table(Box::new(table)), layout });
        }
        Self::new(unpack(Box::new(Counted { file, read }))?)
    }

    /// Reads the first line of CSV.
    pub fn new(source: Box<dyn Read + Send>) -> Result<Self, Error> {
        let mut lines = csv::ReaderBuilder::new().flexible(true).buffer_capacity(1 << 17).from_reader(source);
        let (columns, layout) = Columns::find(lines.headers().map_err(broken)?)?;
        let lines = Lines { source: lines, columns, line: ByteRecord::new() };
        Ok(Self { source: RecordSource::Lines(Box::new(lines)), layout })
    }

    /// The file's columns: those that are read and those that are ignored.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Skips lines that were read before.
    pub fn pass_over(&mut self, lines: u64) -> Result<(), Error> {
        match &mut self.source {
            RecordSource::Table(table) => table.pass_over(lines),
            RecordSource::Lines(source) => {
                for _ in 0..lines {
                    if !source.source.read_byte_record(&mut source.line).map_err(broken)? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Lines before the first counted one: the column names are one in CSV.
    pub const fn heading(&self) -> i64 {
        match self.source {
            RecordSource::Lines(_) => 1,
            RecordSource::Table(_) => 0,
        }
    }
}

impl Iterator for Reader {
    /// An unusable line gives its reason; a failure that ends the reading is an error.
    type Item = Result<Result<ActivityRecord, String>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            RecordSource::Table(table) => table.next(),
            RecordSource::Lines(lines) => match lines.source.read_byte_record(&mut lines.line) {
                Ok(false) => None,
                Ok(true) => Some(Ok(lines.columns.record(&lines.line))),
                Err(error) => Some(Err(broken(error))),
            },
        }
    }
}

fn broken(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::Io(error),
        other => Error::unreadable("the file", format!("{other:?}")),
    }
}

/// True for an amount, in any unit, with at most two digits apart from zeros at its ends; `None` for no amount. The
/// amount may have thousands separated by commas, an exponent, and its unit after a space.
pub fn is_round(text: &str) -> Option<bool> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    if !unit.chars().all(|c| c.is_alphanumeric() || c.is_whitespace()) {
        return None;
    }
    let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    exponent.parse::<i16>().ok()?;
    let digits: String = number.chars().filter(|c| !matches!(c, '.' | ',')).collect();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.trim_matches('0').len() <= 2)
}

/// Reads labels: addresses with true for a human.
pub fn labels(source: Box<dyn Read + Send>) -> Result<Vec<(EvmAddress, bool)>, Error> {
    let mut lines = csv::Reader::from_reader(source);
    let header = lines.headers().map_err(broken)?;
    let find = |name: &str| header.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
    let columns = find("address").zip(find("label"));
    let (address, label) =
        columns.ok_or_else(|| Error::unreadable("the labels", "the columns must be address and label"))?;
    let (mut labels, mut bad) = (Vec::new(), BadEntries::default());
    for (number, line) in (2..).zip(lines.records()) {
        let line = line.map_err(broken)?;
        let cell = |place: usize| line.get(place).unwrap_or_default().trim();
        let human = match cell(label) {
            "human" | "1" => Some(true),
            "sybil" | "0" => Some(false),
            _ => None,
        };
        match (cell(address).parse(), human) {
            (Ok(address), Some(human)) => labels.push((address, human)),
            (Err(error), _) => bad.add(number, cell(address), error),
            (Ok(_), None) => bad.add(number, cell(label), "neither human nor sybil"),
        }
    }
    let mut labels =
        bad.or(labels).map_err(|bad| Error::unreadable("the labels", format!("bad lines: {bad}")))?;
    labels.sort_unstable_by_key(|(address, _)| *address);
    labels.dedup_by_key(|(address, _)| *address);
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0x00000000000000000000000000000000000000aa";
    const B: &str = "0x00000000000000000000000000000000000000Bb";

    fn read(text: &str) -> Vec<Result<ActivityRecord, String>> {
        let reader = Reader::new(Box::new(std::io::Cursor::new(text.to_owned().into_bytes()))).unwrap();
        reader.map(Result::unwrap).collect()
    }

    #[test]
    fn columns_are_found_by_name_and_what_is_absent_is_unknown() {
        let lines = read(&format!("to,kind,chain,from\n{A},erc20,polygon,{B}\n"));
        let Ok(ActivityRecord::Transfer(moved)) = lines[0] else { panic!("{lines:?}") };
        assert_eq!((moved.from.0[19], moved.to.0[19]), (0xbb, 0xaa));
        assert_eq!(
            (moved.chain, moved.kind, moved.time, moved.round),
            (Chain::Polygon, Kind::Erc20, None, None)
        );
    }

    #[test]
    fn times_and_amounts_are_read_where_they_are_there() {
        let lines = read(&format!(
            "from,to,time,amount\n{A},{B},1700000000,1.50\n{A},{B},2023-11-14T22:13:20Z,1234\n{A},{B},,\n"
        ));
        let seen: Vec<_> = lines
            .into_iter()
            .map(|line| match line.unwrap() {
                ActivityRecord::Transfer(moved) => (moved.time.map(NonZeroU32::get), moved.round),
                ActivityRecord::Facts(..) => panic!("no facts"),
            })
            .collect();
        assert_eq!(
            seen,
            [(Some(1_700_000_000), Some(true)), (Some(1_700_000_000), Some(false)), (None, None)]
        );
    }

    #[test]
    fn a_bad_line_says_why_and_the_next_one_is_read() {
        let lines = read(&format!("from,to,chain\nnobody,{B},base\n{A},{B},moon\n{A}\n{A},{B},base\n"));
        assert!(lines[0].as_ref().unwrap_err().contains("nobody"));
        assert!(lines[1].as_ref().unwrap_err().contains("moon"));
        assert!(lines[2].as_ref().unwrap_err().contains("columns"));
        assert!(lines[3].is_ok());
    }

    #[test]
    fn facts_are_told_by_their_columns() {
        let lines = read(&format!("address,first_bridge_unix,bridge_volume_usd\n{A},1636903130,11895.76\n"));
        let Ok(ActivityRecord::Facts(address, facts)) = lines[0] else { panic!("{lines:?}") };
        assert_eq!((address.0[19], facts.first_bridge, facts.volume_usd), (0xaa, 1_636_903_130, 11895.76));
    }

    #[test]
    fn labels_are_words_or_digits_and_nothing_else() {
        let read = |text: String| labels(Box::new(std::io::Cursor::new(text.into_bytes())));
        let found = read(format!("address,label\n{B},sybil\n{A},1\n")).unwrap();
        assert_eq!(found.iter().map(|(_, human)| *human).collect::<Vec<_>>(), [true, false]);
        let bad = read(format!("address,label\n{A},maybe\n{A},1\nnobody,1\n")).unwrap_err().to_string();
        assert!(bad.contains("[2] \"maybe\"") && bad.contains("[4] \"nobody\""), "{bad}");
        assert!(read("who,what\n".to_owned()).is_err());
    }

    #[test]
    fn round_amounts_have_two_digits_at_most() {
        let round = ["1", "0.5", "15000000000000000000", "0", "250"].map(is_round);
        assert_eq!(round, [Some(true); 5]);
        assert_eq!(
            (is_round("1.23"), is_round("101"), is_round(""), is_round("-1")),
            (Some(false), Some(false), None, None)
        );
    }

    #[test]
    fn gzipped_lines_are_the_same_and_those_that_were_read_are_passed_over() {
        use std::io::Write;
        let line = |number: i32| {
            let chain = if number == 30 { "moon" } else { "base" };
            format!("0x{number:040x},{A},{chain}\n")
        };
        let text = ["from,to,chain\n".to_owned()].into_iter().chain((0..50).map(line)).collect::<String>();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let open = |bytes: &[u8]| {
            Reader::new(unpack(Box::new(std::io::Cursor::new(bytes.to_vec()))).unwrap()).unwrap()
        };
        let whole: Vec<Result<ActivityRecord, String>> = open(&packed).map(Result::unwrap).collect();
        assert_eq!((whole.len(), read(&text)), (50, whole.clone()));
        assert!(whole[30].as_ref().is_err_and(|why| why.contains("moon")));
        for (skip, left) in [(0, 50), (1, 49), (31, 19), (50, 0), (99, 0)] {
            let mut reader = open(&packed);
            reader.pass_over(skip).unwrap();
            let rest: Vec<_> = reader.map(Result::unwrap).collect();
            assert_eq!(rest, whole[50 - left..], "{skip}");
        }
        // A truncated file is an error, not the end of the file.
        let cut = open(&packed[..packed.len() / 2]).find(Result::is_err);
        assert!(cut.is_some());
    }
}
