//! Usage of an API key's budget.

use pyxis_core::clock::UnixMillis;
use pyxis_core::window;
use pyxis_scoring::service::api_keys::Usage;
use pyxis_store::usage::Surface;

use super::scoring::count;
use crate::chart::{Bucket, Series, StackedBars};
use crate::text;

/// Span of the chart, in hours.
pub(super) const HOURS: u32 = 24;
/// Length of a window, in milliseconds.
const QUARTER: i64 = 15 * 60 * 1000;

/// `Tier 2: 350 per 15 minutes`.
pub(super) fn budget(tier: i64, limit: i64) -> String {
    let limit = text::grouped(count(limit));
    if tier == 4 {
        format!("Custom: {limit} per 15 minutes")
    } else {
        format!("Tier {tier}: {limit} per 15 minutes")
    }
}

/// `12 of 350`.
pub(super) fn part(used: i64, limit: i64) -> String {
    format!("{} of {}", text::grouped(count(used)), text::grouped(count(limit)))
}

/// Requests that the current window has admitted at the Stamps endpoints.
pub(super) fn in_window(usage: &Usage, now: UnixMillis) -> i64 {
    let start = window::quarter_start(now);
    let here = |surface: Surface, at: UnixMillis| surface == Surface::Stamps && at == start;
    let window = usage.windows.iter().find(|window| here(window.surface, window.window_start_at));
    window.map_or(0, |window| window.admitted)
}

/// Requests by window; those to models are a separate series, if there are any.
pub(super) fn chart(usage: &Usage) -> StackedBars {
    let mut buckets: Vec<Bucket> = (0..(usage.to.0 - usage.from.0) / QUARTER)
        .map(|number| Bucket {
            label: text::minute(UnixMillis(usage.from.0 + number * QUARTER)),
            counts: vec![0; 4],
        })
        .collect();
    let mut totals = [0_u64; 4];
    for window in &usage.windows {
        let place = usize::try_from((window.window_start_at.0 - usage.from.0) / QUARTER).unwrap_or(0);
        let first = if window.surface == Surface::Stamps { 0 } else { 2 };
        let Some(bucket) = buckets.get_mut(place) else { continue };
        for (series, number) in [(first, window.admitted), (first + 1, window.refused)] {
            bucket.counts[series] += count(number);
            totals[series] += count(number);
        }
    }
    let kinds = [
        ("Answered", "chart-1"),
        ("Over the limit", "chart-3"),
        ("Models", "chart-2"),
        ("Models, over the limit", "chart-4"),
    ];
    let shown = if totals[2] + totals[3] == 0 { 2 } else { 4 };
    for bucket in &mut buckets {
        bucket.counts.truncate(shown);
    }
    let series = kinds[..shown].iter().map(|(name, class)| Series { name: (*name).to_owned(), class });
    let description = format!(
        "{} answered and {} refused over the limit in the 24 hours to {}.",
        text::count_noun(totals[0] + totals[2], "request"),
        text::grouped(totals[1] + totals[3]),
        text::absolute(usage.to)
    );
    StackedBars::new("Requests in the last 24 hours", description, series.collect(), buckets)
}

#[cfg(test)]
mod tests {
    use pyxis_store::usage::WindowRow;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_767_225_600_000 + 7 * 60 * 1000);

    fn usage(windows: Vec<WindowRow>) -> Usage {
        let to = window::quarter_end(NOW);
        Usage { from: UnixMillis(to.0 - 24 * 4 * QUARTER), to, stamps_limit: 1350, models_limit: 15, windows }
    }

    fn row(surface: Surface, quarters_ago: i64) -> WindowRow {
        let start = UnixMillis(window::quarter_start(NOW).0 - quarters_ago * QUARTER);
        WindowRow { surface, window_start_at: start, admitted: 1200, refused: 3, last_at: start }
    }

    #[test]
    fn each_window_is_one_bar_and_the_present_one_is_the_last() {
        let drawn = chart(&usage(vec![row(Surface::Stamps, 95), row(Surface::Stamps, 0)]));
        assert_eq!((drawn.buckets.len(), drawn.series.len()), (96, 2));
        assert_eq!(
            (&drawn.buckets[0].counts[..], &drawn.buckets[95].counts[..]),
            (&[1200, 3][..], &[1200, 3][..])
        );
        assert_eq!(drawn.last_label(), "2026-01-01 00:00");
        assert!(chart(&usage(Vec::new())).is_empty());
    }

    #[test]
    fn models_stand_apart_where_there_were_any() {
        assert_eq!(chart(&usage(vec![row(Surface::Models, 1)])).series.len(), 4);
    }

    #[test]
    fn the_present_window_says_how_much_of_the_budget_is_used() {
        let used = usage(vec![row(Surface::Stamps, 0), row(Surface::Models, 0)]);
        assert_eq!(part(in_window(&used, NOW), used.stamps_limit), "1,200 of 1,350");
        assert_eq!(in_window(&usage(vec![row(Surface::Stamps, 1)]), NOW), 0);
        assert_eq!(budget(2, 350), "Tier 2: 350 per 15 minutes");
        assert_eq!(budget(4, 5000), "Custom: 5,000 per 15 minutes");
    }
}
