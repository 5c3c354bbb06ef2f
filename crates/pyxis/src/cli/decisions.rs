//! `pyxis inbox`, `pyxis approve` and `pyxis deny`.

use std::time::Duration;

use clap::Args;

use super::confirmation::Confirmation;

/// The server that a person's commands ask, and the person's token for it.
#[derive(Debug, Args)]
pub struct PersonOptions {
    /// URL of the server [default: `PX_URL`, or else that of `pyxis login`].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that holds the access token; without it, the token of `pyxis login` is used.
    #[arg(long, value_name = "NAME", default_value = "PX_TOKEN")]
    pub token_env: String,
}

/// Options of `pyxis approve`.
#[derive(Debug, Args)]
pub struct Approve {
    /// Transaction id, or the link of the approval page.
    #[arg(value_name = "TXN")]
    pub txn: String,
    /// Note for the record, at most 2000 bytes.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Duration of a grant for the same method and route, for example 30m or 2h: 15m to 24h.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub grant: Option<Duration>,
    /// Restrict the grant to the agent that sent the request.
    #[arg(long, requires = "grant")]
    pub agent_only: bool,
    /// Uses after which the grant ends.
    #[arg(long, value_name = "N", requires = "grant", value_parser = clap::value_parser!(i64).range(1..))]
    pub max_uses: Option<i64>,
    #[command(flatten)]
    pub confirmation: Confirmation,
    #[command(flatten)]
    pub person: PersonOptions,
}

/// Options of `pyxis deny`.
#[derive(Debug, Args)]
pub struct Deny {
    /// Transaction id, or the link of the approval page.
    #[arg(value_name = "TXN")]
    pub txn: String,
    /// Reason for the agent, at most 2000 bytes.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub person: PersonOptions,
}

/// A number with `s`, `m`, `h` or `d`.
fn duration(text: &str) -> Result<Duration, String> {
    const HINT: &str = "write a number and a unit, for example 30m or 2h";
    let at = text.find(|char: char| !char.is_ascii_digit()).ok_or(HINT)?;
    let (number, unit) = text.split_at(at);
    let number: u64 = number.parse().map_err(|_| HINT)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(HINT.to_owned()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_with_its_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("30m"), Ok(Duration::from_mins(30)));
        assert_eq!(duration("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(duration("1d"), Ok(Duration::from_hours(24)));
        for wrong in ["", "30", "m", "1.5h", "-1m", "30 m", "30min", "99999999999999999d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
