//! The record, byte for byte.

use super::*;

fn record(settled: &ScoreResult) -> String {
    let computed_at = UnixMillis(day(1).0 + 250);
    ScoreRecord { address: wallet(0xab), threshold: decimal("20"), computed_at, settled, error: None }
        .to_json()
}

#[test]
fn an_address_without_stamps_has_a_full_record() {
    assert_eq!(
        record(&compute_score(1, &[], &[])),
        "{\"address\":\"0xabababababababababababababababababababab\",\"score\":\"0.00000\",\
         \"passing_score\":false,\"last_score_timestamp\":\"1970-01-02T00:00:00.250000+00:00\",\
         \"expiration_timestamp\":null,\"threshold\":\"20.00000\",\"error\":null,\"stamps\":{}}"
    );
}

#[test]
fn members_stand_in_the_documented_order() {
    let stamps = [stamp("D", 9, "d"), stamp("C", 12, "c"), stamp("A", 5, "a")];
    assert_eq!(
        record(&compute_score(1, &stamps, &[claim("a", 2, 7)])),
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
    let text = record(&compute_score(1, &[stamp("q\"b\\#1", 9, "n")], &[]));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["stamps"]["q\"b\\#1"]["dedup"], false);
}

#[test]
fn what_kept_a_score_from_being_whole_stands_in_it_as_text() {
    let settled = compute_score(1, &[], &[]);
    let error = Some("a \"quoted\" \u{e9}\n");
    let record = ScoreRecord {
        address: wallet(1),
        threshold: decimal("20"),
        computed_at: day(1),
        settled: &settled,
        error,
    };
    let json: serde_json::Value = serde_json::from_str(&record.to_json()).unwrap();
    assert_eq!(json["error"].as_str(), error);
}

fn encode_record(record: &ScoreRecord<'_>) -> String {
    stored_to_json(record.address, record.to_stored()).unwrap()
}

#[test]
fn what_is_stored_is_short_and_reads_back_as_the_answer() {
    let settled = compute_score(1, &[stamp("D", 9, "d"), stamp("A", 5, "a")], &[claim("a", 2, 7)]);
    let whole = ScoreRecord {
        address: wallet(0xab),
        threshold: decimal("20"),
        computed_at: day(1),
        settled: &settled,
        error: None,
    };
    assert_eq!(whole.to_stored(), "10000 2000000 86400000 777600000 0 0 604800000 1 A 10000 777600000 0 D");
    assert_eq!(encode_record(&whole), whole.to_json());
    let partly = ScoreRecord { error: Some("a \"quoted\" {1}\n 0 \u{e9}"), ..whole };
    assert_eq!(encode_record(&partly), partly.to_json());
}

#[test]
fn a_record_that_was_stored_as_json_is_answered_as_it_is() {
    let json = record(&compute_score(1, &[stamp("A", 5, "a")], &[]));
    assert_eq!(stored_to_json(wallet(1), json.clone()).unwrap(), json);
}

#[test]
fn a_damaged_record_is_told_and_not_guessed() {
    let whole = "10000 2000000 86400000 - 0 0 604800000 1 A";
    assert!(stored_to_json(wallet(1), whole.to_owned()).is_ok());
    let mut damaged =
        vec![String::new(), format!(" {whole}"), whole.replace("- 0", "- 2"), whole.replace("1 A", "true A")];
    damaged.extend(
        ["10000 2000000", "x 2000000 1 - 0", "1 2 3 4", "1 2 3 - 0 5", "1 2 3 - 0 5 6 0"].map(str::to_owned),
    );
    damaged.push(format!("{whole} "));
    for text in damaged {
        assert_eq!(stored_to_json(wallet(1), text.clone()), Err(DamagedRecord), "{text:?}");
    }
}
