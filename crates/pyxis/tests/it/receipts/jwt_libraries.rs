//! Receipts in the hands of people without Pyxis: JWT libraries of other languages verify them with the published keys.

use std::process::{Command, Output};

use serde_json::Value;

use crate::documents::root;
use crate::support::languages::{node, python};
use crate::support::{App, Site};

/// Prints the claims of a receipt once `PyJWT` has verified it.
const PYJWT: &str = r#"
import json, sys, jwt
receipt, keys = (open(path).read() for path in sys.argv[1:])
header = jwt.get_unverified_header(receipt)
assert header["typ"] == "pyxis-receipt+jwt", header
print(json.dumps(jwt.decode(receipt, jwt.PyJWKSet.from_json(keys)[header["kid"]], algorithms=["EdDSA"])))"#;

/// The same with `jose`, and names of keys as their thumbprints.
const JOSE: &str = r#"
import { readFileSync } from "node:fs";
import { calculateJwkThumbprint, createLocalJWKSet, jwtVerify } from "jose";
const [receipt, keys] = process.argv.slice(1).map((path) => readFileSync(path, "utf8"));
const set = JSON.parse(keys);
for (const key of set.keys) {
  if (await calculateJwkThumbprint(key) !== key.kid) throw new Error(`wrong name: ${key.kid}`);
}
const options = { typ: "pyxis-receipt+jwt", algorithms: ["EdDSA"] };
console.log(JSON.stringify((await jwtVerify(receipt, createLocalJWKSet(set), options)).payload));"#;

/// A receipt and the published keys, as an auditor gets them.
struct Evidence {
    directory: tempfile::TempDir,
    receipt: String,
}

impl Evidence {
    /// Evidence of a request that was approved and sent, signed with a key that is no longer the newest.
    async fn collect_from(site: &Site) -> Self {
        let txn = site.pause("/pay").await;
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let path = format!("/agent/approvals/{txn}/receipt");
        let receipt = site.agent.client.get(&path).send().await.expect(200).text();
        site.app.cli(&["receipt-key", "rotate"]).await.expect(0);
        let evidence = Self { directory: tempfile::tempdir().unwrap(), receipt };
        evidence.write("receipt.jwt", &evidence.receipt);
        evidence.write("keys.json", &published_keys(&site.app).await);
        evidence
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.directory.path().join(name), content).unwrap();
    }

    /// Runs a command with both files as its last arguments.
    fn verify(&self, command: &mut Command) -> Output {
        let files = ["receipt.jwt", "keys.json"].map(|name| self.directory.path().join(name));
        command.args(files).output().unwrap()
    }

    /// Panics unless a library reads the same claims as Pyxis, and refuses others under the same signature.
    fn assert_verified_by(&self, library: &dyn Fn() -> Command, refusal: &str) {
        let mut own = Command::new(env!("CARGO_BIN_EXE_pyxis"));
        let [receipt, keys] = ["receipt.jwt", "keys.json"].map(|name| self.directory.path().join(name));
        own.args(["audit", "verify-receipt", "--json"]).arg(receipt).arg("--keys").arg(keys);
        let own: Value = serde_json::from_slice(&own.output().unwrap().stdout).unwrap();
        let verified = self.verify(&mut library());
        let claims: Option<Value> = serde_json::from_slice(&verified.stdout).ok();
        assert_eq!(claims.as_ref(), Some(&own["receipt"]), "{verified:?}");

        let [header, claims, signature] = self.receipt.split('.').collect::<Vec<_>>().try_into().unwrap();
        self.write("receipt.jwt", &format!("{header}.{}.{signature}", claims.replacen('A', "B", 1)));
        let refused = self.verify(&mut library());
        let reason = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && reason.contains(refusal), "{refused:?}");
    }
}

async fn published_keys(app: &App) -> String {
    app.anonymous().get("/.well-known/pyxis-receipt-keys").send().await.expect(200).text()
}

#[tokio::test]
async fn pyjwt_verifies_a_receipt_with_the_published_keys() {
    let evidence = Evidence::collect_from(&Site::new().await).await;
    let library = || {
        let mut command = Command::new(python());
        command.args(["-c", PYJWT]);
        command
    };
    evidence.assert_verified_by(&library, "Signature verification failed");
}

#[tokio::test]
async fn jose_verifies_a_receipt_with_the_published_keys() {
    let evidence = Evidence::collect_from(&Site::new().await).await;
    let library = || {
        let mut command = Command::new(node());
        // Its libraries are there.
        command.current_dir(root().join("ci/conformance"));
        command.args(["--input-type=module", "-e", JOSE]);
        command
    };
    evidence.assert_verified_by(&library, "signature verification failed");
}
