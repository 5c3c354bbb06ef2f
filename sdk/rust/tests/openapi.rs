//! The hand-written types and operations agree with the server's `OpenAPI` document.
//!
//! Every response type reads a full and a minimal example made from its schema. What it writes again is in the full
//! example, so no field has a name or a form that the document does not know.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::collections::BTreeSet;
use std::path::Path;

use pyxis_client::agent::{KeptResponse, PendingApproval, Services, Transaction};
use pyxis_client::contract::{ALL, ModelScoreResponse, SignedRecord};
use pyxis_client::model::catalogue::Platform;
use pyxis_client::model::score::{FailedScore, Score, Scores};
use pyxis_client::model::signed::{ScoreKeys, TokenKeys};
use pyxis_client::model::stamp::{RemovedStamps, StampOutcomes, StampPage};
use pyxis_client::model::verification::{CleanHands, ProofKind, Verification};
use pyxis_client::model::wallet::Model;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const SNAPSHOT: &str =
    "../../crates/pyxis/tests/it/snapshots/it__openapi__the_whole_document_is_as_it_was_looked_at.snap";

struct Document(Value);

impl Document {
    /// The document that the server's own tests hold it to.
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SNAPSHOT);
        let text = std::fs::read_to_string(&path).unwrap();
        Self(serde_json::from_str(text.splitn(3, "---\n").nth(2).unwrap()).unwrap())
    }

    fn resolve<'a>(&'a self, mut schema: &'a Value) -> &'a Value {
        while let Some(reference) = schema["$ref"].as_str() {
            schema = self.0.pointer(reference.trim_start_matches('#')).unwrap();
        }
        schema
    }

    fn operation(&self, method: &str, path: &str) -> &Value {
        let found = &self.0["paths"][path][method.to_ascii_lowercase()];
        assert!(found.is_object(), "{method} {path} does not exist");
        found
    }

    fn parameters(&self, operation: &Value, place: &str, only_required: bool) -> BTreeSet<String> {
        let every = operation["parameters"].as_array().into_iter().flatten().map(|each| self.resolve(each));
        every
            .filter(|each| each["in"] == place && (!only_required || each["required"] == true))
            .map(|each| each["name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn schema(&self, method: &str, path: &str, status: &str) -> &Value {
        let response = self.resolve(&self.operation(method, path)["responses"][status]);
        &response["content"]["application/json"]["schema"]
    }

    /// A value that the schema allows: with every member, or with as few and as many nulls as possible.
    fn example(&self, schema: &Value, full: bool) -> Value {
        let schema = self.resolve(schema);
        let nullable = |each: &Value| each["type"] == "null";
        if let Some(choices) = schema["oneOf"].as_array() {
            if !full && choices.iter().any(nullable) {
                return Value::Null;
            }
            return self.example(choices.iter().find(|each| !nullable(each)).unwrap(), full);
        }
        if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) if !full && kinds.contains(&json!("null")) => return Value::Null,
            Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null").unwrap(),
            kind => kind,
        };
        match kind.as_str().unwrap_or_else(|| panic!("no type: {schema}")) {
            "object" => self.object(schema, full),
            "array" if full || schema["minItems"].is_u64() => {
                let length = schema["minItems"].as_u64().unwrap_or(1);
                (0..length).map(|_| self.example(&schema["items"], full)).collect()
            }
            "array" => json!([]),
            "integer" => schema["minimum"].as_u64().map_or(json!(1_700_000_000), |least| json!(least)),
            "number" => json!(97.13),
            "boolean" => json!(true),
            "string" if schema["format"] == "date-time" => json!("2026-01-31T09:05:00Z"),
            "string" if is_amount(schema) => json!("35.76600"),
            "string" => json!("text"),
            other => panic!("unknown type {other}"),
        }
    }

    fn object(&self, schema: &Value, full: bool) -> Value {
        let required = schema["required"].as_array();
        let mut found = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if full || required.is_some_and(|names| names.contains(&json!(name))) {
                found.insert(name.clone(), self.example(member, full));
            }
        }
        if full && schema["additionalProperties"].is_object() {
            found.insert("nft".to_owned(), self.example(&schema["additionalProperties"], full));
        }
        found.into()
    }

    fn agrees<T: DeserializeOwned + Serialize>(&self, schema: &Value) {
        let name = std::any::type_name::<T>();
        let minimal = self.example(schema, false).to_string();
        serde_json::from_str::<T>(&minimal).unwrap_or_else(|error| panic!("{name}: {error} in {minimal}"));
        let full = self.example(schema, true);
        let read: T =
            serde_json::from_str(&full.to_string()).unwrap_or_else(|error| panic!("{name}: {error}: {full}"));
        let written = serde_json::to_string(&read).unwrap();
        assert_contains(&full, &serde_json::from_str(&written).unwrap(), name);
    }
}

/// True for decimal numbers as text, of which not all have a pattern.
fn is_amount(schema: &Value) -> bool {
    let words = schema["description"].as_str().unwrap_or_default();
    schema["pattern"].as_str().is_some_and(|pattern| pattern.contains("[0-9]{5}"))
        || words.contains("five decimals")
        || words.starts_with("Amount")
}

/// Every member that was written stands in the example, with the same value.
fn assert_contains(full: &Value, written: &Value, place: &str) {
    match written {
        Value::Object(members) => {
            for (name, value) in members {
                assert!(!full[name].is_null(), "{place} has no member {name}");
                assert_contains(&full[name], value, &format!("{place}.{name}"));
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                assert_contains(&full[index], value, &format!("{place}[{index}]"));
            }
        }
        plain => assert_eq!(plain, full, "{place}"),
    }
}

#[test]
fn every_operation_and_its_parameters_exist() {
    let document = Document::read();
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    for endpoint in ALL {
        let operation = document.operation(endpoint.method, endpoint.path);
        let in_path = endpoint.path.split(['{', '}']).skip(1).step_by(2).map(str::to_owned).collect();
        assert_eq!(document.parameters(operation, "path", false), in_path, "{endpoint:?}");
        for (place, names) in [("query", endpoint.query), ("header", endpoint.headers)] {
            let used = set(names);
            assert!(used.is_subset(&document.parameters(operation, place, false)), "{endpoint:?}");
            assert!(used.is_superset(&document.parameters(operation, place, true)), "{endpoint:?}");
        }
    }
}

#[test]
fn every_response_is_read_with_the_types_of_the_document() {
    let document = Document::read();
    let ok = |path| document.schema("GET", path, "200");
    document.agrees::<Score>(ok("/v2/stamps/{scorer_id}/score/{address}"));
    document.agrees::<SignedRecord>(ok("/v2/stamps/{scorer_id}/score/{address}"));
    document.agrees::<SignedRecord>(document.schema("POST", "/v2/stamps/{scorer_id}/score/{address}", "200"));
    document.agrees::<ScoreKeys>(ok("/.well-known/pyxis-score-keys"));
    document.agrees::<TokenKeys>(ok("/.well-known/jwks.json"));
    document.agrees::<Scores>(ok("/v2/stamps/{scorer_id}/score/{address}/history"));
    document.agrees::<Scores>(document.schema("POST", "/v2/stamps/{scorer_id}/scores", "200"));
    document.agrees::<FailedScore>(&json!({ "$ref": "#/components/schemas/FailedScore" }));
    document.agrees::<StampPage>(ok("/v2/stamps/{address}"));
    document.agrees::<StampOutcomes>(document.schema("POST", "/v2/stamps/{address}", "200"));
    document.agrees::<RemovedStamps>(document.schema("DELETE", "/v2/stamps/{address}", "200"));
    document.agrees::<Vec<Platform>>(ok("/v2/stamps/metadata"));
    document.agrees::<ModelScoreResponse>(ok("/v2/models/score/{address}"));
    document.agrees::<Verification>(ok("/sybil-resistance/{credential_type}/{network}"));
    document.agrees::<Verification>(ok("/residence/country/{country}/{network}"));
    document.agrees::<CleanHands>(ok("/attestation/clean-hands/{address}"));
    document.agrees::<Services>(ok("/agent/services"));
    document.agrees::<Transaction>(ok("/agent/approvals/{txn_id}"));
    document.agrees::<PendingApproval>(document.schema("POST", "/forward", "202"));
    document.agrees::<KeptResponse>(&json!({"$ref": "#/components/schemas/KeptResponse"}));
    assert!(document.operation("DELETE", "/agent/approvals/{txn_id}")["responses"]["204"].is_object());
}

#[test]
fn choices_are_those_of_the_document() {
    let document = Document::read();
    let choices = |path, name: &str| {
        let operation = document.operation("GET", path);
        let parameters = operation["parameters"].as_array().unwrap();
        let found =
            parameters.iter().map(|each| document.resolve(each)).find(|each| each["name"] == name).unwrap();
        document.resolve(&found["schema"])["enum"].clone()
    };
    assert_eq!(choices("/v2/models/score/{address}", "model"), json!(Model::ALL.map(Model::name)));
    let kinds = choices("/sybil-resistance/{credential_type}/{network}", "credential_type");
    assert_eq!(kinds, json!(ProofKind::ALL.map(ProofKind::name)));
    let body = &document.operation("POST", "/v2/stamps/{scorer_id}/scores")["requestBody"];
    let body = document.resolve(&document.resolve(body)["content"]["application/json"]["schema"]);
    assert_eq!(body["required"], json!(["addresses"]));
    assert_eq!(body["properties"]["addresses"]["maxItems"], json!(pyxis_client::Client::BATCH));
}

#[test]
#[should_panic(expected = "place has no member scores")]
fn a_difference_is_found() {
    assert_contains(&json!({"score": 1}), &json!({"scores": 1}), "place");
}
