//! Tables as CSV or Parquet, written piece by piece: memory holds one piece, whatever the length of the table.

mod parquet;

use bytes::Bytes;
use pyxis_core::clock::UnixMillis;
use pyxis_core::csv;

use self::parquet::ParquetTable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl TableFormat {
    /// The format of this name: `csv` or `parquet`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Name, which is also the extension of files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// Media type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }
}

/// Kind of a column. Every column may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Whole,
    Number,
    Flag,
    Text,
    Moment,
}

#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
}

impl TableColumn {
    pub(crate) fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A value in a row, of the kind of its column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableCell {
    Empty,
    Whole(i64),
    Number(f64),
    /// A decimal number as the score record writes it, with five decimals. CSV has the text, and Parquet a number.
    Decimal(String),
    Flag(bool),
    Text(String),
    Moment(UnixMillis),
}

impl TableCell {
    /// A text, or nothing.
    pub(crate) fn text(text: Option<String>) -> Self {
        text.map_or(Self::Empty, Self::Text)
    }

    /// A time in the form of RFC 3339, or nothing.
    pub(crate) fn from_time(text: Option<&str>) -> Self {
        text.and_then(UnixMillis::parse_rfc3339).map_or(Self::Empty, Self::Moment)
    }

    /// A decimal number, or nothing.
    pub(crate) fn decimal(text: &str) -> Self {
        if text.parse::<f64>().is_ok() { Self::Decimal(text.to_owned()) } else { Self::Empty }
    }

    fn csv(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Decimal(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => csv::cell(text),
            Self::Moment(at) => at.to_rfc3339(),
        }
    }
}

/// The table could not be encoded: a defect of the program.
#[derive(Debug, thiserror::Error)]
#[error("cannot write a table")]
pub(crate) struct TableError(#[from] ::parquet::errors::ParquetError);

/// A table that is being written.
pub(crate) enum TableWriter {
    /// The heading, until it is written.
    Csv(String),
    Parquet(Box<ParquetTable>),
}

impl TableWriter {
    pub(crate) fn new(format: TableFormat, columns: Vec<TableColumn>) -> Result<Self, TableError> {
        Ok(match format {
            TableFormat::Csv => Self::Csv(csv::line(columns.iter().map(|column| &column.name)) + "\r\n"),
            TableFormat::Parquet => Self::Parquet(Box::new(ParquetTable::new(columns)?)),
        })
    }

    /// Encodes rows, each with a cell for every column. Returns what is to be written next.
    pub(crate) fn rows(&mut self, rows: &[Vec<TableCell>]) -> Result<Bytes, TableError> {
        match self {
            Self::Csv(heading) => {
                let mut text = std::mem::take(heading);
                for row in rows {
                    text.push_str(&row.iter().map(TableCell::csv).collect::<Vec<_>>().join(","));
                    text.push_str("\r\n");
                }
                Ok(Bytes::from(text))
            }
            Self::Parquet(table) => table.rows(rows),
        }
    }

    /// Ends the table. Returns the last bytes.
    pub(crate) fn finish(self) -> Result<Bytes, TableError> {
        match self {
            Self::Csv(heading) => Ok(Bytes::from(heading)),
            Self::Parquet(table) => table.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;

    use super::*;

    fn columns() -> Vec<TableColumn> {
        let kinds =
            [ColumnKind::Whole, ColumnKind::Number, ColumnKind::Flag, ColumnKind::Text, ColumnKind::Moment];
        let names = ["whole", "number", "flag", "text", "moment"];
        names.into_iter().zip(kinds).map(|(name, kind)| TableColumn::new(name, kind)).collect()
    }

    fn row(number: i64) -> Vec<TableCell> {
        vec![
            TableCell::Whole(number),
            TableCell::Number(-1.5),
            TableCell::Flag(true),
            TableCell::Text("=a,b".to_owned()),
            TableCell::Moment(UnixMillis(1_767_225_600_000)),
        ]
    }

    #[test]
    fn a_decimal_is_its_text_in_csv_and_a_number_in_parquet() {
        let columns = || vec![TableColumn::new("score", ColumnKind::Number)];
        let rows = [vec![TableCell::decimal("20.00000")], vec![TableCell::decimal("none")]];
        let mut csv = TableWriter::new(TableFormat::Csv, columns()).unwrap();
        assert_eq!(csv.rows(&rows).unwrap(), "score\r\n20.00000\r\n\r\n");
        let mut parquet = TableWriter::new(TableFormat::Parquet, columns()).unwrap();
        let start = parquet.rows(&rows).unwrap();
        let bytes = [start, parquet.finish().unwrap()].concat();
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let found: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert!(
            (found[0].get_double(0).unwrap() - 20.0).abs() < f64::EPSILON && found[1].get_double(0).is_err()
        );
    }

    fn written(format: TableFormat, pieces: &[Vec<Vec<TableCell>>]) -> Vec<u8> {
        let mut writer = TableWriter::new(format, columns()).unwrap();
        let mut all = Vec::new();
        for rows in pieces {
            all.extend_from_slice(&writer.rows(rows).unwrap());
        }
        all.extend_from_slice(&writer.finish().unwrap());
        all
    }

    #[test]
    fn csv_has_one_heading_and_no_formula() {
        let empty = vec![TableCell::Empty; 5];
        let text = String::from_utf8(written(TableFormat::Csv, &[vec![row(1)], vec![empty]])).unwrap();
        assert_eq!(
            text,
            "whole,number,flag,text,moment\r\n1,-1.5,true,\"'=a,b\",2026-01-01T00:00:00.000Z\r\n,,,,\r\n"
        );
        assert_eq!(written(TableFormat::Csv, &[]), b"whole,number,flag,text,moment\r\n");
    }

    #[test]
    fn parquet_is_read_back_with_its_empty_cells_and_in_order() {
        let bytes =
            written(TableFormat::Parquet, &[vec![row(1), vec![TableCell::Empty; 5]], vec![], vec![row(3)]]);
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].get_long(0).unwrap(), rows[2].get_long(0).unwrap()), (1, 3));
        assert_eq!((rows[0].get_double(1).unwrap(), rows[0].get_bool(2).unwrap()), (-1.5, true));
        assert_eq!(rows[0].get_string(3).unwrap(), "=a,b");
        assert_eq!(rows[0].get_timestamp_millis(4).unwrap(), 1_767_225_600_000);
        assert!(rows[1].get_long(0).is_err() && rows[1].get_string(3).is_err());
        let none = SerializedFileReader::new(Bytes::from(written(TableFormat::Parquet, &[]))).unwrap();
        assert_eq!(none.metadata().file_metadata().num_rows(), 0);
    }
}
