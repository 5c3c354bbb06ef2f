//! Charts drawn on the server: numbers in, geometry out; the template writes the SVG.
//!
//! A chart has a title, a description and the table behind it, so it can be read without being seen.

pub mod histogram;
pub mod meter;
pub mod spark;

use crate::text;

/// One kind of bar segment. `class` is `chart-1` to `chart-4` in the stylesheet.
#[derive(Clone, Debug)]
pub struct Series {
    /// Label in the legend and the table.
    pub name: String,
    /// CSS class that colors it.
    pub class: &'static str,
}

/// One time bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Start of the bucket, as the table and tooltip show it (`Nov 21, 14:00`).
    pub label: String,
    /// One count per series, in their order; missing ones are zero.
    pub counts: Vec<u64>,
}

impl Bucket {
    fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// A rectangle, in the units of the view box.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    pub width: f64,
    pub height: f64,
    /// CSS class of its series.
    pub class: &'static str,
}

/// One bar: segments from the bottom up, and its tooltip.
#[derive(Clone, Debug)]
pub struct ChartBar {
    /// `Nov 21, 14:00: 12 passed, 1 denied`.
    pub tooltip: String,
    /// Segments; zero counts have none.
    pub segments: Vec<Segment>,
}

/// A horizontal line with its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Gridline {
    /// Height of the line.
    pub y: f64,
    /// The number, short enough for the space left of the bars: `40`, `2.5k`.
    pub label: String,
}

/// Stacked bars over time, ready for `chart.html`.
#[derive(Clone, Debug)]
pub struct StackedBars {
    /// Prefix of the ids of its parts.
    pub id: &'static str,
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart in one sentence, with the main numbers.
    pub description: String,
    /// The kinds, bottom first.
    pub series: Vec<Series>,
    /// The numbers, oldest first: the table behind the chart.
    pub buckets: Vec<Bucket>,
    /// The bars, one for each bucket.
    pub bars: Vec<ChartBar>,
    /// Lines at zero, half and the top.
    pub gridlines: Vec<Gridline>,
}

/// Width of the view box.
pub const WIDTH: f64 = 720.0;
/// Height of the view box.
pub const HEIGHT: f64 = 132.0;
const LEFT: f64 = 34.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 124.0;

impl StackedBars {
    /// Lays out `buckets`; an empty chart has gridlines and no bars.
    pub fn new(title: &str, description: String, series: Vec<Series>, buckets: Vec<Bucket>) -> Self {
        let top = axis_top(buckets.iter().map(Bucket::total).max().unwrap_or(0));
        let bars = buckets
            .iter()
            .enumerate()
            .map(|(index, bucket)| bar(&series, bucket, slot(index, buckets.len()), top))
            .collect();
        Self {
            id: "chart",
            title: title.to_owned(),
            description,
            series,
            buckets,
            bars,
            gridlines: gridlines(top),
        }
    }

    /// Sets the id prefix, for a page with several charts.
    #[must_use]
    pub fn with_id(self, id: &'static str) -> Self {
        Self { id, ..self }
    }

    /// True if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.total() == 0)
    }

    /// Label of the first bucket.
    pub fn first_label(&self) -> &str {
        self.buckets.first().map_or("", |bucket| &bucket.label)
    }

    /// Label of the last bucket.
    pub fn last_label(&self) -> &str {
        self.buckets.last().map_or("", |bucket| &bucket.label)
    }
}

/// Lines at zero, half and the top.
fn gridlines(top: u64) -> Vec<Gridline> {
    [0, top / 2, top]
        .into_iter()
        .map(|label| Gridline { y: round(BOTTOM - scaled(label, top)), label: text::short_count(label) })
        .collect()
}

/// Left edge and width of a bar, with a gap of a fifth.
fn slot(index: usize, count: usize) -> (f64, f64) {
    let step = (WIDTH - LEFT) / as_float(count.max(1) as u64);
    let width = (step * 0.8).min(28.0);
    (LEFT + step * as_float(index as u64) + (step - width) / 2.0, width)
}

fn bar(series: &[Series], bucket: &Bucket, (x, width): (f64, f64), top: u64) -> ChartBar {
    let mut y = BOTTOM;
    let mut segments = Vec::new();
    let mut words = Vec::new();
    for (kind, count) in series.iter().zip(&bucket.counts).filter(|(_, count)| **count > 0) {
        let height = scaled(*count, top);
        y -= height;
        segments.push(Segment {
            x: round(x),
            y: round(y),
            width: round(width),
            height: round(height),
            class: kind.class,
        });
        words.push(format!("{count} {}", kind.name.to_lowercase()));
    }
    let tooltip = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    ChartBar { tooltip: format!("{}: {tooltip}", bucket.label), segments }
}

/// The smallest even number that is at least `max` and 1, 2, 4, 5, 6 or 8 times a power of ten. Half of it is a whole
/// number too.
fn axis_top(max: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for factor in [2, 4, 5, 6, 8, 10] {
            let top = power.saturating_mul(factor);
            if top >= max.max(2) && top.is_multiple_of(2) {
                return top;
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return u64::MAX - 1,
        }
    }
}

fn scaled(count: u64, top: u64) -> f64 {
    as_float(count) / as_float(top.max(1)) * (BOTTOM - TOP)
}

#[expect(clippy::cast_precision_loss, reason = "a pixel does not need 53 bits")]
fn as_float(count: u64) -> f64 {
    count as f64
}

/// Two decimals keep the page small.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(counts: &[&[u64]]) -> StackedBars {
        let series = vec![
            Series { name: "Passed".into(), class: "chart-1" },
            Series { name: "Denied".into(), class: "chart-2" },
        ];
        let buckets = counts
            .iter()
            .enumerate()
            .map(|(hour, counts)| Bucket { label: format!("{hour:02}:00"), counts: counts.to_vec() })
            .collect();
        StackedBars::new("Requests", "two hours".into(), series, buckets)
    }

    #[test]
    fn segments_stack_from_the_bottom_without_overlap() {
        let chart = chart(&[&[6, 2], &[0, 0]]);
        let segments = &chart.bars[0].segments;
        assert_eq!(segments.len(), 2);
        assert!((segments[0].y + segments[0].height - BOTTOM).abs() < 0.02);
        assert!((segments[1].y + segments[1].height - segments[0].y).abs() < 0.02);
        assert!((segments[1].y - TOP).abs() < 0.02, "8 of 8 reaches the top");
        assert!(chart.bars[1].segments.is_empty());
    }

    #[test]
    fn tooltips_name_every_count_and_none() {
        let chart = chart(&[&[6, 2], &[0, 0]]);
        assert_eq!(chart.bars[0].tooltip, "00:00: 6 passed, 2 denied");
        assert_eq!(chart.bars[1].tooltip, "01:00: none");
    }

    #[test]
    fn the_axis_ends_at_a_round_even_number() {
        for (max, top) in [(0, 2), (1, 2), (3, 4), (7, 8), (9, 10), (11, 20), (41, 50), (99, 100), (101, 200)]
        {
            assert_eq!(axis_top(max), top, "{max}");
        }
        assert_eq!(axis_top(u64::MAX), u64::MAX - 1);
    }

    #[test]
    fn numbers_beside_the_gridlines_fit_into_their_space() {
        for busiest in [0, 7, 95, 4_999, 250_000, 3_000_000, 1_999_999_999, 7_000_000_000_000] {
            for line in gridlines(axis_top(busiest)) {
                // A character of the 10 px monospaced font is 6.02 wide, and the text ends at 28.
                let width = as_float(line.label.len() as u64) * 6.02;
                assert!(width <= 28.0, "{} of {busiest}", line.label);
            }
        }
    }

    #[test]
    fn a_chart_without_numbers_is_empty_and_keeps_its_gridlines() {
        let chart = chart(&[]);
        assert!(chart.is_empty());
        assert_eq!(chart.gridlines.iter().map(|g| g.label.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
        assert_eq!(chart.first_label(), "");
    }
}
