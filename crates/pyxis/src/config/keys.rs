//! The table of settings.

use std::fmt::Write;

use pyxis_gateway::channels::PLATFORMS;
use pyxis_gateway::channels::settings::SettingKey;

const fn key(name: &'static str, default: &'static str, meaning: &'static str) -> SettingKey {
    SettingKey::new(name, default, meaning)
}

/// Every setting that a file, a variable or a flag can set.
pub fn all() -> impl Iterator<Item = &'static SettingKey> {
    let chats = PLATFORMS.iter().flat_map(|described| described.settings);
    KEYS.iter().chain(chats).chain(REST)
}

/// Settings before those of the chat platforms.
const KEYS: &[SettingKey] = &[
    key(
        "data_dir",
        "./pyxis-data",
        "Directory of the SQLite database, the generated master key and the signed audit head.",
    ),
    key(
        "database_url",
        "",
        "`sqlite:PATH` or `postgres://…`; or name a file with `PX_DATABASE_URL_FILE`. Empty: `pyxis.db` in the data directory.",
    ),
    key(
        "database_timeout_secs",
        "5",
        "Seconds that an operation waits for a database connection, for a lock, and for PostgreSQL's machine to respond (1 to 60).",
    ),
    key(
        "database_statement_secs",
        "10",
        "Seconds that one statement of the server may take on PostgreSQL (1 to 600). Commands, migrations and deletions of old data have an hour.",
    ),
    key(
        "encryption_key",
        "",
        "Master key, 32 bytes as hex or base64; or name a file with `PX_ENCRYPTION_KEY_FILE`. Empty: `master.key` in the data directory, generated with mode 0600.",
    ),
    key("listen", "127.0.0.1:8700", "Address and port to serve on; port 0 picks a free one."),
    key(
        "metrics_listen",
        "127.0.0.1:8701",
        "Address and port for Prometheus metrics; port 0 picks a free one, `off` disables them. If the default port is in use, there are no metrics; a port that was set must be free.",
    ),
    key(
        "base_url",
        "",
        "Public origin, for example `https://pyxis.example.com`. Empty: `http://localhost:<port>`. Plain http only on loopback names.",
    ),
    key(
        "surfaces",
        "scoring,verification,proxy,dashboard",
        "Surfaces that this process serves: `scoring`, `verification`, `proxy`, `dashboard`.",
    ),
    key("earlier_paths", "true", "True to also serve the paths of the earlier Stamps API (`/registry/…`)."),
    key(
        "vote_scorers",
        "",
        "Numbers of the scorers whose scores voting tools may read without a key, separated by commas. Everyone can then read the score of any address in them.",
    ),
    key(
        "score_signature_secs",
        "3600",
        "Longest time that a signed score is valid, in seconds: 300 to 604800. It never outlives the score.",
    ),
    key(
        "score_job_upload_max_bytes",
        "268435456",
        "Largest upload of a [score job](behavior/score-jobs.md), in bytes.",
    ),
    key("score_job_rows_max", "5000000", "Maximum rows of a score job: 1 to 100000000."),
    key("score_jobs_max", "100", "Maximum score jobs that a workspace keeps, with their results."),
    key("score_job_days", "30", "Days for which an ended score job is kept: 1 to 3650."),
    key(
        "score_jobs_at_once",
        "1",
        "Score jobs that this server runs at once: 0 to 16. With 0, other servers must run them.",
    ),
    key(
        "indexers",
        "",
        "Indexers with the Etherscan-compatible API for model scores: `chain=URL` separated by spaces, for example `ethereum=https://eth.blockscout.com/api`. With settings for each: a JSON object, or `[indexers.CHAIN]` tables of the file with `url`, `api_key` or `api_key_file`, and `per_second`. Empty: activity comes from `pyxis activity import`.",
    ),
    key(
        "indexer_api_key",
        "",
        "API key for indexers without their own key (an empty one means none); or name a file with `PX_INDEXER_API_KEY_FILE`.",
    ),
    key("indexer_per_second", "5", "Maximum requests per second to each indexer without its own setting."),
    key(
        "networks",
        "",
        "Networks of the verification checks, as a JSON object from names to settings, or as `[networks.NAME]` tables of the file; see [verification](verification.md). `optimism`, `base-sepolia`, `optimism-goerli`, `ethereum`, `base` and `sui` are preset.",
    ),
    key("max_addresses", "1000", "Maximum number of addresses in one request of a voting strategy."),
    key(
        "attestation_scan_url",
        "",
        "Base URL of the external attestation index, for `/attestation/clean-hands/…`. It may be this installation's own.",
    ),
    key(
        "authorized_attester",
        "",
        "Address of the only attester whose clean-hands attestations count; `/api/scan/…` also names it.",
    ),
    key("clean_hands_schema", "onchain_evm_10_0x8", "Schema of clean-hands attestations."),
    key(
        "attestation_lifetime_secs",
        "3600",
        "Seconds for which a signed attestation is valid, unless the proof expires earlier.",
    ),
    key(
        "attestation_cache_secs",
        "5",
        "Seconds for which an attestation from the index is cached, never longer than it is valid.",
    ),
    key(
        "verify_api_key",
        "",
        "Key that the verification checks require in `X-API-KEY`; or name a file with `PX_VERIFY_API_KEY_FILE`. Empty: none.",
    ),
    key(
        "verify_rate_limit",
        "0",
        "Verification requests per minute from one IPv4 address or one IPv6 network of 64 bits; 0 for no limit.",
    ),
    key(
        "approval_timeout_secs",
        "3600",
        "Seconds that an approval request waits for a decision, unless the workspace or the policy sets another time.",
    ),
    key(
        "mcp_wait_secs",
        "45",
        "Seconds that an MCP call waits for a person's decision (0 to 60). Clients give up after a minute or less.",
    ),
    key(
        "mcp_origins",
        "",
        "Origins (comma-separated) whose pages may call `/mcp`, in addition to that of the base URL. Use `http://localhost:6274`, for example, for a client that runs in a browser. Empty: none.",
    ),
    key("forward_timeout_secs", "30", "Seconds to wait for the first byte of an upstream's response."),
    key(
        "entrance_wait_secs",
        "60",
        "Seconds that a request to `/p/…` is held for a decision before it is answered 202.",
    ),
    key("stream_idle_secs", "300", "Maximum seconds of silence within a streamed response."),
    key(
        "request_body_max_secs",
        "300",
        "Seconds for which the server waits for the body of one request (1 to 86400), plus one for each KiB that arrives. A slower body is 408; see [limits on requests](forwarding.md#limits-on-requests).",
    ),
    key(
        "websocket_idle_secs",
        "300",
        "Maximum seconds without a frame on a WebSocket, in either direction; then it is closed with 1001.",
    ),
    key(
        "websocket_max_secs",
        "86400",
        "Maximum seconds that a WebSocket is open; then it is closed with 1001.",
    ),
    key("websockets_max", "1000", "Maximum number of open WebSockets on this server; 0 for no WebSockets."),
    key(
        "agent_websockets_max",
        "100",
        "Maximum number of open WebSockets of one agent on this server; one more is 429 `quota_exceeded`.",
    ),
    key(
        "pending_body_max_bytes",
        "10485760",
        "Maximum size of the body of a request that waits for approval, in bytes.",
    ),
    key(
        "held_bodies_max_bytes",
        "268435456",
        "Maximum memory for request bodies that are read whole before they are sent, in bytes; one more is 503 `busy`.",
    ),
    key("response_max_bytes", "10485760", "Maximum size of a response that is stored for polling, in bytes."),
    key(
        "response_max_secs",
        "600",
        "Seconds for which the response to an approved request is read; what has arrived by then is stored as truncated. At least 1.",
    ),
    key(
        "workspace_pending_max",
        "1000",
        "Maximum requests of a workspace that may wait for approval, at least 1; more are 429 `quota_exceeded`.",
    ),
    key(
        "agent_kept_max_bytes",
        "1073741824",
        "Maximum bytes of requests and responses that are kept for an agent until a day after the decision, at least 1. A request beyond that is 429 `quota_exceeded`.",
    ),
    key("workspace_kept_max_bytes", "4294967296", "The same for all agents of a workspace, at least 1."),
    key(
        "egress_allow",
        "",
        "Networks (CIDR, comma-separated) that the egress guard allows, for targets in your own network.",
    ),
    key("egress_ca_file", "", "PEM file of additional certificate roots for outbound connections."),
    key(
        "trusted_proxies",
        "",
        "Networks (CIDR) and addresses of reverse proxies whose `X-Forwarded-For`, or `Forwarded` if that is \
         missing, is trusted.",
    ),
];

/// Settings after those of the chat platforms.
const REST: &[SettingKey] = &[
    key("backup_dir", "", "Existing directory for scheduled backups of a SQLite database. Empty: none."),
    key("backup_interval_secs", "86400", "Seconds between two scheduled backups, at least 60."),
    key(
        "backup_keep",
        "7",
        "Number of scheduled backups that stay in the directory, at least 1; older ones are removed.",
    ),
    key(
        "backup_s3_url",
        "",
        "URL of a bucket in S3-compatible storage, and a prefix, that also receives every scheduled backup: `https://HOST/BUCKET/PREFIX`. Nothing is removed there. Empty: none.",
    ),
    key("backup_s3_region", "us-east-1", "Region of the bucket."),
    key("backup_s3_access_key_id", "", "Access key id for the bucket; permission to put objects is enough."),
    key(
        "backup_s3_secret_access_key",
        "",
        "Secret access key for the bucket; or name a file with `PX_BACKUP_S3_SECRET_ACCESS_KEY_FILE`.",
    ),
    key(
        "backup_s3_part_bytes",
        "67108864",
        "Size of the parts of an upload, in bytes: 5 MiB to 5 GiB. A smaller backup is uploaded in one request, a larger one in parts.",
    ),
    key(
        "chat_digest_after",
        "5",
        "Messages that a room, person or browser gets one by one within a minute (0 to 1000). The others are announced together. 0: always one by one.",
    ),
    key(
        "push_contact",
        "",
        "Contact for push services about this server's browser notifications: `mailto:` and an address, or an https URL. Empty: `PX_BASE_URL`.",
    ),
    key(
        "otlp_endpoint",
        "",
        "Base URL of an OpenTelemetry collector (OTLP over HTTP) for traces; `OTEL_EXPORTER_OTLP_ENDPOINT` works too. Empty: no traces.",
    ),
    key("proxy_listen", "127.0.0.1:8702", "Address and port of `pyxis proxy`; port 0 picks a free one."),
    key(
        "proxy_address",
        "",
        "Host and port by which clients reach `pyxis proxy`. Empty: the address it listens on.",
    ),
    key(
        "proxy_client_dir",
        "",
        "Directory, shared with clients, that `pyxis proxy` writes `env.sh` and certificates to.",
    ),
    key(
        "audit_push",
        "",
        "Where audit records are pushed: `syslog+tls://HOST[:6514]`, `otlp+https://HOST[:PORT]` or `otlp+http://…`; see [audit push](logging.md#audit-push). Empty: nowhere.",
    ),
    key(
        "audit_push_headers",
        "",
        "Secret headers of audit push over OTLP, in the form of `OTEL_EXPORTER_OTLP_HEADERS`: `NAME=VALUE,NAME=VALUE`, values percent-encoded; or name a file with `PX_AUDIT_PUSH_HEADERS_FILE`.",
    ),
    key("log", "info", "Log filter, for example `info,pyxis_gateway=debug`."),
    key("log_json", "false", "Log lines as JSON."),
    key(
        "log_requests",
        "false",
        "A log line for each request: method, route, status, milliseconds, transaction.",
    ),
];

/// The variable of a setting.
pub fn env_name(name: &str) -> String {
    SettingKey::variable(name)
}

/// The default of a setting.
pub fn default(name: &str) -> Option<&'static str> {
    all().find(|key| key.name == name).map(|key| key.default)
}

/// `docs/reference/configuration.md`.
pub fn document() -> String {
    let mut text = String::from(
        "# Configuration\n\nPrecedence: command-line flag, environment variable, `pyxis.toml` (or `--config FILE`), default.\n\
         Pyxis does not start with an unknown key in the file or with an invalid value.\n\n\
         | key in `pyxis.toml` | variable | default | meaning |\n| --- | --- | --- | --- |\n",
    );
    for key in all() {
        let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
        let _ = writeln!(text, "| `{}` | `{}` | {default} | {} |", key.name, env_name(key.name), key.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the page is written again only when someone asks for it")]
    fn the_document_in_the_repository_is_made_from_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/configuration.md");
        if std::env::var_os("PX_UPDATE_DOCS").is_some() {
            std::fs::write(path, document()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(committed, document(), "set PX_UPDATE_DOCS=1 to write docs/reference/configuration.md");
    }
}
