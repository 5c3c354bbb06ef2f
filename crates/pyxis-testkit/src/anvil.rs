//! A real EVM node, and contracts compiled for it. `PX_TEST_ANVIL` and `PX_TEST_SOLC` name the programs; `ci/chain.sh`
//! installs them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The node's first account, unlocked for anyone.
const SENDER: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/// A node with its own chain. Stops when dropped.
pub struct Anvil {
    process: Child,
    address: SocketAddr,
}

impl Anvil {
    /// Starts a node that mines a block for every transaction. Panics without `PX_TEST_ANVIL`: tests that need a node
    /// are in modules that `ci/test.sh` can leave out.
    #[expect(clippy::disallowed_methods, reason = "a test finds its node this way")]
    pub fn start(chain_id: u64) -> Self {
        let program = std::env::var("PX_TEST_ANVIL")
            .expect("PX_TEST_ANVIL names no node: put ci/chain.sh before the command that runs the tests");
        let chain = chain_id.to_string();
        let mut process = Command::new(program)
            .args(["--port", "0", "--chain-id", &chain, "--host", "127.0.0.1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("anvil starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let address = lines.by_ref().find_map(|line| {
            let line = line.expect("text");
            line.strip_prefix("Listening on ").map(|address| address.trim().parse().expect("an address"))
        });
        // Drain the rest of the output, so that the pipe does not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: address.expect("anvil listens") }
    }

    /// JSON-RPC URL of the node.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Kills the node.
    pub fn kill(&mut self) {
        // The process may already have exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Stops the process. It still accepts connections and requests but does not react.
    pub fn pause(&self) {
        crate::signal::send("STOP", &self.process);
    }

    /// Bytes sent to the node that it has not read (Linux only).
    pub fn unread(&self) -> usize {
        let own = format!(":{:04X}", self.address.port());
        let table = std::fs::read_to_string("/proc/net/tcp").expect("the sockets of this machine");
        let of = |line: &str| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let here = fields.next()?.ends_with(&own);
            let (_, unread) = fields.nth(2)?.split_once(':')?;
            here.then(|| usize::from_str_radix(unread, 16).ok())?
        };
        table.lines().filter_map(of).sum()
    }

    /// Calls a method and returns its result.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let answer = self.post(body).await;
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    #[expect(clippy::disallowed_methods, reason = "a test dials its own node")]
    async fn post(&self, body: String) -> Value {
        let stream = tokio::net::TcpStream::connect(self.address).await.expect("the node listens");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("http");
        tokio::spawn(connection);
        let request = http::Request::post("/")
            .header("host", self.address.to_string())
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        let answer = answer.into_body().collect().await.expect("a body").to_bytes();
        serde_json::from_slice(&answer).expect("JSON")
    }

    /// Number of the newest block.
    pub async fn height(&self) -> u64 {
        let number = self.rpc("eth_blockNumber", json!([])).await;
        u64::from_str_radix(&number.as_str().expect("a number")[2..], 16).expect("hexadecimal")
    }

    /// Timestamp of the newest block.
    pub async fn timestamp(&self) -> u64 {
        let block = self.rpc("eth_getBlockByNumber", json!(["latest", false])).await;
        u64::from_str_radix(&block["timestamp"].as_str().expect("a number")[2..], 16).expect("hexadecimal")
    }

    /// Deploys a contract and returns its address.
    pub async fn deploy(&self, code: &[u8]) -> EvmAddress {
        let receipt =
            self.transact(json!({"from": SENDER, "data": format!("0x{}", hex::encode(code))})).await;
        receipt["contractAddress"].as_str().expect("an address").parse().expect("an address")
    }

    /// Calls a contract in a transaction in a separate block. Returns the block number.
    pub async fn send(&self, to: EvmAddress, data: &[u8]) -> u64 {
        let call = json!({"from": SENDER, "to": to.to_string(), "data": format!("0x{}", hex::encode(data))});
        let receipt = self.transact(call).await;
        let number = receipt["blockNumber"].as_str().expect("a number");
        u64::from_str_radix(&number[2..], 16).expect("hexadecimal")
    }

    async fn transact(&self, transaction: Value) -> Value {
        let hash = self.rpc("eth_sendTransaction", json!([transaction])).await;
        // It is mined immediately, but not before the response.
        loop {
            let receipt = self.rpc("eth_getTransactionReceipt", json!([hash])).await;
            if !receipt.is_null() {
                assert_eq!(receipt["status"], "0x1", "{receipt}");
                return receipt;
            }
        }
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Compiles a Solidity file. Returns the code of each contract by name. Results are cached in `kept` by the hash of the
/// source, since the compiler needs seconds.
///
/// # Panics
/// Without `PX_TEST_SOLC`, which is set wherever `PX_TEST_ANVIL` is.
#[expect(clippy::disallowed_methods, reason = "a test finds its compiler this way")]
pub fn compile(source: &Path, kept: &Path) -> BTreeMap<String, Vec<u8>> {
    let compiler = std::env::var("PX_TEST_SOLC").expect("PX_TEST_SOLC is set where PX_TEST_ANVIL is");
    let directory = source.parent().expect("a file in a folder");
    let name = source.file_name().expect("a file");
    let hash = Sha256::digest(std::fs::read(source).expect("a source"));
    let output = kept.join(format!("solidity-{}", hex::encode(&hash[..8])));
    if output.exists() {
        return contracts(&output);
    }
    // Renamed only once complete, because tests run in parallel.
    let making = kept.join(format!("solidity-{}", std::process::id()));
    let done = Command::new(compiler)
        .current_dir(directory)
        .args(["--optimize", "--bin", "-o"])
        .arg(&making)
        .arg(name)
        .output()
        .expect("the compiler runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Another test may have been faster.
    let _ = std::fs::rename(&making, &output);
    contracts(&output)
}

fn contracts(output: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(output).expect("its output");
    let contract = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a file").path();
        let stem = path.file_stem()?.to_str()?.rsplit_once("_sol_")?.1.to_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        Some((stem, hex::decode(text.trim()).expect("hexadecimal")))
    };
    files.filter_map(contract).collect()
}
