//! The commands. Data goes to standard output, everything else to standard error.

mod activity;
mod address_file;
mod addresses;
mod agents;
mod allow_lists;
mod api_keys;
mod audit;
mod backup;
mod bootstrap;
mod checks;
mod confirm;
mod connect;
mod connections;
mod credentials;
mod database;
mod decisions;
mod failure;
mod grants;
mod healthcheck;
mod import;
mod in_flight;
mod issuers;
mod keys;
mod login;
mod manual;
mod mcp;
mod mcp_tools;
mod models;
mod networks;
mod onchain_stamps;
mod out;
mod people;
mod person_api;
mod policies;
mod presets;
mod proofs;
mod proxy;
mod quickstart;
mod receipt_keys;
mod receipts;
mod run;
mod saved_login;
mod score_jobs;
mod score_keys;
mod scorers;
mod scores;
mod server;
mod settings_report;
mod signer;
mod stamp_keys;
mod stamp_signing;
mod stamps;
mod status;
mod streamed;
mod unknown_variables;
mod webhooks;
mod workspaces;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_gateway::{self as gateway, Actor};
use pyxis_store::workspaces::WorkspaceRow;

use crate::app::{self, App};
use crate::cli::{Cli, Command, Global, StampsCommand};
use crate::config::env::ProcessEnv;
use crate::config::{Config, Flags};
use crate::running;
use crate::signed_head;
use crate::telemetry;
use crate::traces::Traces;

/// Already so, or nothing to do.
const NOTHING_TO_DO: u8 = 3;

/// Reason that a command had nothing to do. It is not a failure, but the caller may want to know.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct AlreadySo(String);

/// Runs one command. It is here and not in the executable, because the code that blocks on a future compiles all of it.
pub fn run(cli: Cli) -> ExitCode {
    let as_json = cli.global.json;
    #[cfg(target_os = "linux")]
    take_out_secrets(&cli);
    unknown_variables::warn(&cli);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_park(pyxis_store::release_idle_reads)
        .build();
    // Otherwise a name lookup that hangs would keep the answer of a health check.
    let abandons_lookups = matches!(cli.command, Command::Healthcheck { .. });
    let serves =
        matches!(cli.command, Command::Serve { .. } | Command::Quickstart { .. } | Command::Signer { .. });
    let done = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        // A server answers in seconds. A person waits for a command as long as it takes.
        let done = if serves {
            runtime.block_on(command(cli))
        } else {
            runtime.block_on(pyxis_store::long_work(command(cli)))
        };
        if abandons_lookups {
            runtime.shutdown_background();
        }
        done
    });
    done.unwrap_or_else(|error| {
        if let Some(AlreadySo(why)) = error.downcast_ref::<AlreadySo>() {
            failure::print_nothing_to_do(as_json, why);
            return ExitCode::from(NOTHING_TO_DO);
        }
        if let Some(error) = error.downcast_ref::<clap::Error>() {
            return failure::usage(error);
        }
        failure::print(as_json, &error);
        ExitCode::FAILURE
    })
}

/// Takes secrets out of the environment of a process that others may look at. It comes first, because it executes the
/// program again.
#[cfg(target_os = "linux")]
fn take_out_secrets(cli: &Cli) {
    let access = match &cli.command {
        Command::Run(options) => &options.access,
        Command::Proxy(options) => &options.access,
        _ => return,
    };
    let flags = cli.global.flags();
    // `--encryption-key env:NAME` leads to the master key.
    let source = flags.get("encryption_key").and_then(|source| source.strip_prefix("env:"));
    let key = access.key_variables();
    let named: Vec<&str> = key.iter().map(String::as_str).chain(source).collect();
    run::first_environment::clear(&named);
}

/// Prints help, the version, or the fault of a command line that cannot be understood.
pub fn usage(error: &clap::Error) -> ExitCode {
    failure::usage(error)
}

async fn command(cli: Cli) -> Result<ExitCode> {
    let Cli { global, command } = cli;
    match command {
        Command::Quickstart { listen, demo } => return quickstart::run(&global, &listen, demo).await,
        Command::Serve { listen } => return server::run(&global, &listen).await,
        Command::Signer { listen } => return signer::run(&global, &listen).await,
        Command::Bootstrap { owner_email, reissue } => {
            return bootstrap::run(&global, owner_email.as_deref(), reissue).await;
        }
        Command::Migrate => return database::migrate(&global).await,
        Command::Status(options) => return status::run(&global, &options).await,
        Command::Config(command) => return settings_report::run(&global, &command),
        Command::Doctor => return database::doctor(&global).await,
        Command::Healthcheck { url, proxy } => {
            return Ok(healthcheck::run(&global, url.as_deref(), proxy).await);
        }
        Command::Backup { file, without_audit_check } => {
            backup::backup(&global, &file, without_audit_check).await?;
        }
        Command::Restore { file } => backup::restore(&global, &file).await?,
        Command::Key(command) => keys::run(&global, command).await?,
        Command::Workspace(command) => workspaces::run(&global, command).await?,
        Command::User(command) => people::run(&global, command).await?,
        Command::Agent(command) => agents::run(&global, command).await?,
        Command::Mcp(options) => mcp::run(&global, options).await?,
        Command::Connect(options) => connect::run(&global, options)?,
        Command::Connection(command) => connections::run(&global, command).await?,
        Command::Run(options) => return run::run(&global, options).await,
        Command::Proxy(options) => return proxy::run(&global, options).await,
        Command::Login(options) => login::login(&global, options).await?,
        Command::Inbox(options) => decisions::inbox(&global, &options).await?,
        Command::Approve(options) => decisions::approve(&global, options).await?,
        Command::Deny(options) => decisions::deny(&global, options).await?,
        Command::Task(command) => decisions::task(&global, command).await?,
        Command::Logout => login::logout(&global)?,
        Command::Credential(command) => credentials::run(&global, command).await?,
        Command::McpTool(command) => mcp_tools::run(&global, command).await?,
        Command::Policy(command) => return Box::pin(policies::run(&global, command)).await,
        Command::Grant(command) => grants::run(&global, command).await?,
        Command::Webhook(command) => webhooks::run(&global, command).await?,
        Command::Stamps(StampsCommand::Import(wanted)) => return import::run(&global, wanted).await,
        Command::Scorer(command) => return Box::pin(scorers::run(&global, command)).await,
        Command::Score(command) => return scores::run(&global, command).await,
        Command::ScoreJob(command) => return Box::pin(score_jobs::run(&global, command)).await,
        Command::Address(command) => return addresses::run(&global, command).await,
        Command::ScoreKey(command) => return score_keys::run(&global, command).await,
        Command::ApiKey(command) => return api_keys::run(&global, command).await,
        Command::Stamps(StampsCommand::Manage(command)) => return stamps::run(&global, command).await,
        Command::AllowList(command) => return allow_lists::run(&global, command).await,
        Command::OnchainStamp(command) => return onchain_stamps::run(&global, command).await,
        Command::StampKey(command) => return stamp_keys::run(&global, command).await,
        Command::Issuer(command) => return issuers::run(&global, command).await,
        Command::Activity(command) => return activity::run(&global, command).await,
        Command::Models(command) => return models::run(&global, command).await,
        Command::Proofs(command) => return proofs::run(&global, command).await,
        Command::Network(command) => return networks::run(&global, command).await,
        Command::Check(command) => return checks::run(&global, command).await,
        Command::Audit(command) => return audit::run(&global, command).await,
        Command::ReceiptKey(command) => receipt_keys::run(&global, command).await?,
        Command::Completions { shell } => manual::completions(shell)?,
        Command::Man { directory } => manual::pages(&directory)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The outcome of a command that found everything so already.
fn nothing_to_do(why: impl std::fmt::Display) -> Result<ExitCode> {
    Err(AlreadySo(why.to_string()).into())
}

/// Reads the settings and starts the logs.
fn settings(flags: &Flags) -> Result<Config> {
    let config = Config::load(flags, &ProcessEnv)?;
    telemetry::init_logs(&config)?;
    Ok(config)
}

/// The same for a server, which can also be traced.
fn serving_settings(flags: &Flags) -> Result<(Config, Option<Traces>)> {
    let config = Config::load(flags, &ProcessEnv)?;
    let traces = telemetry::init_serving(&config)?;
    Ok((config, traces))
}

/// Opens everything for a command that works on an installation.
async fn open(global: &Global) -> Result<App> {
    let config = existing(global)?;
    open_with(config).await
}

/// The settings of an installation that exists.
fn existing(global: &Global) -> Result<Config> {
    let config = settings(&quiet(global.flags()))?;
    // A lost database is not a missing installation.
    signed_head::expect_file(&config)?;
    app::check_exists(&config)?;
    Ok(config)
}

async fn open_with(config: Config) -> Result<App> {
    let base_url = connect::installation_url(&config);
    app::open(config, base_url).await
}

/// A command's own log lines are shown only on request.
fn quiet(mut flags: Flags) -> Flags {
    flags.entry("log").or_insert_with(|| "warn".to_owned());
    flags
}

/// The workspace that a command works on.
async fn workspace(app: &App, global: &Global) -> Result<WorkspaceRow> {
    let all = gateway::admin::workspaces::list(&app.gateway.store).await?;
    if all.is_empty() {
        bail!("there is no workspace yet; `pyxis bootstrap` creates the first one");
    }
    let Some(name) = &global.workspace else {
        return all.into_iter().next().context("the first workspace");
    };
    let names: Vec<String> = all.iter().map(|workspace| workspace.name.clone()).collect();
    let found = all.into_iter().find(|workspace| workspace.name.eq_ignore_ascii_case(name));
    found.with_context(|| format!("unknown workspace {name}; known: {}", names.join(", ")))
}

/// An open application and the workspace to work on, as the command line's actor.
async fn acting(global: &Global) -> Result<(App, Actor)> {
    let app = open(global).await?;
    let actor = Actor::cli(workspace(&app, global).await?.id);
    Ok((app, actor))
}

/// The same with the egress settings of the running server, for a command that explains its decisions. Nothing is sent.
async fn acting_as_server(global: &Global) -> Result<(App, Actor)> {
    let mut config = existing(global)?;
    if let Some(server) = running::find(&config.data_dir) {
        config.egress_allow = server.egress_allow();
        config.egress_allow_addrs = server.egress_allow_addrs;
    }
    let app = open_with(config).await?;
    let actor = Actor::cli(workspace(&app, global).await?.id);
    Ok((app, actor))
}
