//! Parquet files that the tests write with the library that reads them.

use std::num::NonZeroU32;
use std::path::PathBuf;

use parquet::basic::Compression;
use parquet::data_type::{ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use pyxis_core::address::EvmAddress;
use tempfile::TempDir;

use super::super::{Moved, Reader};
use super::*;
use crate::scope::{Chain, Kind};

struct TestFile {
    directory: TempDir,
}

impl TestFile {
    fn path(&self) -> PathBuf {
        self.directory.path().join("a.parquet")
    }

    fn reader(&self) -> Result<Reader, Error> {
        Reader::open(&self.path(), Arc::default())
    }

    fn records(&self) -> Vec<Result<ActivityRecord, String>> {
        self.reader().unwrap().map(Result::unwrap).collect()
    }
}

/// Writes groups of rows, one after the other.
fn write(
    schema: &str,
    compression: Compression,
    groups: usize,
    mut fill: impl FnMut(usize, &mut SerializedRowGroupWriter<'_, File>),
) -> TestFile {
    let written = TestFile { directory: tempfile::tempdir().unwrap() };
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let out = File::create(written.path()).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, properties).unwrap();
    for group in 0..groups {
        let mut rows = writer.next_row_group().unwrap();
        fill(group, &mut rows);
        rows.close().unwrap();
    }
    writer.close().unwrap();
    written
}

fn column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    there: Option<&[i16]>,
) {
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, there, None).unwrap();
    column.close().unwrap();
}

fn texts(values: &[String]) -> Vec<ByteArray> {
    values.iter().map(|value| ByteArray::from(value.as_str())).collect()
}

fn address(number: u32) -> EvmAddress {
    let mut bytes = [0; 20];
    bytes[16..].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

const TRANSFERS: &str = "message transfers {
    required binary kind (UTF8);
    optional binary chain (UTF8);
    required binary to (UTF8);
    required int64 block_number;
    required binary FROM (UTF8);
    optional int64 time;
    optional double amount;
}";

/// Groups of this many rows; in every third row, time and amount are unknown.
fn transfers(compression: Compression, groups: usize, rows: u32) -> TestFile {
    write(TRANSFERS, compression, groups, |group, out| {
        let numbers: Vec<u32> = (0..rows).map(|row| u32::try_from(group).unwrap() * rows + row).collect();
        let there: Vec<i16> = numbers.iter().map(|number| i16::from(number % 3 != 0)).collect();
        let known: Vec<&u32> = numbers.iter().filter(|number| *number % 3 != 0).collect();
        let each = |text: &dyn Fn(u32) -> String| {
            texts(&numbers.iter().map(|number| text(*number)).collect::<Vec<_>>())
        };
        column::<ByteArrayType>(out, &each(&|_| "erc20".to_owned()), None);
        column::<ByteArrayType>(out, &each(&|_| "Base".to_owned()), Some(&vec![1; numbers.len()]));
        column::<ByteArrayType>(out, &each(&|number| address(number + 1).to_string()), None);
        column::<Int64Type>(out, &vec![7; numbers.len()], None);
        column::<ByteArrayType>(out, &each(&|number| address(number).to_string()), None);
        let times: Vec<i64> = known.iter().map(|number| 1_700_000_000 + i64::from(**number)).collect();
        column::<Int64Type>(out, &times, Some(&there));
        let amounts: Vec<f64> = known.iter().map(|number| f64::from(**number) + 0.5).collect();
        column::<DoubleType>(out, &amounts, Some(&there));
    })
}

fn moved(number: u32) -> Moved {
    let known = !number.is_multiple_of(3);
    Moved {
        chain: Chain::Base,
        kind: Kind::Erc20,
        from: address(number),
        to: address(number + 1),
        time: NonZeroU32::new(1_700_000_000 + number).filter(|_| known),
        // 1.5 has two digits, 100.5 has four.
        round: known.then_some(number < 10),
    }
}

#[test]
fn rows_are_read_by_the_names_of_their_columns_in_every_compression() {
    let kinds = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(parquet::basic::GzipLevel::default()),
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
    ];
    for compression in kinds {
        let found = transfers(compression, 3, 50).records();
        assert_eq!(found.len(), 150);
        for (number, record) in (0..).zip(found) {
            assert_eq!(record, Ok(ActivityRecord::Transfer(moved(number))), "{compression:?}");
        }
    }
}

#[test]
fn reading_goes_on_behind_any_row_and_the_rows_of_a_group_may_be_many() {
    let written = transfers(Compression::SNAPPY, 3, 10_000);
    for skip in [0_u32, 1, 9_999, 10_000, 10_001, 18_192, 29_999, 30_000, 40_000] {
        let mut reader = written.reader().unwrap();
        reader.pass_over(u64::from(skip)).unwrap();
        let next = reader.next().map(|record| record.unwrap().unwrap());
        assert_eq!(next, (skip < 30_000).then(|| ActivityRecord::Transfer(moved(skip))), "{skip}");
    }
    let mut reader = written.reader().unwrap();
    reader.pass_over(8_191).unwrap();
    assert_eq!(reader.count(), 30_000 - 8_191);
}

#[test]
fn how_far_it_is_read_is_told_in_bytes() {
    let written = transfers(Compression::ZSTD(parquet::basic::ZstdLevel::default()), 4, 500);
    let read = Arc::new(AtomicU64::new(0));
    let mut reader = Reader::open(&written.path(), Arc::clone(&read)).unwrap();
    reader.pass_over(1_000).unwrap();
    let half = read.load(Ordering::Relaxed);
    assert_eq!(reader.count(), 1_000);
    let whole = read.load(Ordering::Relaxed);
    assert!(half > 0 && half < whole && whole <= std::fs::metadata(written.path()).unwrap().len());
}

#[test]
fn addresses_may_be_bytes_times_timestamps_and_amounts_decimals() {
    let schema = "message exported {
        required fixed_len_byte_array(20) from_address;
        required binary to_address;
        required int64 block_timestamp (TIMESTAMP(NANOS,true));
        required fixed_len_byte_array(16) value (DECIMAL(38,0));
    }";
    let decimals: [i128; 3] = [15_000_000_000_000_000_000, 1_234, -5];
    let written = write(schema, Compression::SNAPPY, 1, |_, rows| {
        let from: Vec<FixedLenByteArray> =
            (1..4).map(|number| ByteArray::from(address(number).0.to_vec()).into()).collect();
        column::<FixedLenByteArrayType>(rows, &from, None);
        let to: Vec<ByteArray> = (1..4).map(|_| ByteArray::from(vec![0x61; 20])).collect();
        column::<ByteArrayType>(rows, &to, None);
        column::<Int64Type>(rows, &[1_700_000_000_999_999_999, 0, 1_700_000_001_000_000_000], None);
        let values: Vec<FixedLenByteArray> =
            decimals.iter().map(|number| ByteArray::from(number.to_be_bytes().to_vec()).into()).collect();
        column::<FixedLenByteArrayType>(rows, &values, None);
    });
    let found: Vec<_> = written
        .records()
        .into_iter()
        .map(|record| match record.unwrap() {
            ActivityRecord::Transfer(moved) => {
                (moved.from, moved.to, moved.time.map(NonZeroU32::get), moved.round)
            }
            ActivityRecord::Facts(..) => panic!("no facts"),
        })
        .collect();
    let to = EvmAddress([0x61; 20]);
    assert_eq!(
        found,
        [
            (address(1), to, Some(1_700_000_000), Some(true)),
            (address(2), to, None, Some(false)),
            (address(3), to, Some(1_700_000_001), None),
        ]
    );
}

#[test]
fn times_are_read_by_every_usual_name_and_in_every_usual_type() {
    let at = 1_675_155_900_i64;
    for (column, values, wanted) in [
        ("required int64 block_time (TIMESTAMP(MICROS,false))", at * 1_000_000, at),
        ("required int64 UnixTimestamp", at, at),
        ("required int64 timeStamp", at * 1_000, at),
        ("required int64 block_signed_at", at * 1_000_000, at),
    ] {
        let schema =
            format!("message m {{ required binary from (UTF8); required binary to (UTF8); {column}; }}");
        let written = write(&schema, Compression::SNAPPY, 1, |_, rows| {
            for number in [1, 2] {
                self::column::<ByteArrayType>(rows, &texts(&[address(number).to_string()]), None);
            }
            self::column::<Int64Type>(rows, &[values], None);
        });
        assert!(!written.reader().unwrap().layout().lacks_time(), "{column}");
        let Ok(ActivityRecord::Transfer(moved)) = written.records().remove(0) else { panic!("{column}") };
        assert_eq!(moved.time.map(|time| i64::from(time.get())), Some(wanted), "{column}");
    }
    let schema = "message m { required binary from (UTF8); required binary to (UTF8); required int32 date (DATE); \
                  required group more { required binary time (UTF8); } }";
    let written = write(schema, Compression::SNAPPY, 1, |_, rows| {
        for number in [1, 2] {
            column::<ByteArrayType>(rows, &texts(&[address(number).to_string()]), None);
        }
        column::<parquet::data_type::Int32Type>(rows, &[19_388], None);
        column::<ByteArrayType>(rows, &texts(&["never read".to_owned()]), None);
    });
    let Ok(ActivityRecord::Transfer(moved)) = written.records().remove(0) else { panic!("no transfer") };
    assert_eq!(moved.time.map(NonZeroU32::get), Some(1_675_123_200));
}

#[test]
fn first_bridgings_are_told_by_their_columns() {
    let schema = "message facts { required binary address (UTF8); required int64 first_bridge_unix; \
                  optional double bridge_volume_usd; }";
    let written = write(schema, Compression::SNAPPY, 1, |_, rows| {
        column::<ByteArrayType>(rows, &texts(&[address(5).to_string(), address(6).to_string()]), None);
        column::<Int64Type>(rows, &[1_636_903_130, 1_636_903_131], None);
        column::<DoubleType>(rows, &[11895.76], Some(&[1, 0]));
    });
    let facts = |first_bridge, volume_usd| crate::graph::AddressProfile { first_bridge, volume_usd };
    assert_eq!(
        written.records(),
        [
            Ok(ActivityRecord::Facts(address(5), facts(1_636_903_130, 11895.76))),
            Ok(ActivityRecord::Facts(address(6), facts(1_636_903_131, 0.0))),
        ]
    );
}

#[test]
fn a_bad_row_says_why_and_the_next_one_is_read() {
    let schema = "message m { optional binary from (UTF8); required binary to (UTF8); }";
    let written = write(schema, Compression::SNAPPY, 1, |_, rows| {
        column::<ByteArrayType>(
            rows,
            &texts(&["nobody".to_owned(), address(1).to_string()]),
            Some(&[1, 0, 1]),
        );
        column::<ByteArrayType>(rows, &texts(&[1, 2, 3].map(|number| address(number).to_string())), None);
    });
    let found = written.records();
    assert!(found[0].as_ref().unwrap_err().contains("nobody"));
    assert!(found[1].is_err(), "nothing is no address");
    assert!(found[2].is_ok());
}

#[test]
fn columns_that_cannot_be_meant_are_refused_in_words() {
    for (schema, words) in [
        (
            "message m { required binary sender (UTF8); required binary to (UTF8); }",
            "the columns from and to",
        ),
        ("message m { repeated binary from (UTF8); required binary to (UTF8); }", "from holds lists"),
        (
            "message m { required binary from; required binary to; required boolean time; }",
            "time holds booleans",
        ),
        (
            "message m { required group x { required binary from; required binary to; } }",
            "the columns from and to",
        ),
    ] {
        let why = write(schema, Compression::SNAPPY, 0, |_, _| ()).reader().err().unwrap();
        assert!(why.to_string().contains(words), "{why}");
    }
    let none = write(TRANSFERS, Compression::SNAPPY, 0, |_, _| ());
    assert_eq!(none.records(), []);
}

#[test]
fn damage_is_an_error_wherever_it_is() {
    let written = transfers(Compression::SNAPPY, 2, 40);
    let whole = std::fs::read(written.path()).unwrap();
    let readable = |bytes: &[u8]| {
        std::fs::write(written.path(), bytes).unwrap();
        written.reader().is_ok_and(|mut reader| reader.all(|record| record.is_ok()))
    };
    assert!(readable(&whole));
    for length in (4..whole.len()).step_by(whole.len() / 60) {
        assert!(!readable(&whole[..length]), "{length} bytes");
    }
    // A changed byte may go unnoticed, but the result is rows or an error.
    for (round, place) in (4..whole.len()).step_by(whole.len() / 150).enumerate() {
        let mut changed = whole.clone();
        changed[place] ^= [0xff, 0x01, 0x80][round % 3];
        readable(&changed);
    }
}
