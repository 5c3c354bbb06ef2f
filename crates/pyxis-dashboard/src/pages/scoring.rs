//! Helpers shared by the scoring pages.

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Config;
use pyxis_scoring::service::Error as Service;

use super::sentence;
use crate::text;
use crate::view::Problems;

/// The problem that the service found, at the form's field; anything else stays an error.
pub(super) fn problem(error: Service, field_of: impl Fn(&str) -> &'static str) -> Result<Problems, Service> {
    match error {
        Service::InvalidField { field, detail } => {
            let mut problems = Problems::default();
            problems.add(field_of(&field), sentence(&detail));
            Ok(problems)
        }
        other => Err(other),
    }
}

/// `2026-01-31`.
pub(super) fn day(at: UnixMillis) -> String {
    let absolute = text::absolute(at);
    absolute.get(..10).unwrap_or(&absolute).to_owned()
}

/// A count to show on a page; one that does not fit becomes the largest that does.
pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A `curl` that asks for a score.
pub(super) fn curl_command(config: &Config, scorer: &str, address: &str, key: &str) -> String {
    let base = &config.base_url;
    format!("curl {base}/v2/stamps/{scorer}/score/{address} \\\n  -H 'X-API-KEY: {key}'")
}

/// A `curl` that submits credentials.
pub(super) fn bring(config: &Config, address: &str) -> String {
    let base = &config.base_url;
    format!(
        "curl -X POST {base}/v2/stamps/{address} \\\n  -H 'X-API-KEY: <API key that may write>' \\\n  \
         -H 'Content-Type: application/json' \\\n  -d @credentials.json"
    )
}

/// An address for commands to try.
pub(super) const EXAMPLE_ADDRESS: &str = "0x8f3b2c1de4a5968770123456789abcdef0123456";
/// Placeholder for a key in a command.
pub(super) const A_KEY: &str = "<API key>";
