//! The page of metrics, as a collector reads it.

use super::App;
use super::client::{Address, Client};

/// The page of a server that was started with `PX_METRICS_LISTEN`.
pub(crate) async fn page(app: &App) -> String {
    let address = app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    Client::new(Address::new(address)).get("/metrics").send().await.expect(200).text()
}

/// Value of a series, by its name and labels.
pub(crate) fn value(page: &str, series: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|number| number.parse().unwrap())
}
