//! `pyxis healthcheck`: the readiness of a running server or side-car, for container engines and service managers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use http::{Request, StatusCode};
use pyxis_net::Client;
use pyxis_net::body::{empty, read_capped};
use serde_json::{Value, json};

use super::{connect, out, quiet};
use crate::app;
use crate::cli::{Cli, Global};
use crate::config::Config;
use crate::config::check::RemainingEnv;
use crate::config::env::ProcessEnv;
use crate::telemetry;

/// Time for the whole answer. The command itself ends within 3 seconds.
const LIMIT: Duration = Duration::from_millis(2800);
/// Longest answer, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// Program that is asked.
#[derive(Clone, Copy)]
enum CheckedProgram {
    Server,
    Proxy,
}

impl CheckedProgram {
    /// Path of its check.
    const fn path(self) -> &'static str {
        match self {
            Self::Server => "/readyz",
            Self::Proxy => "/healthz",
        }
    }
}

/// Prints one line: `ready`, or the reason that the server or the proxy is not.
pub(super) async fn run(global: &Global, url: Option<&str>, is_proxy: bool) -> ExitCode {
    let subject = if is_proxy { CheckedProgram::Proxy } else { CheckedProgram::Server };
    let checked = tokio::time::timeout(LIMIT, check(global, url, subject)).await;
    let late = || Err(anyhow::anyhow!("no answer within {} seconds", LIMIT.as_secs_f32()));
    let checked = checked.unwrap_or_else(|_| late());
    print(global.json, checked.err().map(|error| format!("{error:#}")))
}

/// Prints the one line. `reason` says why the program is not ready.
fn print(as_json: bool, reason: Option<String>) -> ExitCode {
    let reason = reason.map(|reason| reason.replace('\n', " "));
    let text = reason.as_ref().map_or_else(|| "ready".to_owned(), |reason| format!("not ready: {reason}"));
    out::outcome(as_json, &json!({ "ready": reason.is_none(), "reason": reason }), text);
    if reason.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints wrong usage as one line too, because a container engine reads it. `None` for other commands.
pub(super) fn usage(error: &clap::Error, as_json: bool) -> Option<ExitCode> {
    let lenient = Cli::command().ignore_errors(true).try_get_matches();
    let is_check = lenient.is_ok_and(|found| found.subcommand_name() == Some("healthcheck"));
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    // An argument that may hold a password is not repeated.
    let first = if first.contains('@') { "unexpected argument" } else { first };
    let first = first.strip_prefix("error: ").unwrap_or(first);
    is_check.then(|| print(as_json, Some(format!("{first}; see pyxis healthcheck --help"))))
}

/// The settings without the master key, which a check does not need and may not be able to read.
fn settings(global: &Global) -> Result<Config> {
    let hidden = ["PX_ENCRYPTION_KEY", "PX_ENCRYPTION_KEY_FILE"].map(str::to_owned).into();
    let mut flags = quiet(global.flags());
    flags.remove("encryption_key");
    let config = Config::load(&flags, &RemainingEnv { env: &ProcessEnv, hidden: &hidden })?;
    telemetry::init_logs(&config)?;
    Ok(config)
}

async fn check(global: &Global, url: Option<&str>, subject: CheckedProgram) -> Result<()> {
    let config = settings(global)?;
    let url = match url {
        Some(url) => connect::base_url("--url", url.strip_suffix(subject.path()).unwrap_or(url))?,
        None => local_url(&config, subject)?,
    };
    // The address is the operator's own, and often a private one.
    check_ready(&app::client(&config)?.private(), &url, subject).await
}

/// URL of the server that these settings start, on this machine.
pub(super) fn local_server_url(config: &Config) -> Result<String> {
    local_url(config, CheckedProgram::Server)
}

/// The address, with a loopback one in place of one that stands for all.
pub(super) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// URL of the server or proxy that these settings start, on this machine.
fn local_url(config: &Config, subject: CheckedProgram) -> Result<String> {
    let (address, name) = match subject {
        CheckedProgram::Server => (config.listen, "PX_LISTEN"),
        CheckedProgram::Proxy => (config.proxy.listen, "PX_PROXY_LISTEN"),
    };
    if address.port() == 0 {
        bail!("{name} leaves the port to the system; name the address with --url");
    }
    Ok(format!("http://{}", reachable(address)))
}

/// Succeeds if the answer says ready. A redirect is not an answer.
async fn check_ready(client: &Client, url: &str, subject: CheckedProgram) -> Result<()> {
    let request = Request::get(format!("{url}{}", subject.path())).body(empty()).context("--url")?;
    // The limit on the whole answer is shorter.
    let response = client.send(request, 2 * LIMIT).await.with_context(|| url.to_owned())?;
    let status = response.status();
    let body = read_capped(response.into_body(), MAX_RESPONSE).await.with_context(|| url.to_owned())?;
    let parts: Value = serde_json::from_slice(&body).unwrap_or_default();
    match parts["status"].as_str() {
        Some("ok") if status == StatusCode::OK => Ok(()),
        Some("draining") => bail!("it is stopping"),
        Some("starting") => bail!("it is starting"),
        Some("unavailable") => bail!("unavailable: {}", unavailable(&parts)),
        _ => match subject {
            CheckedProgram::Server => {
                bail!("{url} answered {status}, not as a Pyxis server does; for `pyxis proxy`, add --proxy")
            }
            CheckedProgram::Proxy => bail!("{url} answered {status}, not as `pyxis proxy` does"),
        },
    }
}

/// Names of the parts that are unavailable.
fn unavailable(parts: &Value) -> String {
    let is_down = |name: &&str| parts[*name] == "unavailable";
    ["database", "audit", "resolver"].into_iter().filter(is_down).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

    #[test]
    fn the_server_of_the_settings_is_asked_on_this_machine() {
        let url = |listen: &str| {
            let flags = Flags::from([("listen", listen.to_owned())]);
            local_url(
                &Config::load(&flags, &std::collections::BTreeMap::new()).unwrap(),
                CheckedProgram::Server,
            )
        };
        assert_eq!(url("0.0.0.0:8700").unwrap(), "http://127.0.0.1:8700");
        assert_eq!(url("[::]:8700").unwrap(), "http://[::1]:8700");
        assert_eq!(url("10.1.2.3:80").unwrap(), "http://10.1.2.3:80");
        assert!(url("127.0.0.1:0").unwrap_err().to_string().contains("--url"));
        let flags = Flags::from([("proxy_listen", "0.0.0.0:8709".to_owned())]);
        let config = Config::load(&flags, &std::collections::BTreeMap::new()).unwrap();
        assert_eq!(local_url(&config, CheckedProgram::Proxy).unwrap(), "http://127.0.0.1:8709");
    }
}
