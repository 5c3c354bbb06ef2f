//! Measures models by their answers about addresses that they did not see.

use super::fit::{self, Matrix};
use super::{LABELED, Options, Spec, Steps, UNSEEN};
use crate::Error;
use crate::bundle::{Single, mean};
use crate::calibration::Curve;
use crate::dataset::{FOLDS, Row, Split};
use crate::metrics::{self, Quality, information};
use crate::scope::{ChainScope, Model};

/// The raw answer of a model that did not see the row.
#[derive(Clone, Copy, Debug)]
struct Raw {
    row: usize,
    fold: u64,
    answer: f64,
    human: bool,
}

/// Every model's answers to left-out rows, in one view of them.
pub(super) struct Measured<'a> {
    rows: &'a [Row],
    specs: &'a [Spec],
    /// Answers by model.
    raw: Vec<Vec<Raw>>,
    folds: Vec<u64>,
}

/// Calibration with curves fitted without the rows that they are measured on: for each model and each left-out part,
/// and for the aggregate.
pub(super) struct CrossValidatedCalibration {
    singles: Vec<Vec<(Curve, f64)>>,
    aggregate: Vec<Curve>,
}

impl<'a> Measured<'a> {
    /// Trains on all parts but one, in turn, and predicts that one in each of `views`, which contain the same wallets.
    pub(super) fn cross_validate(
        learned: &[Row],
        views: &[&'a [Row]],
        specs: &'a [Spec],
        split: Split,
        options: &Options,
        steps: &mut Steps<'_>,
    ) -> Result<Vec<Self>, Error> {
        let folds: Vec<u64> = learned.iter().map(|row| row.fold_index(split, options.seed)).collect();
        let empty = |rows| Self { rows, specs, raw: vec![Vec::new(); specs.len()], folds: folds.clone() };
        let mut measured: Vec<Self> = views.iter().copied().map(empty).collect();
        for (index, spec) in specs.iter().enumerate() {
            for left_out in 0..FOLDS {
                let others = |row: &Row, _: ChainScope| row.fold_index(split, options.seed) != left_out;
                let forest = fit::fit(&Matrix::select(learned, spec, others), options)?;
                for view in &mut measured {
                    view.hear(index, left_out, |seen| forest.predict(seen));
                }
                steps.step();
            }
        }
        Ok(measured)
    }

    /// Records a model's answers to the rows of a part.
    fn hear(&mut self, spec: usize, part: u64, says: impl Fn(&[f32; crate::features::ALL]) -> f64) {
        for (row, known) in self.rows.iter().enumerate().filter(|(row, _)| self.folds[*row] == part) {
            let Some(found) = &known.features else { continue };
            let seen = self.specs[spec].scopes.iter().filter_map(|scope| found.scope_input(*scope));
            let answered = seen.map(|seen| Raw { row, fold: part, answer: says(&seen), human: known.human });
            self.raw[spec].extend(answered);
        }
    }

    /// The calibration of a model and its weight, by all answers.
    pub(super) fn curve(&self, spec: usize) -> (Curve, f64) {
        self.fitted(spec, None)
    }

    fn fitted(&self, spec: usize, without: Option<u64>) -> (Curve, f64) {
        let kept = self.raw[spec].iter().filter(|entry| Some(entry.fold) != without);
        let told: Vec<(f64, bool)> = kept.map(|entry| (entry.answer, entry.human)).collect();
        let curve = if self.specs[spec].is_shared() { UNSEEN } else { Curve::fit(&told) };
        (curve, information(&told, curve))
    }

    /// Curves to measure by.
    pub(super) fn fair(&self) -> CrossValidatedCalibration {
        let of = |spec| (0..FOLDS).map(|fold| self.fitted(spec, Some(fold))).collect();
        let mut fair = CrossValidatedCalibration {
            singles: (0..self.specs.len()).map(of).collect(),
            aggregate: Vec::new(),
        };
        let means = self.means(&fair);
        fair.aggregate = (0..FOLDS).map(|fold| self.fitted_aggregate(&means, Some(fold))).collect();
        fair
    }

    /// The quality of a model.
    pub(super) fn quality(&self, spec: usize, fair: &CrossValidatedCalibration) -> Option<Quality> {
        let scored = self.raw[spec].iter().map(|entry| {
            let (curve, _) = fair.singles[spec][fold_index(entry.fold)];
            (Some(curve.probability(entry.answer)), entry.human)
        });
        metrics::measure(&scored.collect::<Vec<_>>())
    }

    /// The calibration of the aggregate, by all answers.
    pub(super) fn aggregate_curve(&self, fair: &CrossValidatedCalibration) -> Curve {
        self.fitted_aggregate(&self.means(fair), None)
    }

    pub(super) fn aggregate(&self, fair: &CrossValidatedCalibration) -> Option<Quality> {
        let means = self.means(fair);
        let scored = means.iter().enumerate().map(|(row, mean)| {
            let curve = fair.aggregate[fold_index(self.folds[row])];
            (mean.map(|mean| curve.probability(mean)), self.rows[row].human)
        });
        metrics::measure(&scored.collect::<Vec<_>>())
    }

    fn fitted_aggregate(&self, means: &[Option<f64>], without: Option<u64>) -> Curve {
        let kept = means.iter().enumerate().filter(|(row, _)| Some(self.folds[*row]) != without);
        let told = kept.filter_map(|(row, mean)| Some(((*mean)?, self.rows[row].human)));
        Curve::fit(&told.collect::<Vec<_>>())
    }

    /// The weighted mean of the API models' answers for each row.
    fn means(&self, fair: &CrossValidatedCalibration) -> Vec<Option<f64>> {
        let mut singles: Vec<Vec<Single>> = vec![Vec::new(); self.rows.len()];
        for (index, spec) in self.specs.iter().enumerate() {
            let Some(model) = Model::from_name(spec.name) else { continue };
            for entry in &self.raw[index] {
                let (curve, weight) = fair.singles[index][fold_index(entry.fold)];
                let log_odds = curve.log_odds(entry.answer);
                singles[entry.row].push(Single {
                    model,
                    log_odds,
                    weight,
                    transferred: false,
                    custom: false,
                });
            }
        }
        singles.iter().map(|singles| (!singles.is_empty()).then(|| mean(singles))).collect()
    }
}

fn fold_index(fold: u64) -> usize {
    usize::try_from(fold).unwrap_or(0)
}

/// Quality of the shared model on a chain that was not in its training data, for each chain with labels. Each fifth of
/// the groups is left out in turn, and so is the chain. There is no figure where the other chains cannot teach: labels
/// on one chain alone make a model, which nothing measures elsewhere.
pub(super) fn by_chain(
    rows: &[Row],
    options: &Options,
    steps: &mut Steps<'_>,
) -> Result<Vec<(String, Quality)>, Error> {
    let mut found = Vec::new();
    for chain in LABELED {
        let scopes =
            LABELED.iter().filter(|other| **other != chain).map(|other| ChainScope::Chain(*other)).collect();
        let spec = Spec { name: crate::family::SHARED, scopes };
        let fold_of = |row: &Row| row.fold_index(Split::Cluster, options.seed);
        let lessons: Vec<Matrix> =
            (0..FOLDS).map(|fold| Matrix::select(rows, &spec, |row, _| fold_of(row) != fold)).collect();
        if !lessons.iter().all(Matrix::has_both_kinds) {
            for _ in &lessons {
                steps.step();
            }
            continue;
        }
        let mut scored: Vec<(Option<f64>, bool)> = Vec::new();
        for (fold, lesson) in (0..FOLDS).zip(&lessons) {
            let forest = fit::fit(lesson, options)?;
            scored.extend(rows.iter().filter(|row| fold_of(row) == fold).filter_map(|row| {
                let seen = row.features.as_ref()?.scope_input(ChainScope::Chain(chain))?;
                Some((Some(UNSEEN.probability(forest.predict(&seen))), row.human))
            }));
            steps.step();
        }
        found.extend(metrics::measure(&scored).map(|quality| (chain.as_str().to_owned(), quality)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::SHARED;

    /// Answers that are twice as confident as they should be.
    fn raw() -> Vec<Raw> {
        let answer = |index: u64| if index.is_multiple_of(2) { 2.0 } else { -2.0 };
        let human = |index: u64| (index.is_multiple_of(2)) == (index % 10 < 7);
        (0..500)
            .map(|index| Raw { row: 0, fold: index / 10 % FOLDS, answer: answer(index), human: human(index) })
            .collect()
    }

    fn quality(name: &'static str) -> Quality {
        let specs = [Spec { name, scopes: Vec::new() }];
        let measured = Measured { rows: &[], specs: &specs, raw: vec![raw()], folds: Vec::new() };
        measured.quality(0, &measured.fair()).unwrap()
    }

    #[test]
    fn a_model_is_measured_as_it_is_served_and_the_shared_one_without_a_curve() {
        let plain = raw()
            .iter()
            .map(|entry| (Some(UNSEEN.probability(entry.answer)), entry.human))
            .collect::<Vec<_>>();
        assert_eq!(Some(quality(SHARED)), metrics::measure(&plain));
        assert!(quality(SHARED).calibration_error > 0.1);
        assert!(quality("fitted").calibration_error < 0.03, "what is fitted is measured fitted");
    }
}
