//! Distribution of scores before and after a change, with the threshold.

use pyxis_core::decimal::Decimal;

use super::{BOTTOM, Gridline, LEFT, WIDTH, as_float, axis_top, gridlines, round, scaled};
use crate::text;

/// Most bins. A threshold far beyond every score is named at the edge instead.
const MOST_BINS: usize = 60;

/// Widest average of a character in a mark's text.
const CHARACTER: f64 = 6.5;

/// Scores in `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Lowest score.
    pub from: Decimal,
    /// Lowest score of the next bin.
    pub to: Decimal,
    /// Addresses in this bin now.
    pub before: u64,
    /// Addresses in this bin with the draft.
    pub after: u64,
}

impl Bin {
    /// `0 to under 2`.
    pub fn label(&self) -> String {
        format!("{} to under {}", text::plain(self.from), text::plain(self.to))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    pub width: f64,
    pub height: f64,
    /// CSS class: `before` or `chart-1`.
    pub class: &'static str,
}

/// A place on the score axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Position on the axis.
    pub x: f64,
    /// Text of the mark.
    pub label: String,
    /// Alignment of the text to the position: `start`, `middle` or `end`.
    pub anchor: &'static str,
    /// True for the stored state, false for the draft.
    pub old: bool,
    /// True on a second row, where it does not cover another mark.
    pub raised: bool,
}

impl Mark {
    /// Aligns the text to stay within the chart: at its left edge the text starts, and at its right edge it ends.
    fn within(self) -> Self {
        let width = as_float(self.label.chars().count() as u64) * CHARACTER;
        let (left, right) = match self.anchor {
            "start" => (self.x, self.x + width),
            "end" => (self.x - width, self.x),
            _ => (self.x - width / 2.0, self.x + width / 2.0),
        };
        let anchor = if right > WIDTH {
            "end"
        } else if left < 0.0 {
            "start"
        } else {
            self.anchor
        };
        Self { anchor, ..self }
    }
}

/// Two histograms over one axis, ready for `scorer_preview.html`.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Description in one sentence, with the main numbers.
    pub description: String,
    /// The numbers, lowest scores first.
    pub bins: Vec<Bin>,
    /// The bars of each bin, with its tooltip.
    pub columns: Vec<(String, Vec<Column>)>,
    /// Lines at zero, half and the top.
    pub gridlines: Vec<Gridline>,
    /// Numbers below the axis.
    pub ticks: Vec<Mark>,
    /// The thresholds: one mark, or two if the draft moves it.
    pub needed: Vec<Mark>,
}

impl Histogram {
    /// Lays out bins of equal width without gaps, starting at zero; `before` and `after` are the thresholds.
    pub fn new(description: String, mut bins: Vec<Bin>, before: Decimal, after: Decimal) -> Self {
        let Some(first) = bins.first().copied() else { return Self { description, ..Self::default() } };
        let width = (first.to.units() - first.from.units()).max(1);
        extend_bins(&mut bins, before.max(after), width);
        let top = axis_top(bins.iter().map(|bin| bin.before.max(bin.after)).max().unwrap_or(0));
        let axis = Axis { width, bins: bins.len() };
        Self {
            description,
            columns: bins.iter().enumerate().map(|(index, bin)| axis.columns(index, bin, top)).collect(),
            gridlines: gridlines(top),
            ticks: axis.ticks(),
            needed: axis.threshold_marks(before, after),
            bins,
        }
    }
}

/// Adds empty bins until one of them contains `score`.
fn extend_bins(bins: &mut Vec<Bin>, score: Decimal, width: i64) {
    while let Some(last) = bins.last().copied()
        && last.to <= score
        && bins.len() < MOST_BINS
    {
        let to = Decimal::from_units(last.to.units() + width);
        bins.push(Bin { from: last.to, to, before: 0, after: 0 });
    }
}

/// The score axis.
#[derive(Clone, Copy)]
struct Axis {
    /// Width of a bin, in the unit of [`Decimal`].
    width: i64,
    bins: usize,
}

impl Axis {
    fn step(self) -> f64 {
        (WIDTH - LEFT) / as_float(self.bins.max(1) as u64)
    }

    fn x(self, score: Decimal) -> f64 {
        let bins = as_float(u64::try_from(score.units()).unwrap_or(0))
            / as_float(u64::try_from(self.width).unwrap_or(1));
        round((LEFT + bins * self.step()).min(WIDTH))
    }

    fn columns(self, index: usize, bin: &Bin, top: u64) -> (String, Vec<Column>) {
        let step = self.step();
        let width = (step * 0.4).min(18.0);
        let middle = LEFT + step * (as_float(index as u64) + 0.5);
        let bars = [(bin.before, middle - width, "before"), (bin.after, middle, "chart-1")];
        let columns = bars
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, x, class)| {
                // A single address among thousands stays visible.
                let height = scaled(count, top).max(1.0);
                let (y, height) = (round(BOTTOM - height), round(height));
                Column { x: round(x), y, width: round(width - 0.5), height, class }
            })
            .collect();
        (format!("{}: {} now, {} with this draft", bin.label(), bin.before, bin.after), columns)
    }

    /// About a dozen numbers.
    fn ticks(self) -> Vec<Mark> {
        let tick = |bin: usize| {
            let score = Decimal::from_units(i64::try_from(bin).unwrap_or(0).saturating_mul(self.width));
            Mark { x: self.x(score), label: text::plain(score), anchor: "middle", old: false, raised: false }
                .within()
        };
        (0..=self.bins).step_by(self.bins / 12 + 1).map(tick).collect()
    }

    /// Two marks turn away from each other, so that both can be read. Where there is no room for that, one is raised.
    fn threshold_marks(self, before: Decimal, after: Decimal) -> Vec<Mark> {
        let mark = |at: Decimal, words: &str, anchor, old| {
            let label = format!("{words} {}", text::plain(at));
            Mark { x: self.x(at), label, anchor, old, raised: false }.within()
        };
        if before == after {
            return vec![mark(after, "threshold", "middle", false)];
        }
        let (left, right) = if after < before { ("start", "end") } else { ("end", "start") };
        let now = mark(before, "now", left, true);
        let draft = mark(after, "threshold", right, false);
        let raised = now.anchor == draft.anchor;
        vec![now, Mark { raised, ..draft }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn bin(from: &str, to: &str, before: u64, after: u64) -> Bin {
        Bin { from: decimal(from), to: decimal(to), before, after }
    }

    fn drawn(before: &str, after: &str) -> Histogram {
        let bins = vec![bin("0", "2", 40, 30), bin("2", "4", 0, 1)];
        Histogram::new(String::new(), bins, decimal(before), decimal(after))
    }

    #[test]
    fn the_axis_reaches_the_score_that_is_needed() {
        let chart = drawn("20", "20");
        assert_eq!(chart.bins.len(), 11);
        assert_eq!(chart.bins[10].label(), "20 to under 22");
        assert_eq!(chart.needed.len(), 1);
        assert!(chart.needed[0].x < WIDTH);
        assert_eq!(drawn("9000000", "9000000").bins.len(), MOST_BINS);
    }

    #[test]
    fn a_threshold_that_moves_is_marked_twice_with_words_that_turn_away() {
        let chart = drawn("3", "1.5");
        let marks: Vec<_> = chart.needed.iter().map(|mark| (mark.label.as_str(), mark.anchor)).collect();
        assert_eq!(marks, [("now 3", "start"), ("threshold 1.5", "end")]);
        assert!(chart.needed[1].x < chart.needed[0].x);
    }

    #[test]
    fn the_text_of_a_mark_stays_within_the_chart() {
        for (before, after) in
            [("20", "20"), ("0", "0"), ("1", "20"), ("19.5", "20"), ("0", "0.1"), ("20", "3")]
        {
            let chart = drawn(before, after);
            for mark in chart.needed.iter().chain(&chart.ticks) {
                let width = as_float(mark.label.len() as u64) * 6.0;
                let left = match mark.anchor {
                    "start" => mark.x,
                    "end" => mark.x - width,
                    _ => mark.x - width / 2.0,
                };
                assert!(left >= 0.0 && left + width <= WIDTH + 0.01, "{mark:?}");
            }
            if let [now, draft] = &chart.needed[..] {
                assert_eq!(draft.raised, now.anchor == draft.anchor, "{now:?} {draft:?}");
            }
        }
    }

    #[test]
    fn bars_stand_side_by_side_and_few_are_still_seen() {
        let chart = drawn("3", "3");
        let first = &chart.columns[0].1;
        assert!(first[0].x + first[0].width <= first[1].x);
        assert!(chart.columns[1].1[0].height >= 1.0);
        assert_eq!(chart.columns[0].0, "0 to under 2: 40 now, 30 with this draft");
        let nothing = Histogram::new(String::new(), Vec::new(), decimal("1"), decimal("1"));
        assert!(nothing.columns.is_empty());
    }
}
