//! Models judged by what they say of addresses that they did not see.

use super::fit::{self, Matrix};
use super::{LABELLED, Options, Spec, Steps, UNSEEN, information};
use crate::Error;
use crate::bundle::{Single, mean};
use crate::calibration::Curve;
use crate::chain::{Model, Scope};
use crate::dataset::{FOLDS, Row, Split};
use crate::metrics::{self, Quality};

/// The raw answer of a model that did not see the row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    row: usize,
    fold: u64,
    pub(super) answer: f64,
    pub(super) human: bool,
}

/// Every model's answers to rows that were left out.
pub(super) struct Measured<'a> {
    rows: &'a [Row],
    specs: &'a [Spec],
    /// Of each model.
    raw: Vec<Vec<Raw>>,
    folds: Vec<u64>,
}

impl<'a> Measured<'a> {
    pub(super) fn of(
        rows: &'a [Row],
        specs: &'a [Spec],
        split: Split,
        options: &Options,
        steps: &mut Steps<'_>,
    ) -> Result<Self, Error> {
        let folds: Vec<u64> = rows.iter().map(|row| row.fold(split, options.seed)).collect();
        let mut raw = Vec::new();
        for spec in specs {
            let mut answers = Vec::new();
            for left_out in 0..FOLDS {
                let learned = |row: &Row, _: Scope| row.fold(split, options.seed) != left_out;
                let forest = fit::fit(&Matrix::of(rows, spec, learned), options)?;
                for (index, row) in rows.iter().enumerate().filter(|(index, _)| folds[*index] == left_out) {
                    let Some(found) = &row.features else { continue };
                    let seen = spec.scopes.iter().filter_map(|scope| found.seen(*scope));
                    answers.extend(seen.map(|seen| Raw {
                        row: index,
                        fold: left_out,
                        answer: forest.predict(&seen),
                        human: row.human,
                    }));
                }
                steps.step();
            }
            raw.push(answers);
        }
        Ok(Self { rows, specs, raw, folds })
    }

    /// The calibration of a model and its weight, by all answers.
    pub(super) fn curve(&self, spec: usize) -> (Curve, f64) {
        let (curve, weight) = fitted(&self.raw[spec]);
        (if self.specs[spec].is_shared() { UNSEEN } else { curve }, weight)
    }

    /// The same without the answers of one part, so that calibration is measured fairly too.
    fn curve_without(&self, spec: usize, fold: u64) -> (Curve, f64) {
        let others: Vec<Raw> = self.raw[spec].iter().filter(|entry| entry.fold != fold).copied().collect();
        fitted(&others)
    }

    /// How good a model is.
    pub(super) fn quality(&self, spec: usize) -> Option<Quality> {
        let curves: Vec<Curve> = (0..FOLDS).map(|fold| self.curve_without(spec, fold).0).collect();
        let scored = self.raw[spec].iter().map(|entry| {
            let curve = curves[usize::try_from(entry.fold).unwrap_or(0)];
            (Some(curve.probability(entry.answer)), entry.human)
        });
        metrics::measure(&scored.collect::<Vec<_>>())
    }

    /// The calibration of the aggregate, and how good it is.
    pub(super) fn aggregate(&self) -> (Curve, Option<Quality>) {
        let means = self.means();
        let known: Vec<(f64, bool, u64)> = means
            .iter()
            .enumerate()
            .filter_map(|(row, mean)| Some(((*mean)?, self.rows[row].human, self.folds[row])))
            .collect();
        let curve = |without: Option<u64>| {
            let kept = known.iter().filter(|(.., fold)| Some(*fold) != without);
            Curve::fit(&kept.map(|(mean, human, _)| (*mean, *human)).collect::<Vec<_>>())
        };
        let curves: Vec<Curve> = (0..FOLDS).map(|fold| curve(Some(fold))).collect();
        let scored: Vec<(Option<f64>, bool)> = means
            .iter()
            .enumerate()
            .map(|(row, mean)| {
                let curve = curves[usize::try_from(self.folds[row]).unwrap_or(0)];
                (mean.map(|mean| curve.probability(mean)), self.rows[row].human)
            })
            .collect();
        (curve(None), metrics::measure(&scored))
    }

    /// The weighted mean of what the models of the interface say of each row.
    fn means(&self) -> Vec<Option<f64>> {
        let mut singles: Vec<Vec<Single>> = vec![Vec::new(); self.rows.len()];
        for (index, spec) in self.specs.iter().enumerate() {
            let Some(model) = Model::from_name(spec.name) else { continue };
            for fold in 0..FOLDS {
                let (curve, weight) = self.curve_without(index, fold);
                for entry in self.raw[index].iter().filter(|entry| entry.fold == fold) {
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
        }
        singles.iter().map(|singles| (!singles.is_empty()).then(|| mean(singles))).collect()
    }
}

fn fitted(raw: &[Raw]) -> (Curve, f64) {
    let told: Vec<(f64, bool)> = raw.iter().map(|entry| (entry.answer, entry.human)).collect();
    let curve = Curve::fit(&told);
    (curve, information(&told, curve))
}

/// How the shared model fares on a chain of which it learned nothing, for each chain that has labels: every
/// fifth of the groups is left out in turn, and so is the chain.
pub(super) fn by_chain(
    rows: &[Row],
    options: &Options,
    steps: &mut Steps<'_>,
) -> Result<Vec<(String, Quality)>, Error> {
    let mut found = Vec::new();
    for chain in LABELLED {
        let scopes =
            LABELLED.iter().filter(|other| **other != chain).map(|other| Scope::Chain(*other)).collect();
        let spec = Spec { name: crate::bundle::SHARED, scopes };
        let mut scored: Vec<(Option<f64>, bool)> = Vec::new();
        for fold in 0..FOLDS {
            let left_out = |row: &Row| row.fold(Split::Cluster, options.seed) == fold;
            let forest = fit::fit(&Matrix::of(rows, &spec, |row, _| !left_out(row)), options)?;
            scored.extend(rows.iter().filter(|row| left_out(row)).filter_map(|row| {
                let seen = row.features.as_ref()?.seen(Scope::Chain(chain))?;
                Some((Some(UNSEEN.probability(forest.predict(&seen))), row.human))
            }));
            steps.step();
        }
        found.extend(metrics::measure(&scored).map(|quality| (chain.as_str().to_owned(), quality)));
    }
    Ok(found)
}
