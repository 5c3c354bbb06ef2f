//! Parses the values of settings.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use pyxis_core::id::ScorerId;
use pyxis_core::nearest::suggestion;
use pyxis_core::secret::SecretString;
use pyxis_core::target::{Host, Scheme, Target};
use pyxis_models::scope::Chain;
use serde::Deserialize;
use tracing_subscriber::filter::EnvFilter;
use url::Url;

use super::secrets::clean_secret;
use super::{Indexer, MetricsListen, Surfaces, keys, read_secret};

/// The keys of a `pyxis.toml`, as text. Fails on an unknown key.
pub(super) fn file(path: &Path) -> Result<BTreeMap<String, String>> {
    let (values, unknown) = known_and_unknown(path)?;
    match unknown.into_iter().next() {
        Some(why) => bail!(why),
        None => Ok(values),
    }
}

/// The known keys of a `pyxis.toml`, as text, and a message for each unknown key.
pub(super) fn known_and_unknown(path: &Path) -> Result<(BTreeMap<String, String>, Vec<String>)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    let (mut values, mut unknown) = (BTreeMap::new(), Vec::new());
    for (key, value) in table {
        if keys::default(&key).is_none() {
            let suggestion = suggestion(&key, keys::all().map(|known| known.name));
            unknown.push(format!(
                "unknown key in {}: {key}{suggestion}; docs/reference/configuration.md lists the keys",
                path.display()
            ));
            continue;
        }
        let text = match value {
            toml::Value::String(text) => text,
            // Networks and indexers, by name.
            table @ toml::Value::Table(_) => serde_json::to_string(&table)?,
            toml::Value::Array(items) => {
                items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        values.insert(key, text);
    }
    Ok((values, unknown))
}

/// Comma-separated networks; a single address is a network of one.
pub(super) fn list(text: &str, name: &str) -> Result<Vec<IpNet>> {
    let network =
        |item: &str| item.parse().or_else(|error| item.parse::<IpAddr>().map_err(|_| error).map(IpNet::from));
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| {
            network(item).with_context(|| {
                format!(
                    "{name}: {item} is not a network; write 10.0.0.0/8, 2001:db8::/32 or a single address"
                )
            })
        })
        .collect()
}

/// Comma-separated origins of web pages, as browsers write them.
pub(super) fn origins(text: &str, name: &str) -> Result<Vec<String>> {
    let origin = |item: &str| {
        let url = Url::parse(item).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let written = url.origin().ascii_serialization();
        // A path, a user or a query would be ignored silently.
        (format!("{written}/") == url.as_str()).then_some(written)
    };
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items
        .map(|item| {
            origin(item).with_context(|| {
                format!("{name}: {item} is not an origin; write scheme, host and port, such as http://localhost:6274")
            })
        })
        .collect()
}

/// An indexer as configured: its URL, or settings.
#[derive(Deserialize)]
#[serde(untagged)]
enum IndexerSetting {
    Url(String),
    Settings(IndexerSettings),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexerSettings {
    url: String,
    api_key: Option<SecretString>,
    api_key_file: Option<PathBuf>,
    per_second: Option<u32>,
}

/// `chain=URL`, separated by spaces or commas; or a JSON object, chain to settings.
pub(super) fn indexers(text: &str) -> Result<Vec<Indexer>> {
    if text.trim_start().starts_with('{') {
        // Does not quote the parse error: it may contain keys.
        let written: BTreeMap<String, IndexerSetting> = serde_json::from_str(text).map_err(|_| {
            anyhow::anyhow!(
                "PX_INDEXERS must be a JSON object from chains to URLs, or to objects with url, api_key or \
                 api_key_file, and per_second"
            )
        })?;
        return written.into_iter().map(|(name, settings)| written_indexer(&name, settings)).collect();
    }
    let mut found: Vec<Indexer> = Vec::new();
    for item in text.split([' ', ',', '\n']).map(str::trim).filter(|item| !item.is_empty()) {
        let (name, url) =
            item.split_once('=').with_context(|| format!("PX_INDEXERS: write chain=URL, not {item}"))?;
        let indexer = written_indexer(name, IndexerSetting::Url(url.to_owned()))?;
        if found.iter().any(|other| other.chain == indexer.chain) {
            bail!("PX_INDEXERS: {name} is listed twice; keep one");
        }
        found.push(indexer);
    }
    Ok(found)
}

fn written_indexer(name: &str, written: IndexerSetting) -> Result<Indexer> {
    let chain = Chain::from_name(name).with_context(|| {
        let known: Vec<&str> = Chain::ALL.iter().map(|chain| chain.as_str()).collect();
        format!("PX_INDEXERS: unknown chain {name}; use {}", known.join(", "))
    })?;
    let of = match written {
        IndexerSetting::Url(url) => {
            IndexerSettings { url, api_key: None, api_key_file: None, per_second: None }
        }
        IndexerSetting::Settings(of) => of,
    };
    let url: Url = of.url.parse().with_context(|| format!("PX_INDEXERS: {name}: not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        bail!("PX_INDEXERS: {name}: must be an http or https URL");
    }
    let api_key = match (of.api_key, of.api_key_file) {
        (Some(_), Some(_)) => bail!("PX_INDEXERS: {name}: set api_key or api_key_file, not both"),
        (Some(key), None) => {
            Some(clean_secret(&format!("PX_INDEXERS: {name}: api_key"), key.expose().clone())?)
        }
        (None, Some(path)) => {
            Some(read_secret(&path).with_context(|| format!("PX_INDEXERS: {name}: api_key_file"))?)
        }
        (None, None) => None,
    };
    if of.per_second == Some(0) {
        bail!("PX_INDEXERS: {name}: per_second must be at least 1");
    }
    Ok(Indexer { chain, url, api_key, per_second: of.per_second })
}

/// An address and port. The refusal of an address alone names the port that was probably meant.
pub(super) fn listen(text: &str, name: &str, default: &str) -> Result<SocketAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let usual: Option<SocketAddr> = default.parse().ok();
    let (port, ip) = usual.map_or((0, Ipv4Addr::LOCALHOST.into()), |usual| (usual.port(), usual.ip()));
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        bail!("{name} is {text}, without a port; write {}", SocketAddr::new(ip, port));
    }
    if let Ok(port) = text.trim_start_matches(':').parse() {
        bail!("{name} is {text}, without an address; write {}", SocketAddr::new(ip, port));
    }
    bail!("{name} is {text:?}, not an address and port; write a value such as {default}")
}

/// `written`: true if configured explicitly, so that it must not be dropped silently.
pub(super) fn metrics_listen(text: &str, written: bool) -> Result<MetricsListen> {
    let text = text.trim();
    if text == "off" {
        return Ok(MetricsListen::Off);
    }
    let address = listen(text, "PX_METRICS_LISTEN / --metrics-listen", "127.0.0.1:8701")
        .map_err(|error| anyhow::anyhow!("{error}, or off"))?;
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
                    "PX_SURFACES / --surfaces: unknown surface {other}; use scoring, verification, proxy, dashboard"
                )
            }
        }
    }
    let any = surfaces.scoring || surfaces.verification || surfaces.proxy || surfaces.dashboard;
    if any {
        Ok(surfaces)
    } else {
        bail!("PX_SURFACES / --surfaces is empty; use scoring, verification, proxy, dashboard")
    }
}

/// The numbers of scorers.
pub(super) fn vote_scorers(text: &str) -> Result<Vec<ScorerId>> {
    let numbers = text.split(',').map(str::trim).filter(|number| !number.is_empty());
    let read = |number: &str| {
        let found = number.parse().ok();
        found.with_context(|| {
            format!("PX_VOTE_SCORERS: {number} is not a scorer's number; `pyxis scorer list` shows them")
        })
    };
    numbers.map(read).collect()
}

pub(super) fn otlp_endpoint(url: &str) -> Result<()> {
    let parsed: Option<http::Uri> = url.parse().ok();
    let scheme = parsed.as_ref().and_then(http::Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) {
        return Ok(());
    }
    bail!(
        "PX_OTLP_ENDPOINT / OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, for example \
         http://localhost:4318"
    )
}

/// The error of a value that cannot be read.
pub(super) fn unreadable(
    name: &str,
    text: &str,
    default: &str,
    why: &impl std::fmt::Display,
) -> anyhow::Error {
    let example =
        if default.is_empty() { String::new() } else { format!("; write a value such as {default}") };
    // The parser's own words for a number do not say what is allowed.
    if default.parse::<u64>().is_ok() {
        return anyhow::anyhow!("{name} is {text:?}, not a whole number in its range{example}");
    }
    anyhow::anyhow!("{name} is {text:?}: {why}{example}")
}

/// Checks a filter of log lines.
pub(super) fn log_filter(text: &str) -> Result<()> {
    let read = EnvFilter::try_new(text).map(drop);
    read.map_err(|error| {
        anyhow::anyhow!(
            "PX_LOG is {text:?}: {error}; write a level such as info, or TARGET=LEVEL after a comma"
        )
    })
}

/// Cookies and links use this origin, so plain http is for this machine only.
pub(super) fn base_url(url: &str) -> Result<()> {
    let target = Target::parse(url).map_err(|error| anyhow::anyhow!("PX_BASE_URL: {error}"))?;
    if target.path() != "/" || target.query().is_some() {
        bail!("PX_BASE_URL must be an origin, without path and query");
    }
    let loopback = match target.host() {
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::V4(address) => address.is_loopback(),
        Host::V6(address) => address.is_loopback(),
    };
    if target.scheme() == Scheme::Http && !loopback {
        bail!("PX_BASE_URL: plain http would send session cookies unencrypted; use https");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_answered_with_the_port_that_is_meant() {
        let told =
            |text: &str| listen(text, "PX_LISTEN / --listen", "127.0.0.1:8700").unwrap_err().to_string();
        assert_eq!(told("0.0.0.0"), "PX_LISTEN / --listen is 0.0.0.0, without a port; write 0.0.0.0:8700");
        assert!(told("::").ends_with("write [::]:8700") && told("[::1]").ends_with("write [::1]:8700"));
        assert!(told("8700").ends_with("without an address; write 127.0.0.1:8700"));
        assert!(told(":9000").ends_with("write 127.0.0.1:9000"));
        assert!(
            told("everywhere").ends_with("not an address and port; write a value such as 127.0.0.1:8700")
        );
        assert_eq!(listen(" 10.0.0.1:80 ", "PX_LISTEN", "").unwrap().port(), 80);
        let metrics = metrics_listen("0.0.0.0", true).unwrap_err().to_string();
        assert!(metrics.ends_with("write 0.0.0.0:8701, or off"), "{metrics}");
    }

    #[test]
    fn a_filter_of_log_lines_that_cannot_be_read_is_named_with_its_value() {
        for text in ["info", "warn,pyxis=debug", "off"] {
            log_filter(text).unwrap();
        }
        let error = log_filter("blah,,=x").unwrap_err().to_string();
        assert!(error.starts_with("PX_LOG is \"blah,,=x\": "), "{error}");
    }

    #[test]
    fn networks_may_be_single_addresses_of_either_family() {
        let nets = list("10.0.0.1, 2001:db8::1,::ffff:10.0.0.0/104 ,192.168.0.0/16", "PX_X").unwrap();
        let shown: Vec<String> = nets.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.1/32", "2001:db8::1/128", "::ffff:10.0.0.0/104", "192.168.0.0/16"]);
        for text in ["10.0.0.0/33", "example.org", "10.0.0", "1.2.3.4:80"] {
            let error = list(text, "PX_X").unwrap_err().to_string();
            assert!(error.contains(text) && error.starts_with("PX_X: "), "{error}");
        }
    }
}
