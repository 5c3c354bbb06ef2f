//! Receivers of backups and of audit records. Each is connected to, and nothing is sent.

use std::time::Duration;

use anyhow::{Context, Result};
use pyxis_core::target::{Scheme, Target};
use pyxis_net::{Client, HostPort};
use tokio::time::timeout;

use super::Finding;
use crate::app;
use crate::config::Config;
use crate::config::audit_destination::AuditDestination;
use crate::scheduled_backups;

/// Longest time to connect.
const LIMIT: Duration = Duration::from_secs(5);

/// The directory of scheduled backups and the object storage, if there are any.
pub(super) async fn backups(config: &Config) -> Vec<Finding> {
    const DIRECTORY: &str = "make the directory, and let the user of the service write there";
    const STORAGE: &str = "check PX_BACKUP_S3_URL, and PX_EGRESS_ALLOW for a private address";
    let Some(backups) = &config.backups else { return Vec::new() };
    let part = "scheduled backups";
    let mut findings = vec![match scheduled_backups::check(config) {
        Ok(()) => Finding::good(part).detail(format!("into {}", backups.dir.display())),
        Err(error) => Finding::bad(part, format!("{error:#}"), DIRECTORY),
    }];
    if let Some(storage) = &backups.storage {
        let reached = async { connect_url(&app::client(config)?, &storage.url).await };
        findings.push(finding("object storage of backups", &storage.url, reached.await, STORAGE));
    }
    findings
}

/// The receiver of audit records, if there is one.
pub(super) async fn audit_push(config: &Config) -> Option<Finding> {
    const FIX: &str = "check PX_AUDIT_PUSH, and that this machine reaches the receiver";
    let destination = config.audit_push.as_ref()?;
    // The address is the operator's own, and often a private one.
    let reached = async {
        let net = app::client(config)?.private();
        match destination {
            AuditDestination::Syslog { host, port } => {
                connect(&net, &HostPort::new(host, *port), Scheme::Https).await
            }
            AuditDestination::Otlp { url, .. } => connect_url(&net, url).await,
        }
    };
    let name = match destination {
        AuditDestination::Syslog { host, port } => format!("{host}:{port}"),
        AuditDestination::Otlp { url, .. } => url.clone(),
    };
    Some(finding("audit push", &name, reached.await, FIX))
}

fn finding(part: &str, name: &str, reached: Result<()>, fix: &'static str) -> Finding {
    match reached {
        Ok(()) => Finding::good(part).detail(format!("{name} accepts connections; nothing was sent")),
        Err(error) => Finding::bad(part, format!("{name}: {error:#}"), fix),
    }
}

async fn connect_url(net: &Client, url: &str) -> Result<()> {
    let target = Target::parse(url).map_err(|error| anyhow::anyhow!("{error}"))?;
    connect(net, &HostPort::new(target.written_host(), target.port()), target.scheme()).await
}

/// Connects, with TLS where that is used.
async fn connect(net: &Client, to: &HostPort, scheme: Scheme) -> Result<()> {
    let connected = async {
        if scheme == Scheme::Https {
            net.tls_tunnel(to).await.map(drop)
        } else {
            net.tunnel(to).await.map(drop)
        }
    };
    let connected = timeout(LIMIT, connected).await;
    Ok(connected.with_context(|| format!("no connection within {} seconds", LIMIT.as_secs()))??)
}
