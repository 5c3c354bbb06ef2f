//! A loaded model and its answers.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::graph::{self, Planned};
use crate::kernel::EvaluationError;
use crate::plan::Plan;
use crate::proto::Model;
use crate::spec::ModelSpec;
use crate::tensor::{self, TensorData};
use crate::{LoadError, MOST_BYTES};

/// Largest distance from a probability that rounding explains.
const ROUNDING: f64 = 1e-3;

/// Description of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// Name and version of the program that wrote the file.
    pub producer: String,
    /// Output that holds the probability.
    pub output: String,
    /// Human column of that output.
    pub human: usize,
    /// Operators by name.
    pub operators: Vec<String>,
    /// Cost of an answer: steps through trees, and multiplications with weights.
    pub steps: usize,
}

/// Model that is ready to answer. Copies share everything.
#[derive(Clone)]
pub struct Program {
    plan: Arc<Plan>,
    metadata: Metadata,
    features: usize,
    unknown: f32,
}

/// Output of a model: one column or two.
#[derive(Clone, Copy)]
struct ModelOutput {
    columns: [f64; 2],
    length: usize,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

/// Values that every feature has in a trial, and their names.
const TRIALS: [(f32, &str); 5] = [(0.0, "0"), (1.0, "1"), (-1.0, "-1"), (1000.0, "1000"), (0.5, "0.5")];

impl Program {
    /// Reads a file, refuses it if it is unusable, and tries it out.
    pub fn load(bytes: &[u8], spec: &ModelSpec) -> Result<Self, LoadError> {
        if bytes.len() > MOST_BYTES {
            return Err(LoadError::TooLarge(bytes.len()));
        }
        // No file should cause a panic here. If one does, it is refused, and the process continues.
        let loaded = catch_unwind(AssertUnwindSafe(|| Self::read(bytes, spec)));
        loaded.unwrap_or_else(|_| Err(LoadError::Damaged("reading it failed".to_owned())))?.probe()
    }

    fn read(bytes: &[u8], spec: &ModelSpec) -> Result<Self, LoadError> {
        let model = Model::read(bytes).map_err(|why| LoadError::NotOnnx(why.to_owned()))?;
        let checked = graph::check(&model, spec)?;
        // Some operators turn NaN into a number.
        if !checked.handles_unknown && spec.unknown.is_none() {
            return Err(LoadError::Unknown);
        }
        let Planned { plan, shape, steps } = checked.plan(spec.features)?;
        let columns = tensor::size(&shape);
        let human = spec.human.or(checked.human).unwrap_or(columns.saturating_sub(1));
        if !(1..=2).contains(&columns) {
            let [(_, tried), ..] = TRIALS;
            return Err(LoadError::NoProbability { answer: format!("{columns} numbers"), tried });
        }
        if human >= columns {
            return Err(LoadError::Column { columns, wanted: human });
        }
        let metadata = Metadata {
            producer: format!("{} {}", model.producer_name, model.producer_version).trim().to_owned(),
            output: checked.output,
            human,
            operators: checked.operators,
            steps,
        };
        let unknown = spec.unknown.unwrap_or(f32::NAN);
        Ok(Self { plan: Arc::new(plan), metadata, features: spec.features, unknown })
    }

    /// Description of the model.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Probability that a wallet with these features is a human. NaN is an unknown feature.
    pub fn probability(&self, features: &[f32]) -> Result<f64, EvaluationError> {
        let answer = self.answer(features)?;
        let columns = answer.columns();
        let human = columns.get(self.metadata.human).copied().filter(|_| is_probable(columns));
        human.map(|probability| probability.clamp(0.0, 1.0)).ok_or_else(|| {
            EvaluationError(format!("the model returns {columns:?}, which is not a probability from 0 to 1"))
        })
    }

    fn answer(&self, features: &[f32]) -> Result<ModelOutput, EvaluationError> {
        if features.len() != self.features {
            return Err(EvaluationError(format!(
                "the model reads {} features, but {} were given",
                self.features,
                features.len()
            )));
        }
        let row = features.iter().map(|number| if number.is_nan() { self.unknown } else { *number });
        let run = || self.plan.run(row, ModelOutput::read);
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(EvaluationError("the model failed".to_owned())))
    }

    /// Evaluates wallets that do not exist.
    fn probe(self) -> Result<Self, LoadError> {
        for (value, tried) in TRIALS {
            let answer = self.trial(&vec![value; self.features])?;
            if !is_probable(answer.columns()) {
                return Err(LoadError::NoProbability { answer: format!("{:?}", answer.columns()), tried });
            }
        }
        // Everything unknown, and each half of it: a wallet without times, or without neighbors.
        let whole = vec![f32::NAN; self.features];
        let halves = [0, 1].map(|half| {
            let number =
                |index: usize| if (index * 2 < self.features) == (half == 0) { f32::NAN } else { 1.0 };
            (0..self.features).map(number).collect::<Vec<f32>>()
        });
        for row in [whole].iter().chain(&halves) {
            let answer = self.trial(row)?;
            if answer.columns().iter().any(|number| number.is_nan()) {
                return Err(LoadError::Unknown);
            }
            if !is_probable(answer.columns()) {
                let answer = format!("{:?}", answer.columns());
                return Err(LoadError::NoProbability { answer, tried: "unknown" });
            }
        }
        Ok(self)
    }

    fn trial(&self, row: &[f32]) -> Result<ModelOutput, LoadError> {
        self.answer(row).map_err(|error| LoadError::Damaged(error.0))
    }
}

impl ModelOutput {
    fn read(data: &TensorData) -> Self {
        let column = |index| data.number(index).unwrap_or(f64::NAN);
        Self { columns: [column(0), column(1)], length: data.len().min(2) }
    }

    fn columns(&self) -> &[f64] {
        &self.columns[..self.length]
    }
}

/// True for one probability, and for two that add up to 1.
fn is_probable(answer: &[f64]) -> bool {
    let within = answer.iter().all(|number| (-ROUNDING..=1.0 + ROUNDING).contains(number));
    within && (answer.len() == 1 || answer.len() == 2 && (answer[0] + answer[1] - 1.0).abs() < ROUNDING)
}
