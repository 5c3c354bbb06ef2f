//! Values of settings.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use pyxis_core::target::{Host, Scheme, Target};

use super::{MetricsListen, Surfaces, keys};

/// The keys of a `pyxis.toml`, as text.
pub(super) fn file(path: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("{} is not TOML", path.display()))?;
    let mut values = BTreeMap::new();
    for (key, value) in table {
        if keys::default(&key).is_none() {
            bail!("unknown key in {}: {key}", path.display());
        }
        let text = match value {
            toml::Value::String(text) => text,
            // Networks, by name.
            table @ toml::Value::Table(_) => serde_json::to_string(&table)?,
            toml::Value::Array(items) => {
                items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        values.insert(key, text);
    }
    Ok(values)
}

/// Comma-separated networks.
pub(super) fn list(text: &str, name: &str) -> Result<Vec<IpNet>> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| item.parse().with_context(|| format!("{name}: not a network: {item}")))
        .collect()
}

/// `written`: somebody asks for it, so that it must not be left out silently.
pub(super) fn metrics_listen(text: &str, written: bool) -> Result<MetricsListen> {
    let text = text.trim();
    if text == "off" {
        return Ok(MetricsListen::Off);
    }
    let address = text.parse().with_context(|| {
        format!("PX_METRICS_LISTEN / --metrics-listen: an address and port, or off: {text}")
    })?;
    Ok(if written { MetricsListen::At(address) } else { MetricsListen::IfFree(address) })
}

pub(super) fn surfaces(text: &str) -> Result<Surfaces> {
    let mut surfaces = Surfaces { scoring: false, verification: false, proxy: false, dashboard: false };
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "scoring" => surfaces.scoring = true,
            "verification" => surfaces.verification = true,
            "proxy" => surfaces.proxy = true,
            "dashboard" => surfaces.dashboard = true,
            other => {
                bail!(
                    "PX_SURFACES / --surfaces: there is no surface {other}; scoring, verification, proxy, dashboard"
                )
            }
        }
    }
    let any = surfaces.scoring || surfaces.verification || surfaces.proxy || surfaces.dashboard;
    if any { Ok(surfaces) } else { bail!("PX_SURFACES names no surface") }
}

pub(super) fn otlp_endpoint(url: &str) -> Result<()> {
    let parsed: Option<http::Uri> = url.parse().ok();
    let scheme = parsed.as_ref().and_then(http::Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) {
        return Ok(());
    }
    bail!(
        "PX_OTLP_ENDPOINT / OTEL_EXPORTER_OTLP_ENDPOINT: an http or https URL, for example http://localhost:4318"
    )
}

/// Cookies and links follow this origin, so plain http is for this machine only.
pub(super) fn base_url(url: &str) -> Result<()> {
    let target = Target::parse(url).map_err(|error| anyhow::anyhow!("PX_BASE_URL: {error}"))?;
    if target.path() != "/" || target.query().is_some() {
        bail!("PX_BASE_URL is an origin: no path and no query");
    }
    let loopback = match target.host() {
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::V4(address) => address.is_loopback(),
        Host::V6(address) => address.is_loopback(),
    };
    if target.scheme() == Scheme::Http && !loopback {
        bail!("PX_BASE_URL: plain http would send session cookies in the clear; use https");
    }
    Ok(())
}
