//! `pyxis config`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_store::cipher::MasterKey;
use serde_json::{Value, json};

use super::out;
use crate::app;
use crate::cli::{ConfigCommand, Global};
use crate::config::check::{SettingProblem, problems};
use crate::config::env::ProcessEnv;
use crate::config::overview::effective_settings;
use crate::config::warnings::warnings;
use crate::config::{Config, Flags};
use crate::scheduled_backups;

pub(super) fn run(global: &Global, command: &ConfigCommand) -> Result<ExitCode> {
    let flags = global.flags();
    match command {
        ConfigCommand::Show => {
            let row = |setting: crate::config::overview::EffectiveSetting| {
                json!({
                    "setting": setting.name, "variable": setting.variable, "value": setting.value,
                    "source": setting.source,
                })
            };
            let rows: Vec<Value> = effective_settings(&flags, &ProcessEnv)?.into_iter().map(row).collect();
            out::table(global.json, &["variable", "value", "source"], &rows);
            Ok(ExitCode::SUCCESS)
        }
        ConfigCommand::Check => Ok(check(global.json, &flags)),
    }
}

fn check(as_json: bool, flags: &Flags) -> ExitCode {
    let found = match problems(flags, &ProcessEnv) {
        Ok(config) => of_start(&config),
        Err(found) => found,
    };
    let doubts = warnings(flags, &ProcessEnv);
    if as_json {
        let problem =
            |found: &SettingProblem| json!({ "variables": found.variables, "message": found.message });
        let doubt = |found: &crate::config::warnings::SettingWarning| json!({ "place": found.place, "message": found.message, "fix": found.fix });
        out::json(&json!({
            "ok": found.is_empty(),
            "problems": found.iter().map(problem).collect::<Vec<_>>(),
            "warnings": doubts.iter().map(doubt).collect::<Vec<_>>(),
        }));
    } else {
        for problem in &found {
            out::line(format_args!("WRONG {}", problem.message));
        }
        for doubt in &doubts {
            out::line(format_args!("warn  {}: {}; {}", doubt.place, doubt.message, doubt.fix));
        }
        if found.is_empty() {
            out::line("ok    a server can start with these settings");
        }
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Problems that only a start finds: in files and directories that settings name.
fn of_start(config: &Config) -> Vec<SettingProblem> {
    let key = |config: &Config| -> Result<()> {
        let Some(text) = &config.encryption_key else { return Ok(()) };
        MasterKey::parse(text.expose()).map(drop).context("PX_ENCRYPTION_KEY")
    };
    let checks = [
        ("PX_ENCRYPTION_KEY", key(config)),
        ("PX_BACKUP_DIR", scheduled_backups::check(config)),
        ("PX_EGRESS_CA_FILE", app::client(config).map(drop)),
    ];
    let problem = |(variable, checked): (&str, Result<()>)| {
        let message = format!("{:#}", checked.err()?);
        Some(SettingProblem { variables: vec![variable.to_owned()], message })
    };
    checks.into_iter().filter_map(problem).collect()
}
