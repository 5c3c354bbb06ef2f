//! A table as Parquet: each piece is a row group.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{ColumnKind, TableCell, TableColumn, TableError};

/// Rows of a row group. Small groups are many pages and a long footer.
const GROUP: usize = 20_000;

/// Bytes that the writer has encoded and that were not taken yet.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Bytes {
        Bytes::from(std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A Parquet file that is being written.
pub(crate) struct ParquetTable {
    writer: SerializedFileWriter<Buffer>,
    buffer: Buffer,
    columns: Vec<TableColumn>,
    /// Rows of the next group.
    waiting: Vec<Vec<TableCell>>,
}

impl ParquetTable {
    pub(super) fn new(columns: Vec<TableColumn>) -> Result<Self, TableError> {
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let buffer = Buffer::default();
        let writer = SerializedFileWriter::new(buffer.clone(), Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer, buffer, columns, waiting: Vec::new() })
    }

    pub(super) fn rows(&mut self, rows: &[Vec<TableCell>]) -> Result<Bytes, TableError> {
        self.waiting.extend_from_slice(rows);
        if self.waiting.len() >= GROUP {
            self.write_group()?;
        }
        Ok(self.buffer.take())
    }

    pub(super) fn finish(mut self) -> Result<Bytes, TableError> {
        self.write_group()?;
        self.writer.close()?;
        Ok(self.buffer.take())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.waiting);
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (place, column) in self.columns.iter().enumerate() {
            write_column(&mut group, column.kind, &rows, place)?;
        }
        group.close()?;
        Ok(())
    }
}

fn field(column: &TableColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnKind::Whole => (Physical::INT64, None),
        ColumnKind::Number => (Physical::DOUBLE, None),
        ColumnKind::Flag => (Physical::BOOLEAN, None),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Moment => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Buffer>,
    kind: ColumnKind,
    rows: &[Vec<TableCell>],
    place: usize,
) -> Result<(), ParquetError> {
    let cells = || rows.iter().map(|row| row.get(place).unwrap_or(&TableCell::Empty));
    match kind {
        ColumnKind::Whole | ColumnKind::Moment => write::<Int64Type>(group, cells(), |cell| match cell {
            TableCell::Whole(number) => Some(*number),
            TableCell::Moment(at) => Some(at.0),
            _ => None,
        }),
        ColumnKind::Number => write::<DoubleType>(group, cells(), |cell| match cell {
            TableCell::Number(number) => Some(*number),
            TableCell::Decimal(text) => text.parse().ok(),
            _ => None,
        }),
        ColumnKind::Flag => write::<BoolType>(group, cells(), |cell| match cell {
            TableCell::Flag(flag) => Some(*flag),
            _ => None,
        }),
        ColumnKind::Text => write::<ByteArrayType>(group, cells(), |cell| match cell {
            TableCell::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        }),
    }
}

fn write<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Buffer>,
    cells: impl Iterator<Item = &'a TableCell>,
    value: impl Fn(&TableCell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        let found = value(cell);
        levels.push(i16::from(found.is_some()));
        values.extend(found);
    }
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
