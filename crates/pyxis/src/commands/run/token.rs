//! The token of `--agent`: made in the installation's database for one run, and revoked at its end.

use anyhow::{Context, Result, bail};
use pyxis_core::id::ConnectionId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{agents, connections};
use pyxis_gateway::connections::run_tokens::{self, RunToken};

use crate::app::{self, App};
use crate::cli::Global;
use crate::commands::{connect, out, workspace};
use crate::config::Config;

/// A token that acts as an agent.
pub(super) struct AgentToken {
    /// The text to send instead of the agent key.
    pub(super) text: SecretString,
    connection: ConnectionId,
    actor: Actor,
}

impl AgentToken {
    /// Makes a token. The database is open only meanwhile, so that the command runs without the master key near it.
    pub(super) async fn issue(global: &Global, config: &Config, agent: &str) -> Result<Self> {
        let app = open(config).await.context("--agent")?;
        let actor = Actor::cli(workspace(&app, global).await?.id);
        let agent = agents::by_name(&app.gateway.store, actor.workspace, agent).await.context("--agent")?;
        let RunToken { text, connection } =
            run_tokens::issue(&app.gateway, &actor, agent.row.id).await.context("--agent")?;
        app.gateway.audit.stop().await?;
        Ok(Self { text, connection, actor })
    }

    /// Ends the token. If that fails, the person is told: it then lives until it expires.
    pub(super) async fn revoke(self, config: &Config) {
        if let Err(error) = self.try_revoke(config).await {
            out::notice(format_args!(
                "pyxis run: the token of this run was not revoked, and ends within a day: {error:#}"
            ));
        }
    }

    async fn try_revoke(self, config: &Config) -> Result<()> {
        let app = open(config).await?;
        match connections::revoke(&app.gateway.audited, &self.actor, self.connection).await {
            // A manager was faster, or removed the agent.
            Ok(_) | Err(pyxis_gateway::Error::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(app.gateway.audit.stop().await?)
    }
}

/// Opens the installation, which must exist.
async fn open(config: &Config) -> Result<App> {
    if let Some(path) = config.database.sqlite_path() {
        let exists = path.try_exists().with_context(|| format!("cannot read {}", path.display()))?;
        if !exists {
            bail!(
                "there is no installation here: {} does not exist. Name its directory with --data-dir, or use an \
                 agent key instead",
                path.display()
            );
        }
    }
    app::open(config.clone(), connect::installation_url(config)).await
}
