//! A score as one bar: each Stamp's contribution, and the threshold.

use pyxis_core::decimal::Decimal;

use super::{as_float, round};

/// Width of the view box.
pub const WIDTH: f64 = 720.0;

/// A part of the bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub tooltip: String,
    /// Left edge.
    pub x: f64,
    pub width: f64,
    /// CSS class.
    pub class: &'static str,
}

/// The bar, ready for `explorer.html`.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Description in one sentence.
    pub description: String,
    /// Contribution of each Stamp, largest first.
    pub parts: Vec<Part>,
    /// Position of the threshold.
    pub needed: f64,
}

impl Meter {
    /// Lays out the contributions of Stamps, given by name.
    pub fn new(description: String, mut gives: Vec<(String, Decimal)>, threshold: Decimal) -> Self {
        gives.retain(|(_, gives)| *gives > Decimal::ZERO);
        gives.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let score: Decimal = gives.iter().map(|(_, gives)| *gives).sum();
        // Room to the right of the threshold, so that passing it is visible.
        let end = (threshold.units().saturating_add(threshold.units() / 4)).max(score.units()).max(1);
        let x = |units: i64| WIDTH * float(units) / float(end);
        let mut from = 0;
        let mut parts = Vec::with_capacity(gives.len());
        for (index, (name, gives)) in gives.into_iter().enumerate() {
            let to = from + gives.units();
            parts.push(Part {
                tooltip: format!("{name}: {}", crate::text::plain(gives)),
                x: round(x(from)),
                width: round((x(to) - x(from) - 1.0).max(0.5)),
                class: if index % 2 == 0 { "part" } else { "part odd" },
            });
            from = to;
        }
        Self { description, parts, needed: round(x(threshold.units())) }
    }
}

fn float(units: i64) -> f64 {
    as_float(u64::try_from(units).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_bar_up_to_the_mark_exactly_when_the_score_passes() {
        let decimal = |text: &str| text.parse::<Decimal>().unwrap();
        let gives =
            vec![("Ens".into(), decimal("5")), ("X".into(), decimal("15")), ("Idle".into(), Decimal::ZERO)];
        let meter = Meter::new(String::new(), gives, decimal("20"));
        assert_eq!(
            meter.parts.iter().map(|part| part.tooltip.as_str()).collect::<Vec<_>>(),
            ["X: 15", "Ens: 5"]
        );
        let end = meter.parts[1].x + meter.parts[1].width + 1.0;
        assert!((end - meter.needed).abs() < 0.05, "{end} {}", meter.needed);
        assert!(meter.needed < WIDTH);
        assert!(Meter::new(String::new(), Vec::new(), Decimal::ZERO).parts.is_empty());
    }
}
