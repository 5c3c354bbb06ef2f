//! The record, byte for byte.

use super::*;

fn record(settled: &Settled) -> String {
    let computed_at = UnixMillis(day(1).0 + 250);
    Record { address: wallet(0xab), threshold: decimal("20"), computed_at, settled, error: None }.to_json()
}

#[test]
fn an_address_without_stamps_has_a_full_record() {
    assert_eq!(
        record(&settled(1, &[], &[])),
        "{\"address\":\"0xabababababababababababababababababababab\",\"score\":\"0.00000\",\
         \"passing_score\":false,\"last_score_timestamp\":\"1970-01-02T00:00:00.250000+00:00\",\
         \"expiration_timestamp\":null,\"threshold\":\"20.00000\",\"error\":null,\"stamps\":{}}"
    );
}

#[test]
fn members_stand_in_the_order_of_the_specification() {
    let stamps = [stamp("D", 9, "d"), stamp("C", 12, "c"), stamp("A", 5, "a")];
    assert_eq!(
        record(&settled(1, &stamps, &[claim("a", 2, 7)])),
        "{\"address\":\"0xabababababababababababababababababababab\",\"score\":\"20.00000\",\
         \"passing_score\":true,\"last_score_timestamp\":\"1970-01-02T00:00:00.250000+00:00\",\
         \"expiration_timestamp\":\"1970-01-10T00:00:00.000000+00:00\",\"threshold\":\"20.00000\",\
         \"error\":null,\"stamps\":{\
         \"A\":{\"score\":\"0.00000\",\"dedup\":true,\"expiration_date\":\"1970-01-08T00:00:00.000000+00:00\"},\
         \"C\":{\"score\":\"19.90000\",\"dedup\":false,\"expiration_date\":\"1970-01-13T00:00:00.000000+00:00\"},\
         \"D\":{\"score\":\"0.10000\",\"dedup\":false,\"expiration_date\":\"1970-01-10T00:00:00.000000+00:00\"}}}"
    );
}

#[test]
fn a_name_that_json_must_escape_reads_back() {
    let text = record(&settled(1, &[stamp("q\"b\\#1", 9, "n")], &[]));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["stamps"]["q\"b\\#1"]["dedup"], false);
}

#[test]
fn what_kept_a_score_from_being_whole_stands_in_it_as_text() {
    let settled = settled(1, &[], &[]);
    let error = Some("a \"quoted\" \u{e9}\n");
    let record = Record {
        address: wallet(1),
        threshold: decimal("20"),
        computed_at: day(1),
        settled: &settled,
        error,
    };
    let json: serde_json::Value = serde_json::from_str(&record.to_json()).unwrap();
    assert_eq!(json["error"].as_str(), error);
}
