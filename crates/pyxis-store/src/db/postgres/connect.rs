//! Opening connections, all in one place.
//!
//! Every host of the URL is asked at once, and the first that accepts writes is used. A host that is frozen or gone
//! therefore costs nothing while another one serves.

use std::fmt::Write;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use deadpool_postgres::Connect;
use futures_util::future::select_ok;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::limits::{Limits, millis};

/// Silence on a connection after which the kernel checks that the server's machine is there, and the pause between
/// checks. After [`KEEPALIVES`] checks without a response the connection is closed.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_PAUSE: Duration = Duration::from_secs(3);
const KEEPALIVES: u32 = 3;
/// Idle time before keepalives of a URL that does not set it.
const DRIVER_IDLE: Duration = Duration::from_hours(2);

type WireConnection = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;
/// An open connection. Its messages must be polled.
pub(crate) type OpenConnection = (Client, WireConnection);
type Opening<'a> = Pin<Box<dyn Future<Output = Result<OpenConnection, Error>> + Send + 'a>>;

/// Server addresses, and the settings of every session.
#[derive(Clone)]
pub(crate) struct PostgresConnector {
    hosts: Vec<Config>,
    tls: MakeRustlsConnect,
    session: String,
}

impl PostgresConnector {
    pub(super) fn new(config: &Config, tls: MakeRustlsConnect, limits: Limits) -> Self {
        Self { hosts: hosts(config, limits), tls, session: session(config, limits) }
    }

    /// The same, with commits that do not wait for the disk.
    pub(super) fn relaxed(&self) -> Self {
        let mut relaxed = self.clone();
        relaxed.session.push_str("SET synchronous_commit = off;");
        relaxed
    }

    /// Opens a connection to a server that accepts writes. The caller limits the time.
    pub(crate) async fn open(&self) -> Result<OpenConnection, Error> {
        let attempts = self.hosts.iter().map(|host| Box::pin(self.open_at(host)) as Opening<'_>);
        select_ok(attempts).await.map(|(opened, _)| opened)
    }

    async fn open_at(&self, host: &Config) -> Result<OpenConnection, Error> {
        let (client, mut connection) = host.connect(self.tls.clone()).await?;
        self.set_limits(&client, &mut connection).await?;
        Ok((client, connection))
    }

    /// Sets the session's limits: by statement and not by startup parameter, which a pooler refuses.
    async fn set_limits(&self, client: &Client, connection: &mut WireConnection) -> Result<(), Error> {
        let mut set = pin!(client.batch_execute(&self.session));
        poll_fn(|context| match Pin::new(&mut *connection).poll(context) {
            // The statement ends with the connection.
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => set.as_mut().poll(context),
        })
        .await
    }
}

impl Connect for PostgresConnector {
    fn connect(
        &self,
        _: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + '_>> {
        Box::pin(async {
            let (client, connection) = self.open().await?;
            let driver = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the database ended");
                }
            });
            Ok((client, driver))
        })
    }
}

/// A configuration for each host.
fn hosts(config: &Config, limits: Limits) -> Vec<Config> {
    let count = config.get_hosts().len().max(config.get_hostaddrs().len());
    (0..count).map(|index| config_for_host(config, index, limits)).collect()
}

/// The configuration for one host, with limits where the URL sets none.
fn config_for_host(config: &Config, index: usize, limits: Limits) -> Config {
    let mut one = Config::new();
    match config.get_hosts().get(index) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(index) {
        one.hostaddr(*address);
    }
    if let Some(port) = config.get_ports().get(index).or_else(|| config.get_ports().first()) {
        one.port(*port);
    }
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    one.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts())
        // A name can stand for several addresses, which are tried one after another.
        .connect_timeout(config.get_connect_timeout().copied().unwrap_or(limits.connect / 2))
        .tcp_user_timeout(config.get_tcp_user_timeout().copied().unwrap_or(limits.connect))
        .keepalives(config.get_keepalives())
        .keepalives_idle(
            Some(config.get_keepalives_idle()).filter(|idle| *idle != DRIVER_IDLE).unwrap_or(KEEPALIVE_IDLE),
        )
        .keepalives_interval(config.get_keepalives_interval().unwrap_or(KEEPALIVE_PAUSE))
        .keepalives_retries(config.get_keepalives_retries().unwrap_or(KEEPALIVES))
        .target_session_attrs(TargetSessionAttrs::ReadWrite);
    one
}

/// Statements that set the server's limits, except for those that the URL sets itself.
fn session(config: &Config, limits: Limits) -> String {
    let chosen = config.get_options().unwrap_or_default();
    let mut statements = String::new();
    for (name, limit) in [
        ("lock_timeout", limits.patience),
        ("statement_timeout", limits.statement),
        ("idle_in_transaction_session_timeout", limits.statement),
    ] {
        if !chosen.contains(name) {
            // Writing to a String does not fail.
            let _ = write!(statements, "SET {name} = {};", millis(limit));
        }
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let [patience, connect, statement] = [5, 4, 10].map(Duration::from_secs);
        Limits { patience, connect, statement }
    }

    fn parsed(url: &str) -> Config {
        url.parse().unwrap()
    }

    #[test]
    fn every_host_has_limits_and_must_accept_writes() {
        let all = hosts(&parsed("postgres://u:p@a:1,b:2/px?connect_timeout=7"), limits());
        assert_eq!(all.len(), 2);
        for (one, (name, port)) in all.iter().zip([("a", 1), ("b", 2)]) {
            assert_eq!(one.get_hosts(), [Host::Tcp(name.to_owned())]);
            assert_eq!((one.get_ports(), one.get_dbname()), ([port].as_slice(), Some("px")));
            assert_eq!(one.get_connect_timeout(), Some(&Duration::from_secs(7)));
            assert_eq!(one.get_tcp_user_timeout(), Some(&Duration::from_secs(4)));
            assert_eq!(one.get_keepalives_idle(), KEEPALIVE_IDLE);
            assert_eq!(one.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        }
    }

    #[test]
    fn a_limit_in_the_url_takes_precedence() {
        let own = parsed(
            "postgres://u@a/px?options=-c%20lock_timeout%3D2000&keepalives_idle=60&tcp_user_timeout=9",
        );
        assert_eq!(
            session(&own, limits()),
            "SET statement_timeout = 10000;SET idle_in_transaction_session_timeout = 10000;"
        );
        let one = &hosts(&own, limits())[0];
        assert_eq!(one.get_keepalives_idle(), Duration::from_mins(1));
        assert_eq!(one.get_tcp_user_timeout(), Some(&Duration::from_secs(9)));
        assert_eq!(one.get_options(), Some("-c lock_timeout=2000"));
    }
}
