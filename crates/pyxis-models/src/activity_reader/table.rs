//! Parquet: reads one row group at a time, and some rows of its columns at a time. Unused columns are not read.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::ActivityRecord;
use super::columns::{Cells, Columns, Layout};
use crate::Error;

/// Bytes at the start and the end of every file.
pub(super) const MAGIC: &[u8] = b"PAR1";
/// Rows that are read together.
const BATCH_ROWS: usize = 8_192;

/// A value in a row.
#[derive(Clone, Debug)]
enum Cell {
    Nothing,
    Text(ByteArray),
    /// Bytes that are not text: an address has 20.
    Bytes(ByteArray),
    Whole(i128),
    Number(f64),
}

/// Interpretation of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Plain,
    Text,
    /// Moments, with this many units per second.
    Moments(i64),
    /// Days since 1970.
    Days,
    /// 96-bit numbers, an early form of moments.
    Int96,
    /// Whole numbers in bytes, most significant first.
    Decimal,
}

/// A column that is read.
struct Column {
    /// Its index in the file.
    place: usize,
    meaning: Meaning,
    /// The definition level of a present value.
    present: i16,
    reader: Option<ColumnReader>,
    cells: Vec<Cell>,
}

/// A Parquet file.
pub(super) struct Table {
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// Positions in `columns`; `None` if there is one column.
    named: Option<Columns>,
    /// The next row group.
    group: usize,
    /// Unread rows of the group.
    left: u64,
    /// Rows read together, and how many of them were returned.
    read: usize,
    given: usize,
    bytes: Arc<AtomicU64>,
}

impl Table {
    /// Reads the file's metadata at its end.
    pub(super) fn new(file: File, bytes: Arc<AtomicU64>) -> Result<(Self, Layout), Error> {
        let file = careful(|| SerializedFileReader::new(file).map_err(damaged))?;
        let schema = file.metadata().file_metadata().schema_descr();
        // Nested columns have no name of their own here.
        let header: Vec<&str> = schema
            .columns()
            .iter()
            .map(|column| if column.path().parts().len() == 1 { column.name() } else { "" })
            .collect();
        let (named, layout) = Columns::find(header)?;
        let mut columns = Vec::new();
        let named = named.renumbered(|place| {
            columns.push(Column::from_descriptor(place, &schema.columns()[place])?);
            Ok(columns.len() - 1)
        })?;
        let named = Some(named);
        Ok((Self { file, columns, named, group: 0, left: 0, read: 0, given: 0, bytes }, layout))
    }

    /// Reads the metadata, and then only the column at the place that `choose` returns for the names of all columns.
    /// Nested ones have an empty name.
    pub(super) fn of_one_column(
        file: File,
        choose: impl FnOnce(&[&str]) -> Result<usize, Error>,
    ) -> Result<Self, Error> {
        let file = careful(|| SerializedFileReader::new(file).map_err(damaged))?;
        let schema = file.metadata().file_metadata().schema_descr();
        let top = |column: &Arc<ColumnDescriptor>| column.path().parts().len() == 1;
        let names: Vec<&str> =
            schema.columns().iter().map(|column| if top(column) { column.name() } else { "" }).collect();
        let place = choose(&names)?;
        let columns = vec![Column::from_descriptor(place, &schema.columns()[place])?];
        let bytes = Arc::default();
        Ok(Self { file, columns, named: None, group: 0, left: 0, read: 0, given: 0, bytes })
    }

    /// Rows that the metadata promises.
    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(u64::MAX)
    }

    /// Largest size of a group's read columns in memory, as the metadata promises.
    pub(super) fn largest_group(&self) -> u64 {
        let size = |group: &parquet::file::metadata::RowGroupMetaData| {
            let sizes = self.columns.iter().map(|column| group.column(column.place).uncompressed_size());
            sizes.map(|size| u64::try_from(size).unwrap_or(u64::MAX)).fold(0, u64::saturating_add)
        };
        self.file.metadata().row_groups().iter().map(size).max().unwrap_or(0)
    }

    /// The next cell of the one column; the inner error is that of the cell.
    pub(super) fn next_cell(&mut self) -> Option<Result<Result<String, String>, Error>> {
        match self.advance() {
            Ok(false) => None,
            Ok(true) => {
                let line = TableRow { columns: &self.columns, row: self.given - 1 };
                Some(Ok(line.text(0).map(Cow::into_owned)))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Skips whole groups without reading them.
    pub(super) fn pass_over(&mut self, mut rows: u64) -> Result<(), Error> {
        while self.left == 0 && self.group < self.file.num_row_groups() {
            let group = self.file.metadata().row_group(self.group);
            let length = u64::try_from(group.num_rows()).unwrap_or(0);
            if length > rows {
                break;
            }
            self.count(self.group);
            rows -= length;
            self.group += 1;
        }
        for _ in 0..rows {
            if !self.advance()? {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn next(&mut self) -> Option<Result<Result<ActivityRecord, String>, Error>> {
        match self.advance() {
            Ok(false) => None,
            Ok(true) => {
                let named = self.named.as_ref()?;
                Some(Ok(named.record(&TableRow { columns: &self.columns, row: self.given - 1 })))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Moves to the next row; false at the end.
    fn advance(&mut self) -> Result<bool, Error> {
        while self.given == self.read {
            if self.left == 0 && !self.open_group()? {
                return Ok(false);
            }
            self.read_some()?;
        }
        self.given += 1;
        Ok(true)
    }

    fn open_group(&mut self) -> Result<bool, Error> {
        if self.group == self.file.num_row_groups() {
            return Ok(false);
        }
        let (file, columns, number) = (&self.file, &mut self.columns, self.group);
        self.left = careful(|| {
            let group = file.get_row_group(number).map_err(damaged)?;
            for column in columns {
                column.reader = Some(group.get_column_reader(column.place).map_err(damaged)?);
            }
            u64::try_from(group.metadata().num_rows()).map_err(|_| damaged("a group of less than no rows"))
        })?;
        self.count(number);
        self.group += 1;
        Ok(true)
    }

    fn count(&self, group: usize) {
        let size = self.file.metadata().row_group(group).compressed_size();
        self.bytes.fetch_add(u64::try_from(size).unwrap_or(0), Ordering::Relaxed);
    }

    fn read_some(&mut self) -> Result<(), Error> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(BATCH_ROWS);
        let columns = &mut self.columns;
        careful(|| {
            for column in columns {
                column.read(wanted)?;
                if column.cells.len() != wanted {
                    return Err(damaged("its columns differ in length"));
                }
            }
            Ok(())
        })?;
        (self.read, self.given) = (wanted, 0);
        self.left -= wanted as u64;
        Ok(())
    }
}

impl Column {
    fn from_descriptor(place: usize, described: &ColumnDescriptor) -> Result<Self, Error> {
        let refused = |why: &str| {
            Err(Error::unreadable("the Parquet file", format!("its column {} {why}", described.name())))
        };
        if described.max_rep_level() > 0 {
            return refused("holds lists; write one value in each row");
        }
        let moments = match (described.logical_type_ref(), described.converted_type()) {
            (Some(LogicalType::Timestamp(kind)), _) => Some(match kind.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            }),
            (_, ConvertedType::TIMESTAMP_MILLIS) => Some(1_000),
            (_, ConvertedType::TIMESTAMP_MICROS) => Some(1_000_000),
            _ => None,
        };
        let is_decimal = described.converted_type() == ConvertedType::DECIMAL;
        let meaning = match (described.physical_type(), moments) {
            (Type::INT64, Some(each)) => Meaning::Moments(each),
            (Type::INT32, _) if described.converted_type() == ConvertedType::DATE => Meaning::Days,
            (Type::INT96, _) => Meaning::Int96,
            (Type::BOOLEAN, _) => return refused("holds booleans; write text or numbers"),
            (Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY, _) if is_decimal => Meaning::Decimal,
            (Type::BYTE_ARRAY, _) if described.converted_type() == ConvertedType::UTF8 => Meaning::Text,
            _ => Meaning::Plain,
        };
        let present = described.max_def_level();
        Ok(Self { place, meaning, present, reader: None, cells: Vec::new() })
    }

    fn read(&mut self, wanted: usize) -> Result<(), Error> {
        let Self { meaning, present, reader, cells, .. } = self;
        let (meaning, present) = (*meaning, *present);
        cells.clear();
        let bytes = |value: ByteArray| match meaning {
            Meaning::Text => Cell::Text(value),
            Meaning::Decimal => decimal(value.data()),
            _ if value.len() != 20 && value.as_utf8().is_ok() => Cell::Text(value),
            _ => Cell::Bytes(value),
        };
        let whole = |value: i64| match meaning {
            Meaning::Moments(each) => Cell::Whole(i128::from(value.div_euclid(each))),
            Meaning::Days => Cell::Whole(i128::from(value) * 86_400),
            _ => Cell::Whole(i128::from(value)),
        };
        match reader {
            None | Some(ColumnReader::BoolColumnReader(_)) => Err(damaged("a column that is not there")),
            Some(ColumnReader::Int32ColumnReader(reader)) => {
                fill(reader, wanted, present, cells, |value| whole(i64::from(value)))
            }
            Some(ColumnReader::Int64ColumnReader(reader)) => fill(reader, wanted, present, cells, whole),
            Some(ColumnReader::Int96ColumnReader(reader)) => {
                fill(reader, wanted, present, cells, |value| Cell::Whole(i128::from(value.to_seconds())))
            }
            Some(ColumnReader::FloatColumnReader(reader)) => {
                fill(reader, wanted, present, cells, |value| Cell::Number(f64::from(value)))
            }
            Some(ColumnReader::DoubleColumnReader(reader)) => {
                fill(reader, wanted, present, cells, Cell::Number)
            }
            Some(ColumnReader::ByteArrayColumnReader(reader)) => fill(reader, wanted, present, cells, bytes),
            Some(ColumnReader::FixedLenByteArrayColumnReader(reader)) => {
                fill(reader, wanted, present, cells, |value| bytes(value.into()))
            }
        }
    }
}

fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    wanted: usize,
    present: i16,
    cells: &mut Vec<Cell>,
    cell: impl Fn(T::T) -> Cell,
) -> Result<(), Error> {
    let (mut levels, mut values) = (Vec::new(), Vec::with_capacity(wanted));
    while cells.len() < wanted {
        levels.clear();
        values.clear();
        let levels_wanted = (present > 0).then_some(&mut levels);
        let (rows, ..) =
            reader.read_records(wanted - cells.len(), levels_wanted, None, &mut values).map_err(damaged)?;
        if rows == 0 {
            return Ok(());
        }
        let mut values = values.drain(..).map(&cell);
        if present == 0 {
            cells.extend(values);
        } else {
            cells.extend(levels.iter().map(|level| {
                if *level == present { values.next().unwrap_or(Cell::Nothing) } else { Cell::Nothing }
            }));
        }
    }
    Ok(())
}

/// A whole number of at most 16 bytes; longer ones are not supported.
fn decimal(bytes: &[u8]) -> Cell {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    if bytes.len() > 16 {
        return Cell::Nothing;
    }
    Cell::Whole(bytes.iter().fold(start, |sum: i128, byte| sum << 8 | i128::from(*byte)))
}

/// One of the rows read together.
struct TableRow<'a> {
    columns: &'a [Column],
    row: usize,
}

impl Cells for TableRow<'_> {
    fn text(&self, place: usize) -> Result<Cow<'_, str>, String> {
        match &self.columns[place].cells[self.row] {
            Cell::Nothing => Ok(Cow::Borrowed("")),
            Cell::Text(text) => str::from_utf8(text.data())
                .map(|text| Cow::Borrowed(text.trim()))
                .map_err(|_| "no text".to_owned()),
            Cell::Bytes(bytes) => {
                let mut text = "0x".to_owned();
                for byte in bytes.data() {
                    // Writing to a string does not fail.
                    let _ = write!(text, "{byte:02x}");
                }
                Ok(Cow::Owned(text))
            }
            Cell::Whole(number) => Ok(Cow::Owned(number.to_string())),
            Cell::Number(number) => Ok(Cow::Owned(number.to_string())),
        }
    }
}

fn damaged(why: impl fmt::Display) -> Error {
    Error::unreadable("the Parquet file", format!("it is damaged: {why}"))
}

/// Turns a damaged file into an error, even if the library panics.
fn careful<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(damaged("reading it failed")))
}

#[cfg(test)]
mod tests;
