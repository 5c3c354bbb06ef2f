//! The process itself.

use std::collections::BTreeSet;

use pyxis_core::metric;

use super::{is_recent, measured};
use crate::support::metrics::{page, value};
use crate::support::{App, Setup};

#[tokio::test]
async fn a_new_server_says_what_it_is_and_since_when() {
    let app = App::start(measured(Setup::new())).await;
    let page = page(&app).await;
    let build = format!("pyxis_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&page, &build), Some(1.0));
    assert!(value(&page, "pyxis_start_timestamp_seconds").is_some_and(is_recent), "{page}");
    // A counter with two labels begins at 0 as well, so that the first event is an increase.
    for channel in ["webhook", "email", "push"] {
        for result in ["delivered", "failed"] {
            let series = format!("pyxis_deliveries_total{{channel=\"{channel}\",result=\"{result}\"}}");
            assert_eq!(value(&page, &series), Some(0.0), "{series}");
        }
    }
    let names: BTreeSet<_> = metric::all().map(|metric| metric.name).collect();
    let described = page.lines().filter_map(|line| line.strip_prefix("# HELP "));
    assert!(described.map(|line| line.split(' ').next().unwrap()).all(|name| names.contains(name)), "{page}");
}
