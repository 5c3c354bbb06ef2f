//! Settings: flag, environment, `pyxis.toml`, default, in this order of precedence.
//!
//! Every key is in [`keys::all`] with its default and meaning; `docs/reference/configuration.md` is generated from that
//! table.

pub mod audit_destination;
pub mod backups;
mod chats;
pub mod check;
pub mod env;
pub mod keys;
pub mod overview;
mod parse;
mod score_jobs;
pub mod secrets;
mod verification;
pub mod warnings;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::uri::Authority;
use ipnet::IpNet;
use pyxis_core::id::ScorerId;
use pyxis_core::secret::SecretString;
use pyxis_models::scope::Chain;
use pyxis_scoring::JobConfig;
use pyxis_scoring::signed::LONGEST_LIFETIME;
use pyxis_store::DatabaseUrl;
use pyxis_store::approvals::RoomLimits;
use url::Url;

use self::audit_destination::AuditDestination;
use self::backups::Backups;
pub use self::chats::Chats;
use self::env::Env;
pub use self::secrets::read_secret;

/// Settings that came from flags, by key.
pub type Flags = BTreeMap<&'static str, String>;

/// Longest wait of an MCP call, as of every other held request.
const MAX_MCP_WAIT: Duration = Duration::from_mins(1);

/// All settings of the program.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug)]
pub struct Config {
    /// Directory of the database, the key and the audit anchor.
    pub data_dir: PathBuf,
    pub database: DatabaseUrl,
    /// Maximum wait for a database connection, a lock, or the server's machine.
    pub database_timeout: Duration,
    /// Maximum time of one statement on PostgreSQL.
    pub database_statement: Duration,
    /// Master key from the environment or a file; otherwise `data_dir/master.key`.
    pub encryption_key: Option<SecretString>,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Address of the metrics.
    pub metrics_listen: MetricsListen,
    /// Public origin; by default derived from the bound port.
    pub base_url: Option<String>,
    /// Surfaces that are served.
    pub surfaces: Surfaces,
    /// True if scoring answers the paths of its earlier version.
    pub earlier_paths: bool,
    /// Scorers that are open to votes.
    pub vote_scorers: Vec<ScorerId>,
    /// Longest time that a signed score is valid.
    pub score_signature: Duration,
    /// Limits of score jobs.
    pub score_jobs: JobConfig,
    /// Indexers of activity.
    pub indexers: Indexers,
    /// Settings of verification.
    pub verification: verification::Verification,
    /// Approval window.
    pub approval_timeout: Duration,
    /// Longest wait for an upstream's first byte.
    pub forward_timeout: Duration,
    /// Time that an MCP call waits for a decision.
    pub mcp_wait: Duration,
    /// Longest time that `/p/…` holds a request waiting for approval.
    pub entrance_wait: Duration,
    /// Longest silence within a streamed response.
    pub stream_idle: Duration,
    /// Longest time that the server waits for a request's body, unless it is long.
    pub request_body: Duration,
    /// Longest time without a frame on a WebSocket.
    pub websocket_idle: Duration,
    /// Longest time that a WebSocket is open.
    pub websocket_time: Duration,
    /// Most open WebSockets.
    pub websockets_max: usize,
    /// Origins besides the base URL's whose pages may call the MCP server.
    pub mcp_origins: Vec<String>,
    /// Maximum open WebSockets of one agent.
    pub agent_websockets_max: u32,
    /// Largest body of a pending request, in bytes.
    pub pending_body_max: usize,
    /// Most memory for request bodies that are held whole, in bytes.
    pub held_bodies_max: usize,
    /// Largest response kept for polling, in bytes.
    pub response_max: usize,
    /// Longest time for which an approved request's response is read.
    pub response_time: Duration,
    /// Limits on pending requests and kept bytes.
    pub room: RoomLimits,
    /// Networks that the egress guard opens.
    pub egress_allow: Vec<IpNet>,
    /// Single addresses that the egress guard opens; set by quickstart only.
    pub egress_allow_addrs: Vec<SocketAddr>,
    /// True if this start goes on without records that the signed head names; set by `--accept-lost-database` only.
    pub accept_lost_database: bool,
    /// PEM file of additional root certificates.
    pub egress_ca_file: Option<PathBuf>,
    /// Proxies whose `X-Forwarded-For`, or `Forwarded` where there is none, is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Settings of `pyxis proxy`.
    pub proxy: ProxySettings,
    /// Backups that a server makes.
    pub backups: Option<Backups>,
    /// The bots of the chat channels.
    pub chats: Chats,
    /// OTLP base URL of a collector of traces.
    pub otlp_endpoint: Option<String>,
    /// Receiver of audit records.
    pub audit_push: Option<AuditDestination>,
    pub log: String,
    /// True if log lines are JSON.
    pub log_json: bool,
    /// True if every request has a log line.
    pub log_requests: bool,
}

/// Sources of activity that replace the imported one.
#[derive(Clone, Debug, Default)]
pub struct Indexers {
    /// One for each chain.
    pub chains: Vec<Indexer>,
    /// Key for those without their own.
    pub api_key: Option<SecretString>,
    /// Requests per second to each one without its own limit.
    pub per_second: u32,
}

/// Settings of `pyxis proxy`.
#[derive(Clone, Debug)]
pub struct ProxySettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Host and port by which clients reach it.
    pub address: Option<Authority>,
    /// Directory that it shares with clients.
    pub client_dir: Option<PathBuf>,
}

/// The indexer of a chain.
#[derive(Clone, Debug)]
pub struct Indexer {
    pub chain: Chain,
    /// URL of its API.
    pub url: Url,
    /// Its own key. An empty one means no key, even if there is a shared one.
    pub api_key: Option<SecretString>,
    /// Requests per second.
    pub per_second: Option<u32>,
}

/// Address of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsListen {
    /// Off.
    Off,
    /// Explicitly configured.
    At(SocketAddr),
    /// Default: skipped if the address is in use.
    IfFree(SocketAddr),
}

/// The parts of the program that answer requests.
#[expect(clippy::struct_excessive_bools, reason = "each is served or not, whatever the others are")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaces {
    /// Scores, Stamps, the catalogue.
    pub scoring: bool,
    /// Verification checks, the registry of proofs.
    pub verification: bool,
    /// `/forward`, approvals, admin API.
    pub proxy: bool,
    pub dashboard: bool,
}

impl Config {
    /// Reads all sources.
    pub fn load(flags: &Flags, env: &impl Env) -> Result<Self> {
        let file = file_path(flags, env).map(|path| parse::file(&path)).transpose()?.unwrap_or_default();
        Self::from_source(&SettingSources { flags, env, file })
    }

    fn from_source(source: &SettingSources<'_, impl Env>) -> Result<Self> {
        let data_dir = PathBuf::from(source.text("data_dir")?);
        let database = source.database_url()?;
        let database = if database.is_empty() {
            DatabaseUrl::sqlite(data_dir.join("pyxis.db"))
        } else {
            database.parse().with_context(|| "PX_DATABASE_URL / --database".to_owned())?
        };
        let config = Self {
            database,
            database_timeout: Duration::from_secs(source.parsed("database_timeout_secs")?),
            database_statement: Duration::from_secs(source.parsed("database_statement_secs")?),
            encryption_key: source.secret("encryption_key")?,
            listen: source.listen("listen", "PX_LISTEN / --listen")?,
            metrics_listen: parse::metrics_listen(
                &source.text("metrics_listen")?,
                source.written("metrics_listen").is_some(),
            )?,
            base_url: source.optional::<String>("base_url")?.map(|url| url.trim_end_matches('/').to_owned()),
            surfaces: parse::surfaces(&source.text("surfaces")?)?,
            earlier_paths: source.parsed("earlier_paths")?,
            vote_scorers: parse::vote_scorers(&source.text("vote_scorers")?)?,
            score_signature: Duration::from_secs(source.parsed("score_signature_secs")?),
            score_jobs: score_jobs::read(source, &data_dir)?,
            indexers: Indexers {
                chains: parse::indexers(&source.text("indexers")?)?,
                api_key: source.secret("indexer_api_key")?,
                per_second: source.parsed("indexer_per_second")?,
            },
            verification: verification::Verification::read(source)?,
            approval_timeout: Duration::from_secs(source.parsed("approval_timeout_secs")?),
            forward_timeout: Duration::from_secs(source.parsed("forward_timeout_secs")?),
            mcp_wait: Duration::from_secs(source.parsed("mcp_wait_secs")?),
            entrance_wait: Duration::from_secs(source.parsed("entrance_wait_secs")?),
            stream_idle: Duration::from_secs(source.parsed("stream_idle_secs")?),
            request_body: Duration::from_secs(source.parsed("request_body_max_secs")?),
            websocket_idle: Duration::from_secs(source.parsed("websocket_idle_secs")?),
            websocket_time: Duration::from_secs(source.parsed("websocket_max_secs")?),
            websockets_max: source.parsed("websockets_max")?,
            agent_websockets_max: source.parsed("agent_websockets_max")?,
            pending_body_max: source.parsed("pending_body_max_bytes")?,
            held_bodies_max: source.parsed("held_bodies_max_bytes")?,
            response_max: source.parsed("response_max_bytes")?,
            response_time: Duration::from_secs(source.parsed("response_max_secs")?),
            room: RoomLimits {
                workspace_pending: source.parsed("workspace_pending_max")?,
                agent_bytes: source.parsed("agent_kept_max_bytes")?,
                workspace_bytes: source.parsed("workspace_kept_max_bytes")?,
            },
            mcp_origins: parse::origins(&source.text("mcp_origins")?, "PX_MCP_ORIGINS")?,
            egress_allow: parse::list(&source.text("egress_allow")?, "PX_EGRESS_ALLOW")?,
            egress_allow_addrs: Vec::new(),
            accept_lost_database: false,
            egress_ca_file: source.optional("egress_ca_file")?,
            trusted_proxies: parse::list(&source.text("trusted_proxies")?, "PX_TRUSTED_PROXIES")?,
            proxy: ProxySettings {
                listen: source.listen("proxy_listen", "PX_PROXY_LISTEN / --listen")?,
                address: source.optional("proxy_address")?,
                client_dir: source.optional("proxy_client_dir")?,
            },
            backups: Backups::read(source)?,
            chats: Chats::read(source)?,
            otlp_endpoint: source.otlp_endpoint(),
            audit_push: AuditDestination::read(source)?,
            log: source.text("log")?,
            log_json: source.parsed("log_json")?,
            log_requests: source.parsed("log_requests")?,
            data_dir,
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        if let Some(url) = &self.base_url {
            parse::base_url(url)?;
        }
        parse::log_filter(&self.log)?;
        if let Some(endpoint) = &self.otlp_endpoint {
            parse::otlp_endpoint(endpoint)?;
        }
        if self.approval_timeout.is_zero() || self.forward_timeout.is_zero() {
            bail!("PX_APPROVAL_TIMEOUT_SECS and PX_FORWARD_TIMEOUT_SECS must be at least 1");
        }
        if self.websocket_idle.is_zero() || self.websocket_time.is_zero() {
            bail!("PX_WEBSOCKET_IDLE_SECS and PX_WEBSOCKET_MAX_SECS must be at least 1");
        }
        if self.agent_websockets_max == 0 {
            bail!("PX_AGENT_WEBSOCKETS_MAX must be at least 1; PX_WEBSOCKETS_MAX=0 allows no WebSockets");
        }
        if self.held_bodies_max < self.pending_body_max {
            bail!("PX_HELD_BODIES_MAX_BYTES must be at least PX_PENDING_BODY_MAX_BYTES, which is one body");
        }
        if !(1..=60).contains(&self.database_timeout.as_secs()) {
            bail!("PX_DATABASE_TIMEOUT_SECS must be 1 to 60");
        }
        if !(1..=600).contains(&self.database_statement.as_secs()) {
            bail!("PX_DATABASE_STATEMENT_SECS must be 1 to 600");
        }
        if !(1..=86400).contains(&self.request_body.as_secs()) {
            bail!("PX_REQUEST_BODY_MAX_SECS must be 1 to 86400");
        }
        if self.response_time.is_zero() {
            bail!("PX_RESPONSE_MAX_SECS must be at least 1");
        }
        let RoomLimits { workspace_pending, agent_bytes, workspace_bytes } = self.room;
        for (name, value) in [
            ("PX_WORKSPACE_PENDING_MAX", workspace_pending),
            ("PX_AGENT_KEPT_MAX_BYTES", agent_bytes),
            ("PX_WORKSPACE_KEPT_MAX_BYTES", workspace_bytes),
        ] {
            if value < 1 {
                bail!("{name} is {value}, and must be at least 1");
            }
        }
        if self.mcp_wait > MAX_MCP_WAIT {
            bail!("PX_MCP_WAIT_SECS must be at most 60");
        }
        if !(Duration::from_mins(5)..=LONGEST_LIFETIME).contains(&self.score_signature) {
            bail!("PX_SCORE_SIGNATURE_SECS must be from 300 to 604800 (7 days)");
        }
        Ok(())
    }
}

/// The file of settings: the named one, or `pyxis.toml` if it exists.
fn file_path(flags: &Flags, env: &impl Env) -> Option<PathBuf> {
    let named = flags.get("config").cloned().or_else(|| env.var(&keys::env_name("config")));
    let usual = || Some(PathBuf::from("pyxis.toml")).filter(|path| path.exists());
    named.map(PathBuf::from).or_else(usual)
}

struct SettingSources<'a, E> {
    flags: &'a Flags,
    env: &'a E,
    file: BTreeMap<String, String>,
}

impl<E: Env> SettingSources<'_, E> {
    /// The configured value, if there is one.
    fn written(&self, key: &'static str) -> Option<String> {
        let outside = self.flags.get(key).cloned().or_else(|| self.env.var(&keys::env_name(key)));
        outside.or_else(|| self.file.get(key).cloned())
    }

    fn text(&self, key: &'static str) -> Result<String> {
        match self.written(key) {
            Some(text) => Ok(text),
            None => keys::default(key).map(str::to_owned).with_context(|| format!("unknown setting: {key}")),
        }
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&self, key: &'static str) -> Result<T> {
        let text = self.text(key)?;
        text.trim().parse().map_err(|error| {
            parse::unreadable(&keys::env_name(key), &text, keys::default(key).unwrap_or_default(), &error)
        })
    }

    fn listen(&self, key: &'static str, name: &str) -> Result<SocketAddr> {
        parse::listen(&self.text(key)?, name, keys::default(key).unwrap_or_default())
    }

    fn optional<T: std::str::FromStr<Err: std::fmt::Display>>(&self, key: &'static str) -> Result<Option<T>> {
        if self.text(key)?.trim().is_empty() { Ok(None) } else { self.parsed(key).map(Some) }
    }

    /// The URL of the database. It may hold a password, so it can also come from a file, which comes before
    /// `pyxis.toml` as variables do.
    fn database_url(&self) -> Result<String> {
        let key = "database_url";
        let is_set = self.flags.contains_key(key) || self.env.var(&keys::env_name(key)).is_some();
        let from_file = if is_set { None } else { self.secret(key)? };
        from_file.map_or_else(|| self.text(key), |url| Ok(url.expose().clone()))
    }

    /// Our setting, or the variable that every OpenTelemetry exporter knows.
    fn otlp_endpoint(&self) -> Option<String> {
        let own = self.written("otlp_endpoint");
        own.or_else(|| self.env.var("OTEL_EXPORTER_OTLP_ENDPOINT")).filter(|url| !url.trim().is_empty())
    }

    /// A secret, from its variable or from the file that `<VARIABLE>_FILE` names.
    fn secret(&self, key: &'static str) -> Result<Option<SecretString>> {
        if let Some(source) = self.flags.get(key) {
            return secrets::from_source(source, self.env).map(Some);
        }
        let name = keys::env_name(key);
        if let Some(text) = self.env.var(&name) {
            // A value of only a line end counts as an unset variable.
            return Ok(Some(secrets::clean_secret(&name, text)?).filter(|secret| !secret.expose().is_empty()));
        }
        match self.env.var(&format!("{name}_FILE")) {
            Some(path) => read_secret(Path::new(&path)).with_context(|| format!("{name}_FILE")).map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use pyxis_gateway::channels::telegram::TelegramConfig;

    use super::*;

    fn load(vars: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Result<Config> {
        let env: BTreeMap<String, String> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let flags = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Config::load(&flags, &env)
    }

    #[test]
    fn a_flag_beats_the_environment_and_the_environment_beats_the_default() {
        assert_eq!(load(&[], &[]).unwrap().listen.port(), 8700);
        let vars = [("PX_LISTEN", "127.0.0.1:1")];
        assert_eq!(load(&vars, &[]).unwrap().listen.port(), 1);
        assert_eq!(load(&vars, &[("listen", "127.0.0.1:2")]).unwrap().listen.port(), 2);
    }

    #[test]
    fn a_secret_is_read_as_it_was_meant_and_a_bad_one_is_named_without_its_text() {
        let key = |text: &str| load(&[("PX_VERIFY_API_KEY", text)], &[]);
        let read = |text: &str| key(text).unwrap().verification.api_key.map(|key| key.expose().clone());
        assert_eq!(read("\u{feff}key-1\r\n").as_deref(), Some("key-1"));
        assert_eq!(read("\n"), None);
        let error = format!("{:#}", key("can\nary").map(drop).unwrap_err());
        assert!(error.starts_with("PX_VERIFY_API_KEY has the invisible character U+000A"), "{error}");
        assert!(!error.contains("ary"), "{error}");
        let indexers = r#"{"base": {"url": "https://one.example/api", "api_key": "can\tary"}}"#;
        let error = format!("{:#}", load(&[("PX_INDEXERS", indexers)], &[]).map(drop).unwrap_err());
        assert!(error.contains("api_key has the invisible character U+0009"), "{error}");
    }

    #[test]
    fn what_cannot_be_right_refuses_to_start_and_names_the_variable() {
        for (name, value) in [
            ("PX_LISTEN", "everywhere"),
            ("PX_DATABASE_URL", "mysql://x"),
            ("PX_EGRESS_ALLOW", "10.0.0.0/99"),
            ("PX_BASE_URL", "http://example.com"),
            ("PX_APPROVAL_TIMEOUT_SECS", "0"),
            ("PX_MCP_WAIT_SECS", "61"),
            ("PX_MCP_ORIGINS", "*"),
            ("PX_MCP_ORIGINS", "null"),
            ("PX_MCP_ORIGINS", "https://app.example/path"),
            ("PX_MCP_ORIGINS", "https://me@app.example"),
            ("PX_MCP_ORIGINS", "app.example"),
            ("PX_WEBSOCKET_IDLE_SECS", "0"),
            ("PX_WEBSOCKET_MAX_SECS", "0"),
            ("PX_AGENT_WEBSOCKETS_MAX", "0"),
            ("PX_HELD_BODIES_MAX_BYTES", "1000"),
            ("PX_RESPONSE_MAX_SECS", "0"),
            ("PX_WORKSPACE_PENDING_MAX", "0"),
            ("PX_AGENT_KEPT_MAX_BYTES", "-1"),
            ("PX_INDEXERS", "moon=https://indexer.example/api"),
            ("PX_INDEXERS", "base=ftp://indexer.example/api"),
            ("PX_INDEXERS", "{\"base\": {\"url\": \"https://indexer.example/api\", \"speed\": 1}}"),
            ("PX_INDEXERS", "{\"base\": {\"url\": \"https://indexer.example/api\", \"per_second\": 0}}"),
            ("PX_NETWORKS", "{\"gnosis\": {}}"),
            ("PX_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://collector:4317"),
            ("PX_TELEGRAM_API_BASE", "api.telegram.org"),
            ("PX_TELEGRAM_WEBHOOK_SECRET", "short"),
            ("PX_TELEGRAM_POLL_SECS", "0"),
            ("PX_MATRIX_HOMESERVER", "matrix.example.org"),
            ("PX_SLACK_BOT_TOKEN", "xapp-1"),
            ("PX_SLACK_BOT_TOKEN", "xoxb-1"),
            ("PX_SLACK_APP_TOKEN", "xoxb-1"),
            ("PX_SLACK_CHANNEL", "#ops"),
            ("PX_SLACK_API_BASE", "slack.com"),
            ("PX_SMTP_PASSWORD", "very-secret"),
            ("PX_SMTP_FROM", "pyxis"),
            ("PX_EMAIL_TO", "ops"),
            ("PX_BACKUP_S3_URL", "https://storage.example/backups"),
            ("PX_BACKUP_KEEP", "-1"),
            ("PX_PUSH_CONTACT", "ops@example.com"),
            ("PX_PUSH_CONTACT", "mailto:ops@localhost"),
        ] {
            let error = load(&[(name, value)], &[]).map(drop).unwrap_err();
            assert!(format!("{error:#}").contains(name), "{name}: {error:#}");
        }
    }

    #[test]
    fn indexers_are_written_in_a_line_or_with_settings_of_their_own() {
        let of = |text: &str| load(&[("PX_INDEXERS", text)], &[]).unwrap().indexers.chains;
        let plain = of("base=https://one.example/api, polygon=https://two.example/api?chainid=137");
        assert_eq!(plain.len(), 2);
        assert_eq!((plain[1].chain, plain[1].url.query()), (Chain::Polygon, Some("chainid=137")));
        assert!(plain.iter().all(|indexer| indexer.api_key.is_none() && indexer.per_second.is_none()));
        let text = r#"{"base": "https://one.example/api",
            "polygon": {"url": "https://two.example/api", "api_key": "very-secret", "per_second": 2}}"#;
        let settings = of(text);
        assert_eq!((settings[0].chain, settings[0].url.as_str()), (Chain::Base, "https://one.example/api"));
        assert_eq!(settings[1].per_second, Some(2));
        assert_eq!(settings[1].api_key.as_ref().map(|key| key.expose().as_str()), Some("very-secret"));
        assert!(!format!("{settings:?}").contains("very-secret"));
        let wrong = text.replace("per_second", "very-secret-too");
        let error = load(&[("PX_INDEXERS", &wrong)], &[]).map(drop).unwrap_err();
        assert!(!format!("{error:#}").contains("very-secret"), "{error:#}");
    }

    #[test]
    fn the_database_url_may_come_from_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("database_url");
        std::fs::write(&path, "sqlite:file.db\n").unwrap();
        let file = ("PX_DATABASE_URL_FILE", path.to_str().unwrap());
        let read = |vars: &[(&str, &str)], flags: &[(&'static str, &str)]| {
            format!("{:?}", load(vars, flags).unwrap().database)
        };
        assert_eq!(read(&[file], &[]), "sqlite:file.db");
        assert_eq!(read(&[file, ("PX_DATABASE_URL", "sqlite:variable.db")], &[]), "sqlite:variable.db");
        assert_eq!(read(&[file], &[("database_url", "sqlite:flag.db")]), "sqlite:flag.db");
        let error = load(&[("PX_DATABASE_URL_FILE", "/missing")], &[]).map(drop).unwrap_err();
        assert!(format!("{error:#}").contains("PX_DATABASE_URL_FILE"), "{error:#}");
    }

    #[test]
    fn metrics_are_wished_for_defaulted_or_off() {
        let of = |vars: &[(&str, &str)]| load(vars, &[]).map(|config| config.metrics_listen);
        let default: SocketAddr = "127.0.0.1:8701".parse().unwrap();
        assert_eq!(of(&[]).unwrap(), MetricsListen::IfFree(default));
        assert_eq!(of(&[("PX_METRICS_LISTEN", "127.0.0.1:8701")]).unwrap(), MetricsListen::At(default));
        assert_eq!(of(&[("PX_METRICS_LISTEN", "off")]).unwrap(), MetricsListen::Off);
        assert!(of(&[("PX_METRICS_LISTEN", "8701")]).is_err());
    }

    #[test]
    fn a_token_alone_makes_a_telegram_bot_that_polls_for_half_a_minute_at_a_time() {
        let of =
            |vars: &[(&str, &str)]| load(vars, &[]).unwrap().chats.platforms.get::<TelegramConfig>().cloned();
        assert!(of(&[]).is_none());
        let telegram = of(&[("PX_TELEGRAM_BOT_TOKEN", "1:t")]).unwrap();
        assert_eq!(telegram.poll, Duration::from_secs(30));
        assert_eq!(telegram.api_base, "https://api.telegram.org");
        assert!(telegram.webhook_secret.is_none());
    }

    #[test]
    fn scheduled_backups_need_a_directory_keys_and_an_encrypted_way() {
        let storage = |url| {
            let vars = [
                ("PX_BACKUP_DIR", "/backups"),
                ("PX_BACKUP_S3_URL", url),
                ("PX_BACKUP_S3_ACCESS_KEY_ID", "id"),
                ("PX_BACKUP_S3_SECRET_ACCESS_KEY", "very-secret"),
            ];
            load(&vars, &[]).map(|config| config.backups.unwrap())
        };
        let backups = storage("https://storage.example/bucket/pyxis").unwrap();
        assert_eq!((backups.interval, backups.keep), (Duration::from_hours(24), 7));
        assert!(!format!("{backups:?}").contains("very-secret"));
        assert_eq!(backups.storage.unwrap().url, "https://storage.example/bucket/pyxis/");
        for wrong in ["http://storage.example/bucket", "https://storage.example", "storage.example/bucket"] {
            let error = storage(wrong).map(drop).unwrap_err();
            assert!(format!("{error:#}").contains("PX_BACKUP_S3_URL"), "{error:#}");
        }
        let often = load(&[("PX_BACKUP_DIR", "/b"), ("PX_BACKUP_INTERVAL_SECS", "59")], &[]).map(drop);
        assert!(format!("{:#}", often.unwrap_err()).contains("PX_BACKUP_INTERVAL_SECS must be at least 60"));
        assert!(load(&[], &[]).unwrap().backups.is_none());
    }

    #[test]
    fn headers_of_the_audit_push_need_otlp_and_an_encrypted_way() {
        let push = |destination| {
            let headers = ("PX_AUDIT_PUSH_HEADERS", "authorization=very-secret");
            load(&[("PX_AUDIT_PUSH", destination), headers], &[])
        };
        for right in
            ["otlp+https://o.example.org", "otlp+http://localhost:4318", "otlp+http://127.0.0.1:4318"]
        {
            assert!(push(right).is_ok_and(|config| config.audit_push.is_some()), "{right}");
        }
        for (wrong, why) in [
            ("syslog+tls://logs.example.org", "is for OTLP"),
            ("", "is for OTLP"),
            ("otlp+http://o.example.org", "unencrypted"),
        ] {
            let error = format!("{:#}", push(wrong).map(drop).unwrap_err());
            assert!(error.contains(why) && !error.contains("very-secret"), "{error}");
        }
    }

    #[test]
    fn a_key_on_the_command_line_is_refused() {
        let error = load(&[], &[("encryption_key", "00ff")]).map(drop).unwrap_err();
        assert!(format!("{error:#}").contains("env:NAME"));
    }
}
