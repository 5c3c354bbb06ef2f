//! Model quality: ranking, calibration, and the curves that show both.

use serde::{Deserialize, Serialize};

use crate::calibration::Curve;

/// Maximum number of points in a stored curve.
const POINTS: usize = 100;
/// Number of bins of calibration and of histograms.
const BINS: usize = 20;

/// The quality of scores of labeled addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Addresses with a score.
    pub scored: usize,
    /// Addresses with too little data.
    pub unscored: usize,
    /// Humans among the scored.
    pub humans: usize,
    /// Area under the ROC curve, humans over Sybils.
    pub auc: f64,
    /// Mean distance between probability and frequency over bins of equal width, weighted by their addresses (expected
    /// calibration error).
    pub calibration_error: f64,
    /// Mean squared error of the probability (Brier score).
    pub brier: f64,
    /// Share of true Sybils among those flagged when 50, 80, 90 and 95 % of all Sybils are flagged.
    pub precision_at_recall: Vec<(f64, f64)>,
    /// False positive rate and true positive rate of flagging Sybils.
    pub roc: Vec<(f64, f64)>,
    /// Recall and precision of flagging Sybils.
    pub precision_recall: Vec<(f64, f64)>,
    /// Mean probability, frequency of humans and number of addresses of each non-empty bin.
    pub calibration: Vec<(f64, f64, usize)>,
    /// Sybils and humans in each bin of the score, with bins of five points.
    pub histogram: Vec<(usize, usize)>,
}

/// Measures probabilities of being human; an answer of `None` means too little data. Returns `None` if one of the
/// classes has no score.
pub fn measure(answers: &[(Option<f64>, bool)]) -> Option<Quality> {
    let mut scored: Vec<(f64, bool)> =
        answers.iter().filter_map(|(score, human)| score.map(|score| (score, *human))).collect();
    scored.sort_by(|one, other| one.0.total_cmp(&other.0));
    let humans = scored.iter().filter(|(_, human)| *human).count();
    let sybils = scored.len() - humans;
    if humans == 0 || sybils == 0 {
        return None;
    }
    let steps = steps(&scored);
    let precision = |wanted: f64| {
        let reached = steps.iter().find(|(found, _)| float(*found) >= wanted * float(sybils));
        reached.map_or(0.0, |(found, wrong)| float(*found) / float(found + wrong))
    };
    let squared = scored.iter().map(|(score, human)| (score - f64::from(u8::from(*human))).powi(2));
    let roc =
        steps.iter().map(|(found, wrong)| (float(*wrong) / float(humans), float(*found) / float(sybils)));
    let curve = steps
        .iter()
        .filter(|(found, _)| *found > 0)
        .map(|(found, wrong)| (float(*found) / float(sybils), float(*found) / float(found + wrong)));
    let calibration = calibration(&scored);
    Some(Quality {
        scored: scored.len(),
        unscored: answers.len() - scored.len(),
        humans,
        auc: area(&steps, humans, sybils),
        calibration_error: calibration
            .iter()
            .map(|(mean, frequency, number)| (mean - frequency).abs() * float(*number))
            .sum::<f64>()
            / float(scored.len()),
        brier: squared.sum::<f64>() / float(scored.len()),
        precision_at_recall: [0.5, 0.8, 0.9, 0.95].map(|recall| (recall, precision(recall))).to_vec(),
        roc: thin(&roc.collect::<Vec<_>>()),
        precision_recall: thin(&curve.collect::<Vec<_>>()),
        calibration,
        histogram: histogram(&scored),
    })
}

/// Sybils found and humans flagged by mistake as ever more are flagged, ties together.
fn steps(scored: &[(f64, bool)]) -> Vec<(usize, usize)> {
    let (mut found, mut wrong) = (0, 0);
    let mut steps = vec![(0, 0)];
    for tie in scored.chunk_by(|one, next| one.0.total_cmp(&next.0).is_eq()) {
        let humans = tie.iter().filter(|(_, human)| *human).count();
        wrong += humans;
        found += tie.len() - humans;
        steps.push((found, wrong));
    }
    steps
}

/// By trapezoids, so that ties count one half.
fn area(steps: &[(usize, usize)], humans: usize, sybils: usize) -> f64 {
    let trapezoid =
        |pair: &[(usize, usize)]| float(pair[1].1 - pair[0].1) * float(pair[0].0 + pair[1].0) / 2.0;
    steps.windows(2).map(trapezoid).sum::<f64>() / (float(humans) * float(sybils))
}

fn calibration(scored: &[(f64, bool)]) -> Vec<(f64, f64, usize)> {
    let mut bins = vec![(0.0, 0_usize, 0_usize); BINS];
    for (score, human) in scored {
        let entry = &mut bins[bin(*score)];
        entry.0 += score;
        entry.1 += usize::from(*human);
        entry.2 += 1;
    }
    let filled = bins.into_iter().filter(|(_, _, number)| *number > 0);
    filled.map(|(sum, humans, number)| (sum / float(number), float(humans) / float(number), number)).collect()
}

fn histogram(scored: &[(f64, bool)]) -> Vec<(usize, usize)> {
    let mut bins = vec![(0, 0); BINS];
    for (score, human) in scored {
        let entry = &mut bins[bin(*score)];
        if *human {
            entry.1 += 1;
        } else {
            entry.0 += 1;
        }
    }
    bins
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a probability times twenty")]
fn bin(score: f64) -> usize {
    ((score * float(BINS)) as usize).min(BINS - 1)
}

/// Reduces a curve to few enough points to draw, including the ends, rounded so that a card stays small.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let last = points.len().saturating_sub(1);
    let step = points.len().div_ceil(POINTS).max(1);
    let kept = points.iter().enumerate().filter(|(index, _)| index % step == 0 || *index == last);
    kept.map(|(_, (x, y))| (round(*x), round(*y))).collect()
}

fn round(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

#[expect(clippy::cast_precision_loss, reason = "counts of addresses are far below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// Information of a model in nats: the reduction of the mean's log loss.
pub(crate) fn information(raw: &[(f64, bool)], curve: Curve) -> f64 {
    let humans = float(raw.iter().filter(|(_, human)| *human).count()) / float(raw.len().max(1));
    let entropy = -(humans * humans.ln() + (1.0 - humans) * (1.0 - humans).ln());
    let loss = |(answer, human): &(f64, bool)| {
        let probability = curve.probability(*answer).clamp(1e-9, 1.0 - 1e-9);
        -(if *human { probability } else { 1.0 - probability }).ln()
    };
    (entropy - raw.iter().map(loss).sum::<f64>() / float(raw.len().max(1))).max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs_in_the_right_order_and_ties_half() {
        // Pairs of a human and a Sybil: (0.9, 0.1) and (0.9, 0.5) right, (0.5, 0.1) right, (0.5, 0.5) tied.
        let scores = [(Some(0.9), true), (Some(0.5), true), (Some(0.5), false), (Some(0.1), false)];
        let quality = measure(&scores).unwrap();
        assert!((quality.auc - 3.5 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn precision_is_taken_where_enough_sybils_are_found() {
        // By score: Sybil, human, Sybil, human. Half of the Sybils cost no human, all of them cost one.
        let scores = [(Some(0.1), false), (Some(0.2), true), (Some(0.3), false), (Some(0.9), true)];
        let quality = measure(&scores).unwrap();
        assert_eq!(quality.precision_at_recall[0], (0.5, 1.0));
        assert!((quality.precision_at_recall[2].1 - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn calibration_compares_probability_and_frequency() {
        let mut scores = vec![(Some(0.725), true); 3];
        scores.push((Some(0.725), false));
        let quality = measure(&scores).unwrap();
        // Three out of four are human where the prediction was 0.725.
        assert!((quality.calibration_error - 0.025).abs() < 1e-9);
        assert_eq!(quality.histogram[14], (1, 3));
    }

    #[test]
    fn too_little_data_is_counted_apart_and_one_class_is_no_measure() {
        let quality = measure(&[(Some(0.9), true), (None, true), (Some(0.1), false)]).unwrap();
        assert_eq!((quality.scored, quality.unscored), (2, 1));
        assert_eq!(measure(&[(Some(0.9), true), (None, false)]), None);
    }
}
