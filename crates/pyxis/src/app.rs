//! Assembles the program from its settings.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_core::entropy::{Entropy, OsEntropy};
use pyxis_core::id::NodeId;
use pyxis_core::secret::SecretBytes;
use pyxis_gateway as gateway;
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_scoring as scoring;
use pyxis_scoring::models::{ActivitySource, Indexer, IndexerChain};
use pyxis_scoring::signed::SignerConfig;
use pyxis_store::audit::{Appender, AuditKeys};
use pyxis_store::cipher::{Keyring, MasterKey};
use pyxis_store::outbox::Outbox;
use pyxis_store::{Engine, OpenOptions, Store};
use pyxis_verify as verify;

use crate::config::{self, Config, read_secret};
use crate::contract_wallets::NetworkWallets;
use crate::signed_head;
use crate::vote_scores::VoteScoreSource;

/// The program's parts, ready for a command or for serving.
pub struct App {
    pub config: Config,
    pub store: Store,
    /// Keys of the audit trail.
    pub audit_keys: AuditKeys,
    pub gateway: gateway::State,
    pub scoring: scoring::State,
    pub verify: verify::State,
}

/// Opens the database and everything that depends on it. `base_url` is known only once the port is.
pub async fn open(config: Config, base_url: String) -> Result<App> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    signed_head::expect_file(&config)?;
    let store = connect_store(&config)?;
    expect_sessions(&store).await?;
    signed_head::expect_records(&config, &store).await?;
    migrate(&store).await?;
    let keyring = keyring(&config, &store, &*entropy, clock.now()).await?;
    let audit_keys = AuditKeys::new(&keyring);
    let audit = Appender::start(store.clone(), audit_keys.clone());
    let node = NodeId::new(clock.now(), &*entropy);
    let token_key = keyring.derive("stamps-page");
    let issuer = base_url.clone();
    let gateway = gateway::State::new(gateway::GatewayDependencies {
        store: store.clone(),
        keyring,
        audit,
        audit_keys: audit_keys.clone(),
        net: client(&config)?,
        clock,
        entropy,
        node,
        config: gateway_config(&config, store.engine(), base_url),
    });
    let votes = Arc::new(VoteScoreSource::new(config.vote_scorers.clone()));
    let verify = verify_state(&config, &gateway, Arc::clone(&votes));
    let signer = SignerConfig { issuer, lifetime: config.score_signature };
    let scoring = scoring_state(&config, &gateway, &verify, signer, token_key);
    votes.bind(scoring.clone());
    Ok(App { config, store, audit_keys, gateway, scoring, verify })
}

/// The settings of the proxy.
fn gateway_config(config: &Config, engine: Engine, base_url: String) -> gateway::Config {
    gateway::Config {
        base_url,
        approval_timeout: config.approval_timeout,
        forward_timeout: config.forward_timeout,
        mcp_wait: config.mcp_wait,
        entrance_wait: config.entrance_wait,
        idle_timeout: config.stream_idle,
        websocket_idle: config.websocket_idle,
        websocket_time: config.websocket_time,
        websockets_max: config.websockets_max,
        agent_websockets_max: config.agent_websockets_max,
        pending_body_max: config.pending_body_max,
        held_bodies_max: config.held_bodies_max,
        response_max: config.response_max,
        response_time: config.response_time,
        room: config.room,
        sole_node: engine == Engine::Sqlite,
        anchor: Some(signed_head::path(config)),
        chats: config.chats.platforms.clone(),
        push_contact: config.chats.push_contact.clone(),
        trusted_proxies: config.trusted_proxies.clone(),
        mcp_origins: config.mcp_origins.clone(),
        ..gateway::Config::default()
    }
}

/// Verification, on the parts of the proxy.
fn verify_state(config: &Config, gateway: &gateway::State, scores: Arc<VoteScoreSource>) -> verify::State {
    verify::State::new(verify::VerificationDependencies {
        store: gateway.store.clone(),
        audit_keys: gateway.audit_keys.clone(),
        managers: Arc::new(gateway.clone()),
        keyring: gateway.keyring.clone(),
        net: gateway.net_private.clone(),
        scores,
        clock: Arc::clone(&gateway.clock),
        entropy: Arc::clone(&gateway.entropy),
        config: config.verify(),
    })
}

/// Scoring, on the parts of the proxy, with the networks of verification.
fn scoring_state(
    config: &Config,
    gateway: &gateway::State,
    verify: &verify::State,
    signer: SignerConfig,
    token_key: SecretBytes,
) -> scoring::State {
    scoring::State::new(scoring::ScoringDependencies {
        store: gateway.store.clone(),
        outbox: Outbox::new(gateway.keyring.clone(), Arc::clone(&gateway.entropy)),
        audit_keys: gateway.audit_keys.clone(),
        keyring: gateway.keyring.clone(),
        signer,
        managers: Arc::new(gateway.clone()),
        clock: Arc::clone(&gateway.clock),
        entropy: Arc::clone(&gateway.entropy),
        token_key,
        activity: indexer(config, &gateway.net, &gateway.store),
        contract_wallets: Some(Arc::new(NetworkWallets(verify.clone()))),
        networks: networks(verify),
        config: scoring::Config {
            earlier_paths: config.earlier_paths,
            jobs: config.score_jobs.clone(),
            vote_scorers: config.vote_scorers.clone(),
            ..scoring::Config::default()
        },
    })
}

/// The networks whose nodes conditions of own Stamps are read from: those of the verification checks.
fn networks(verify: &verify::State) -> scoring::EvmNetworks {
    let network = |(name, chain_id, chain)| scoring::EvmNetwork { name, chain_id, chain };
    verify.chains().map(network).collect()
}

/// The indexers that provide wallets' activity, unless it comes from the database.
fn indexer(config: &Config, net: &Client, store: &Store) -> Option<Arc<dyn ActivitySource>> {
    let settings = &config.indexers;
    let chain = |indexer: &config::Indexer| IndexerChain {
        chain: indexer.chain,
        url: indexer.url.clone(),
        // An empty key means no key: the shared one is not for this indexer.
        api_key: indexer
            .api_key
            .clone()
            .or_else(|| settings.api_key.clone())
            .filter(|key| !key.expose().is_empty()),
        per_second: indexer.per_second.unwrap_or(settings.per_second),
        first_wait: Duration::from_millis(500),
    };
    let chains: Vec<IndexerChain> = settings.chains.iter().map(chain).collect();
    (!chains.is_empty())
        .then(|| Arc::new(Indexer::new(net.clone(), store.clone(), chains)) as Arc<dyn ActivitySource>)
}

/// Refuses a command that needs an installation where there is none. Otherwise it would create one in a directory
/// where no one looks for it.
pub fn check_exists(config: &Config) -> Result<()> {
    let missing = match config.database.sqlite_path() {
        Some(path) => (!path.exists()).then(|| path.to_owned()),
        None => (config.encryption_key.is_none()).then(|| key_path(config)).filter(|path| !path.exists()),
    };
    match missing {
        None => Ok(()),
        Some(path) => bail!(
            "there is no installation here: {} does not exist. Name its directory with --data-dir DIR or \
             PX_DATA_DIR; `pyxis serve` and `pyxis bootstrap` make a new one",
            path.display()
        ),
    }
}

/// Opens and migrates the database.
pub async fn open_store(config: &Config) -> Result<Store> {
    let store = connect_store(config)?;
    migrate(&store).await?;
    Ok(store)
}

/// Brings the schema up to date, unless that would break older nodes that are running. Returns the resulting level.
pub async fn migrate(store: &Store) -> Result<i64> {
    store.migrate_at(SystemClock.now()).await.context("cannot migrate the database schema")
}

/// Refuses a pooler that is not in session mode. Call this before any other statement: those are prepared, and such a
/// pooler may refuse them with an error that does not name the cause.
pub async fn expect_sessions(store: &Store) -> Result<()> {
    store.check_sessions().await.context("cannot use the database")
}

/// Opens the database without migrating it.
pub fn connect_store(config: &Config) -> Result<Store> {
    make_dir(&config.data_dir)?;
    Store::open(&database_options(config)).context("cannot open the database")
}

/// Location and limits of the database.
pub fn database_options(config: &Config) -> OpenOptions {
    OpenOptions {
        patience: config.database_timeout,
        connect: config.database_timeout,
        statement: config.database_statement,
        ..OpenOptions::new(config.database.clone())
    }
}

/// The file of the generated master key.
pub fn key_path(config: &Config) -> PathBuf {
    config.data_dir.join("master.key")
}

/// The master key: the configured one, the one in the data directory, or a new one.
pub fn master_key(config: &Config, entropy: &dyn Entropy) -> Result<MasterKey> {
    if let Some(text) = &config.encryption_key {
        return MasterKey::parse(text.expose()).context("PX_ENCRYPTION_KEY");
    }
    let path = key_path(config);
    if path.exists() {
        let text = read_secret(&path)?;
        return MasterKey::parse(text.expose())
            .with_context(|| format!("{} is damaged; restore it from a backup", path.display()));
    }
    let key = MasterKey::generate(entropy);
    write_key(&path, &key)?;
    Ok(key)
}

/// The file of the next generated master key, until the data keys are wrapped with it.
pub fn next_key_path(config: &Config) -> PathBuf {
    config.data_dir.join("master.key.new")
}

/// Opens the data keys. Also finishes a rotation of the generated key that was interrupted after the data keys had been
/// wrapped with the next one.
pub async fn keyring(
    config: &Config,
    store: &Store,
    entropy: &dyn Entropy,
    now: UnixMillis,
) -> Result<Keyring> {
    let has_key =
        || config.encryption_key.is_some() || key_path(config).exists() || next_key_path(config).exists();
    // A generated key would open nothing, and be taken for the right one later. The database is asked first: a process
    // that starts at the same time writes its key before it uses it.
    if Keyring::exists(store).await? && !has_key() {
        bail!(
            "the database has a master key already, and {} does not exist; set PX_ENCRYPTION_KEY_FILE to the file \
             with this database's key",
            key_path(config).display()
        );
    }
    let master = master_key(config, entropy)?;
    let wrong = match Keyring::load(store, &master, entropy, now).await {
        Ok(keyring) => return Ok(keyring),
        Err(wrong) => wrong,
    };
    if config.encryption_key.is_none()
        && let Ok(text) = read_secret(&next_key_path(config))
        && let Ok(next) = MasterKey::parse(text.expose())
        && let Ok(keyring) = Keyring::load(store, &next, entropy, now).await
    {
        fs::rename(next_key_path(config), key_path(config)).context("cannot replace the master key")?;
        tracing::warn!("finished an interrupted rotation of the master key");
        return Ok(keyring);
    }
    Err(wrong)
        .context("cannot open the data keys; use the master key that this database was last started with")
}

/// Writes a master key that only this user can read. Never replaces an existing one.
pub fn write_key(path: &Path, key: &MasterKey) -> Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(key.to_hex().expose().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    Ok(())
}

/// Creates a data directory that only this user can read, unless it exists.
pub fn make_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create {}", path.display()))
}

/// The HTTP client, with the egress guard of the settings.
pub fn client(config: &Config) -> Result<Client> {
    let guard = Guard::new(config.egress_allow.clone(), config.egress_allow_addrs.clone());
    let mut settings = ClientConfig::new(guard);
    if let Some(path) = &config.egress_ca_file {
        let pem = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        settings.extra_roots = pyxis_net::tls::roots_from_pem(&pem)
            .with_context(|| format!("PX_EGRESS_CA_FILE: {}", path.display()))?;
    }
    Client::new(&settings).context("PX_EGRESS_CA_FILE")
}

/// Locks the data directory for this process: one server per SQLite database.
pub struct DirLock(#[expect(dead_code, reason = "the lock lives as long as the open file")] fs::File);

/// Takes the lock, or fails because another server is running.
pub fn lock_dir(config: &Config) -> Result<DirLock> {
    let path = config.data_dir.join("serve.lock");
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(DirLock(file)),
        Err(fs::TryLockError::WouldBlock) => {
            bail!(
                "another pyxis process is using {}; stop it, or use PostgreSQL to run several",
                config.data_dir.display()
            )
        }
        Err(fs::TryLockError::Error(error)) => Err(error).context("cannot lock the data directory"),
    }
}
