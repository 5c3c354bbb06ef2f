//! Pictures as SVG: curves of a model's quality, and suspected groups. Colors follow the surrounding text, and the
//! numbers are in the description.

use std::fmt::Write;

use crate::clusters::{Group, SharedCounterparty};
use crate::metrics::{Quality, float};

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 300.0;
/// Space for axis names.
const MARGIN: f64 = 44.0;

/// False and true positives of flagging Sybils.
pub fn roc(quality: &Quality) -> String {
    let mut plot = Plot::new("ROC curve", &format!("Area under the curve {:.4}.", quality.auc));
    plot.axes("humans flagged", "Sybils flagged");
    plot.line(&[(0.0, 0.0), (1.0, 1.0)], true);
    plot.line(&quality.roc, false);
    plot.draw_note(0.5, 0.1, &format!("AUC {:.4}", quality.auc));
    plot.end()
}

/// Precision and recall of flagging Sybils.
pub fn precision_recall(quality: &Quality) -> String {
    let words: Vec<String> = quality
        .precision_at_recall
        .iter()
        .map(|(recall, precision)| format!("precision {precision:.3} at recall {recall}"))
        .collect();
    let mut plot = Plot::new("Precision and recall", &format!("{}.", words.join(", ")));
    plot.axes("Sybils flagged", "share of flagged that are Sybils");
    plot.line(&quality.precision_recall, false);
    plot.end()
}

/// Predicted against observed frequencies.
pub fn calibration(quality: &Quality) -> String {
    let words = format!("Expected calibration error {:.4}.", quality.calibration_error);
    let mut plot = Plot::new("Calibration", &words);
    plot.axes("probability of a human", "share of humans");
    plot.line(&[(0.0, 0.0), (1.0, 1.0)], true);
    let points: Vec<(f64, f64)> =
        quality.calibration.iter().map(|(mean, share, _)| (*mean, *share)).collect();
    plot.line(&points, false);
    for point in points {
        plot.dot(point, 3, &format!("predicted {:.2}, observed {:.2}", point.0, point.1));
    }
    plot.draw_note(0.5, 0.1, &format!("ECE {:.4}", quality.calibration_error));
    plot.end()
}

/// Sybils and humans by score.
pub fn histogram(quality: &Quality) -> String {
    let words = format!("{} addresses scored, {} of them human.", quality.scored, quality.humans);
    let mut plot = Plot::new("Scores", &words);
    plot.axes("score / 100 (solid: human, outlined: Sybil)", "addresses");
    let most = quality.histogram.iter().map(|(sybils, humans)| sybils + humans).max().unwrap_or(0).max(1);
    let width = 1.0 / float(quality.histogram.len().max(1));
    for (index, (sybils, humans)) in quality.histogram.iter().enumerate() {
        let (left, share) = (float(index) * width, |count: usize| float(count) / float(most));
        plot.bar(left, width, (0.0, share(*humans)), "currentColor");
        plot.bar(left, width, (share(*humans), share(humans + sybils)), "none");
    }
    plot.end()
}

/// Served scores by twentieths.
pub fn served(counts: &[i64]) -> String {
    let total: i64 = counts.iter().sum();
    let mut plot = Plot::new("Scores served", &format!("{total} scores served."));
    plot.axes("score / 100", "served");
    let count = |count: i64| float(usize::try_from(count).unwrap_or(0));
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let width = 1.0 / float(counts.len().max(1));
    for (index, served) in counts.iter().enumerate() {
        plot.bar(float(index) * width, width, (0.0, count(*served) / count(most)), "currentColor");
    }
    plot.end()
}

/// The members of a group in a circle, with the transfers between them.
pub fn group(group: &Group) -> String {
    let words = format!("{} users, median score {:.0}.", group.size, group.median_score);
    let mut plot = Plot::new(&format!("Group of {}", group.id), &words);
    let members = float(group.members.len().max(1));
    let place = |index: usize| {
        let angle = std::f64::consts::TAU * float(index) / members;
        (0.3f64.mul_add(angle.cos(), 0.5), 0.45f64.mul_add(angle.sin(), 0.5))
    };
    for (from, to) in &group.links {
        plot.line(&[place(*from), place(*to)], true);
    }
    // The funder is on the left, the sink on the right.
    let shared = [("funder", 0.05, &group.shared_funder), ("sink", 0.95, &group.shared_sink)];
    for (word, x, found) in shared {
        let Some(SharedCounterparty { address, who, .. }) = found else { continue };
        for member in who {
            plot.line(&[(x, 0.5), place(*member)], true);
        }
        plot.dot((x, 0.5), 6, &format!("{word} {address}"));
        plot.draw_label((x, 0.42), word);
    }
    for (index, member) in group.members.iter().enumerate() {
        plot.dot(place(index), 3, &member.address.to_string());
    }
    plot.end()
}

struct Plot(String);

impl Plot {
    fn new(title: &str, words: &str) -> Self {
        let (title, words) = (escaped(title), escaped(words));
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"currentColor\">\
             <title>{title}</title><desc>{words}</desc>"
        ))
    }

    fn axes(&mut self, x: &str, y: &str) {
        let ((left, bottom), (right, top)) = (at((0.0, 0.0)), at((1.0, 1.0)));
        self.push(format_args!(
            "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"currentColor\"/>"
        ));
        for (share, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
            let (along, _) = at((share, 0.0));
            self.push(format_args!(
                "<text x=\"{along}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 14.0
            ));
        }
        let (middle, _) = at((0.5, 0.0));
        self.push(format_args!(
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 30.0,
            escaped(x)
        ));
        let (_, half) = at((0.0, 0.5));
        self.push(format_args!(
            "<text transform=\"translate({} {half}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            left - 10.0,
            escaped(y)
        ));
    }

    fn line(&mut self, points: &[(f64, f64)], thin: bool) {
        let mut path = String::new();
        for (index, point) in points.iter().enumerate() {
            let (x, y) = at(*point);
            let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
        }
        let look = if thin { "stroke-width=\"1\" stroke-opacity=\"0.35\"" } else { "stroke-width=\"2\"" };
        self.push(format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"currentColor\" {look}/>"));
    }

    fn dot(&mut self, point: (f64, f64), size: u8, title: &str) {
        let ((x, y), title) = (at(point), escaped(title));
        self.push(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\"><title>{title}</title></circle>"
        ));
    }

    fn draw_label(&mut self, point: (f64, f64), word: &str) {
        let ((x, y), word) = (at(point), escaped(word));
        self.push(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{word}</text>"));
    }

    fn bar(&mut self, left: f64, width: f64, (from, to): (f64, f64), fill: &str) {
        let ((x, bottom), (right, top)) = (at((left, from)), at((left + width, to)));
        self.push(format_args!(
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" \
             stroke=\"currentColor\" stroke-dasharray=\"2 1\"/>",
            x + 1.0,
            (right - x - 2.0).max(0.0),
            (bottom - top).max(0.0)
        ));
    }

    fn draw_note(&mut self, x: f64, y: f64, text: &str) {
        let (x, y) = at((x, y));
        self.push(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"13\">{}</text>", escaped(text)));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.0.write_fmt(text);
    }

    fn end(mut self) -> String {
        self.0.push_str("</svg>");
        self.0
    }
}

/// Converts shares of the axes to positions in the picture.
fn at((x, y): (f64, f64)) -> (f64, f64) {
    (x.mul_add(WIDTH - MARGIN - 12.0, MARGIN), (1.0 - y).mul_add(HEIGHT - MARGIN - 12.0, 12.0))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;

    #[test]
    fn pictures_carry_their_numbers_as_text_and_no_style() {
        let scores = [(Some(0.9), true), (Some(0.2), false), (Some(0.6), true), (Some(0.7), false)];
        let quality = metrics::measure(&scores).unwrap();
        for picture in [roc(&quality), precision_recall(&quality), calibration(&quality), histogram(&quality)]
        {
            assert!(picture.starts_with("<svg") && picture.ends_with("</svg>"));
            assert!(picture.contains("<title>") && picture.contains("<desc>"));
            assert!(!picture.contains("style=") && !picture.contains("NaN"), "{picture}");
        }
        assert!(roc(&quality).contains("0.7500"));
    }
}
