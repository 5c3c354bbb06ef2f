//! Gets the score of an address.

use std::env;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use ureq::Agent;

/// Without an answer for this long a request is given up.
const TIMEOUT_SECONDS: f64 = 60.0;
const ATTEMPTS: u32 = 5;
/// Each delay is twice the one before.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// What a client mostly wants of a score record.
#[derive(Debug, Deserialize)]
struct ScoreRecord {
    /// Decimal number with five decimals.
    score: String,
    passing_score: bool,
}

/// What came of one request.
enum Outcome {
    Record(ScoreRecord),
    /// To ask again is of no use.
    Refused(String),
    /// To be asked again, no earlier than after a pause.
    Again(String, Duration),
}

/// Fails when there is no connection, or no answer to its end in time.
fn ask(agent: &Agent, url: &str, api_key: &str) -> Result<Outcome, ureq::Error> {
    let mut response = agent.get(url).header("X-API-KEY", api_key).call()?;
    let status = response.status().as_u16();
    if status == 200 {
        return response.body_mut().read_json().map(Outcome::Record);
    }
    let asked = response.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.parse().ok());
    let problem = format!("{status}: {}", response.body_mut().read_to_string()?);
    Ok(match status {
        429 | 502 | 503 | 504 => Outcome::Again(problem, Duration::from_secs(asked.unwrap_or_default())),
        _ => Outcome::Refused(problem),
    })
}

fn get_score(agent: &Agent, url: &str, api_key: &str) -> Result<ScoreRecord> {
    let mut delay = FIRST_DELAY;
    for attempt in 1.. {
        let (problem, least) = match ask(agent, url, api_key) {
            Ok(Outcome::Record(record)) => return Ok(record),
            Ok(Outcome::Refused(problem)) => bail!(problem),
            Ok(Outcome::Again(problem, least)) => (problem, least),
            Err(error) => (error.to_string(), Duration::ZERO),
        };
        if attempt == ATTEMPTS {
            bail!("given up after {ATTEMPTS} attempts: {problem}");
        }
        sleep(delay.max(least));
        delay *= 2;
    }
    unreachable!("the last attempt returns")
}

fn main() -> Result<()> {
    let var = |name: &str| env::var(name).context(name.to_owned());
    let (base, scorer) = (var("PYXIS_URL")?, var("PYXIS_SCORER_ID")?);
    let address = env::args().nth(1).context("name an address")?;
    let timeout = env::var("PYXIS_TIMEOUT_SECONDS").map_or(Ok(TIMEOUT_SECONDS), |text| text.parse())?;
    // A status is an answer, not an error.
    let config = Agent::config_builder()
        .timeout_global(Some(Duration::from_secs_f64(timeout)))
        .http_status_as_error(false)
        .build();
    let url = format!("{}/v2/stamps/{scorer}/score/{address}", base.trim_end_matches('/'));
    let record = get_score(&Agent::new_with_config(config), &url, &var("PYXIS_API_KEY")?)?;
    println!("{} {}", record.score, if record.passing_score { "passes" } else { "does not pass" });
    Ok(())
}
