//! A chart as small as a word: one thing over time, next to others on the same scale.

use super::{Segment, as_float, round};

/// Width of the view box.
pub const WIDTH: f64 = 120.0;
/// Height of the view box.
pub const HEIGHT: f64 = 24.0;
/// Least height of a bar that is not zero, so that it stays visible.
const LEAST: f64 = 1.5;
const CLASSES: [&str; 2] = ["chart-1", "chart-3"];

/// Small bars: admitted requests, with refused ones stacked on top.
#[derive(Clone, Debug)]
pub struct Spark {
    /// Description in one sentence, with the main number.
    pub description: String,
    /// The bars' segments.
    pub segments: Vec<Segment>,
}

impl Spark {
    /// Lays out `bars`; a bar of `most` reaches the top.
    pub fn new(description: String, bars: &[[u64; 2]], most: u64) -> Self {
        let step = WIDTH / as_float(bars.len().max(1) as u64);
        let mut segments = Vec::new();
        for (place, bar) in (0_u64..).zip(bars) {
            let mut y = HEIGHT;
            for (count, class) in bar.iter().zip(CLASSES).filter(|(count, _)| **count > 0) {
                let height = (as_float(*count) / as_float(most.max(1)) * HEIGHT).max(LEAST).min(y);
                y -= height;
                let x = round(as_float(place) * step);
                let (y, width, height) = (round(y), round(step * 0.75), round(height));
                segments.push(Segment { x, y, width, height, class });
            }
        }
        Self { description, segments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(x: f64, y: f64, width: f64, height: f64, class: &'static str) -> Segment {
        Segment { x, y, width, height, class }
    }

    #[test]
    fn bars_stand_on_the_ground_and_the_largest_reaches_the_top() {
        let spark = Spark::new(String::new(), &[[6, 2], [0, 0], [0, 4]], 8);
        let (admitted, refused) =
            (part(0.0, 6.0, 30.0, 18.0, "chart-1"), part(0.0, 0.0, 30.0, 6.0, "chart-3"));
        assert_eq!(spark.segments, [admitted, refused, part(80.0, 12.0, 30.0, 12.0, "chart-3")]);
    }

    #[test]
    fn what_is_small_can_still_be_seen() {
        let spark = Spark::new(String::new(), &[[1, 0]], 1_000_000);
        assert_eq!(spark.segments, [part(0.0, 22.5, 90.0, 1.5, "chart-1")]);
        assert!(Spark::new(String::new(), &[], 0).segments.is_empty());
    }
}
