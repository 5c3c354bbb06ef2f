//! Plan of an evaluation: operators in order, each with known types and shapes, over buffers that are reused.

use std::sync::{Mutex, PoisonError};

use crate::MOST_STEPS;
use crate::kernel::{EvaluationError, Inputs, Kernel, ValueSource};
use crate::tensor::{self, ElementType, MAX_RANK, TensorData, TensorType};

/// Maximum number of elements of one tensor within a model.
pub(crate) const MOST_NUMBERS: usize = 1 << 18;
/// Maximum number of elements of all tensors that exist at the same time during an evaluation.
const MOST_LIVE_NUMBERS: usize = 1 << 22;
/// Maximum number of element operations in one evaluation. Weights and trees have their own, smaller limit; this one is
/// for tensors that grow by broadcasting.
pub(crate) const MOST_WORK: usize = 4 * MOST_STEPS;
/// Maximum number of elements that operators compute from weights alone when a file is loaded.
const MOST_FOLDED_NUMBERS: usize = 1 << 22;

/// Value that an operator reads: where it is stored, and its type and shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    source: ValueSource,
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<usize>,
}

#[derive(Debug)]
struct Step {
    kernel: Box<dyn Kernel>,
    inputs: Vec<ValueSource>,
    output: usize,
    length: usize,
    element: ElementType,
}

/// Plan under construction. Until it is finished, every tensor has its own buffer.
#[derive(Debug)]
pub(crate) struct Builder {
    constants: Vec<TensorData>,
    /// Type and length of each tensor that is computed from the input.
    tensors: Vec<(ElementType, usize)>,
    steps: Vec<Step>,
    folded: usize,
    work: usize,
    tree_steps: usize,
}

/// Type conversion.
#[derive(Debug)]
struct Cast(ElementType);

impl Kernel for Cast {
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
        if let Some(data) = inputs.data(0) {
            self.0.convert(data, output);
        }
        Ok(())
    }
}

impl Operand {
    pub(crate) fn size(&self) -> usize {
        tensor::size(&self.shape)
    }

    pub(crate) const fn is_constant(&self) -> bool {
        matches!(self.source, ValueSource::Constant(_))
    }

    /// The same elements in another shape of the same size.
    pub(crate) fn reshaped(&self, shape: Vec<usize>) -> Result<Self, String> {
        if shape.len() > MAX_RANK {
            return Err(format!("a tensor has {} dimensions; the limit is {MAX_RANK}", shape.len()));
        }
        Ok(Self { shape, ..self.clone() })
    }
}

impl Builder {
    /// An empty plan, and its input: one row of features.
    pub(crate) fn new(features: usize) -> (Self, Operand) {
        let tensors = vec![(ElementType::F32, features)];
        let builder =
            Self { constants: Vec::new(), tensors, steps: Vec::new(), folded: 0, work: 0, tree_steps: 0 };
        let input =
            Operand { source: ValueSource::Buffer(0), element: ElementType::F32, shape: vec![1, features] };
        (builder, input)
    }

    pub(crate) fn constant(&mut self, of: TensorType, data: TensorData) -> Operand {
        self.constants.push(data);
        let source = ValueSource::Constant(self.constants.len() - 1);
        Operand { source, element: of.element, shape: of.shape }
    }

    /// Tensor of ones.
    pub(crate) fn ones(&mut self, element: ElementType, shape: Vec<usize>) -> Result<Operand, String> {
        #[derive(Debug)]
        struct One;
        impl Kernel for One {
            fn run(&self, _: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
                match output {
                    TensorData::F32(into) => into.fill(1.0),
                    TensorData::F64(into) => into.fill(1.0),
                    TensorData::Int(into) => into.fill(1),
                }
                Ok(())
            }
        }
        self.fold(&One, &[], element, shape)
    }

    /// Value of an operand that does not depend on the input.
    pub(crate) fn value(&self, operand: &Operand) -> Option<&TensorData> {
        match operand.source {
            ValueSource::Constant(index) => self.constants.get(index),
            ValueSource::Buffer(_) => None,
        }
    }

    /// Number of element operations in one evaluation.
    pub(crate) const fn work(&self) -> usize {
        self.work
    }

    /// Counts nodes that an evaluation visits in trees.
    pub(crate) const fn count_tree_steps(&mut self, steps: usize) {
        self.tree_steps = self.tree_steps.saturating_add(steps);
    }

    /// Maximum number of nodes that an evaluation visits in trees.
    pub(crate) const fn tree_steps(&self) -> usize {
        self.tree_steps
    }

    /// Adds an operator. `work` counts the operations beyond one for each element of the output. If all inputs are
    /// constant, the operator runs immediately, and the result is a constant.
    pub(crate) fn push(
        &mut self,
        kernel: Box<dyn Kernel>,
        inputs: &[&Operand],
        element: ElementType,
        shape: Vec<usize>,
        work: usize,
    ) -> Result<Operand, String> {
        let length = tensor::size(&shape);
        if length > MOST_NUMBERS || shape.len() > MAX_RANK {
            return Err(format!("a tensor has the shape {shape:?}; the limit is {MOST_NUMBERS} elements"));
        }
        if inputs.iter().all(|input| input.is_constant()) {
            return self.fold(kernel.as_ref(), inputs, element, shape);
        }
        self.work = self.work.saturating_add(length).saturating_add(work);
        if self.work > MOST_WORK {
            return Err("one evaluation takes too many operations".to_owned());
        }
        let output = self.tensors.len();
        self.tensors.push((element, length));
        let inputs = inputs.iter().map(|input| input.source).collect();
        self.steps.push(Step { kernel, inputs, output, length, element });
        Ok(Operand { source: ValueSource::Buffer(output), element, shape })
    }

    /// Runs an operator of constants.
    pub(crate) fn fold(
        &mut self,
        kernel: &dyn Kernel,
        inputs: &[&Operand],
        element: ElementType,
        shape: Vec<usize>,
    ) -> Result<Operand, String> {
        let length = tensor::size(&shape);
        self.folded = self.folded.saturating_add(length);
        if self.folded > MOST_FOLDED_NUMBERS {
            return Err("too much is computed from weights alone".to_owned());
        }
        let mut output = TensorData::with_capacity(element, length);
        output.resize(length);
        let sources: Vec<ValueSource> = inputs.iter().map(|input| input.source).collect();
        let inputs = Inputs { sources: &sources, constants: &self.constants, buffers: &[] };
        kernel.run(inputs, &mut output).map_err(|error| error.0)?;
        element.normalize(&mut output);
        Ok(self.constant(TensorType { element, shape }, output))
    }

    /// Adds a conversion if the type differs.
    pub(crate) fn cast(&mut self, operand: &Operand, to: ElementType) -> Result<Operand, String> {
        if operand.element == to {
            return Ok(operand.clone());
        }
        self.push(Box::new(Cast(to)), &[operand], to, operand.shape.clone(), 0)
    }

    /// Assigns buffers: one is reused once nothing reads its tensor any more.
    pub(crate) fn finish(mut self, output: &Operand) -> Result<Plan, String> {
        let mut last_use = vec![0; self.tensors.len()];
        for (index, step) in self.steps.iter().enumerate() {
            last_use[step.output] = index;
            for source in &step.inputs {
                if let ValueSource::Buffer(tensor) = source {
                    last_use[*tensor] = index;
                }
            }
        }
        if let ValueSource::Buffer(tensor) = output.source {
            last_use[tensor] = usize::MAX;
        }
        // Buffers with their type and capacity, and the tensors in them.
        let mut buffers: Vec<(ElementType, usize)> = self.tensors.first().copied().into_iter().collect();
        let mut place: Vec<usize> = vec![0; self.tensors.len()];
        let mut free: Vec<usize> = Vec::new();
        for (index, step) in self.steps.iter_mut().enumerate() {
            let fits = |buffer: &usize| same_storage(buffers[*buffer].0, step.element);
            let buffer = if let Some(found) = free.iter().position(fits) {
                free.swap_remove(found)
            } else {
                buffers.push((step.element, 0));
                buffers.len() - 1
            };
            buffers[buffer].1 = buffers[buffer].1.max(step.length);
            place[step.output] = buffer;
            let mut ended: Vec<usize> = Vec::new();
            for source in &mut step.inputs {
                if let ValueSource::Buffer(tensor) = source {
                    // The input stays: it is written before every evaluation.
                    if last_use[*tensor] == index && *tensor != 0 {
                        ended.push(place[*tensor]);
                    }
                    *source = ValueSource::Buffer(place[*tensor]);
                }
            }
            if last_use[step.output] == index {
                ended.push(buffer);
            }
            ended.sort_unstable();
            ended.dedup();
            free.extend(ended);
            step.output = buffer;
        }
        let live = buffers.iter().map(|(_, capacity)| capacity).sum::<usize>();
        if live > MOST_LIVE_NUMBERS {
            return Err(format!(
                "one evaluation needs {live} numbers at a time; the limit is {MOST_LIVE_NUMBERS}"
            ));
        }
        let output = match output.source {
            ValueSource::Buffer(tensor) => ValueSource::Buffer(place[tensor]),
            constant @ ValueSource::Constant(_) => constant,
        };
        let mut plan = Plan {
            constants: self.constants,
            steps: self.steps,
            buffers,
            output,
            idle: Mutex::new(Vec::new()),
        };
        plan.drop_unused_constants();
        Ok(plan)
    }
}

/// True for types with the same representation.
fn same_storage(one: ElementType, other: ElementType) -> bool {
    let storage = |element: ElementType| match element {
        ElementType::F16 | ElementType::F32 => 0,
        ElementType::F64 => 1,
        _ => 2,
    };
    storage(one) == storage(other)
}

/// Evaluation that is ready to run. It allocates only when more evaluations run at once than before.
#[derive(Debug)]
pub(crate) struct Plan {
    constants: Vec<TensorData>,
    steps: Vec<Step>,
    buffers: Vec<(ElementType, usize)>,
    output: ValueSource,
    /// Buffers of evaluations that ended.
    idle: Mutex<Vec<Vec<TensorData>>>,
}

impl Plan {
    fn drop_unused_constants(&mut self) {
        let mut used = vec![false; self.constants.len()];
        for source in self.steps.iter().flat_map(|step| &step.inputs).chain([&self.output]) {
            if let ValueSource::Constant(index) = source {
                used[*index] = true;
            }
        }
        for (constant, used) in self.constants.iter_mut().zip(used) {
            if !used {
                *constant = TensorData::Int(Vec::new());
            }
        }
    }

    /// Evaluates one row of features and passes the output on.
    pub(crate) fn run<R>(
        &self,
        row: impl Iterator<Item = f32>,
        read: impl FnOnce(&TensorData) -> R,
    ) -> Result<R, EvaluationError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffers = idle.unwrap_or_else(|| {
            self.buffers
                .iter()
                .map(|(element, capacity)| TensorData::with_capacity(*element, *capacity))
                .collect()
        });
        if let Some(TensorData::F32(input)) = buffers.first_mut() {
            input.clear();
            input.extend(row);
        }
        let result = self.steps(&mut buffers).map(|()| match self.output {
            ValueSource::Constant(index) => read(&self.constants[index]),
            ValueSource::Buffer(index) => read(&buffers[index]),
        });
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
        result
    }

    fn steps(&self, buffers: &mut [TensorData]) -> Result<(), EvaluationError> {
        for step in &self.steps {
            let mut output = std::mem::replace(&mut buffers[step.output], TensorData::Int(Vec::new()));
            output.resize(step.length);
            let inputs = Inputs { sources: &step.inputs, constants: &self.constants, buffers };
            let result = step.kernel.run(inputs, &mut output);
            step.element.normalize(&mut output);
            buffers[step.output] = output;
            result?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds 1 to each element of the first input.
    #[derive(Debug)]
    struct Increment;

    impl Kernel for Increment {
        fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError> {
            let TensorData::F32(output) = output else { return Err(EvaluationError("type".to_owned())) };
            for (into, from) in output.iter_mut().zip(inputs.elements::<f32>(0)) {
                *into = from + 1.0;
            }
            Ok(())
        }
    }

    #[test]
    fn a_chain_of_operators_runs_in_two_buffers_beside_the_input() {
        let (mut builder, mut operand) = Builder::new(2);
        for _ in 0..20 {
            operand =
                builder.push(Box::new(Increment), &[&operand], ElementType::F32, vec![1, 2], 0).unwrap();
        }
        let plan = builder.finish(&operand).unwrap();
        assert_eq!(plan.buffers.len(), 3);
        for _ in 0..3 {
            assert_eq!(plan.run([1.0, 2.0].into_iter(), Clone::clone), Ok(TensorData::F32(vec![21.0, 22.0])));
        }
        assert_eq!(plan.idle.lock().unwrap().len(), 1, "the buffers are used again");
    }

    #[test]
    fn what_is_read_later_keeps_its_buffer() {
        let (mut builder, input) = Builder::new(1);
        let mut push = |from: &Operand| {
            builder.push(Box::new(Increment), &[from], ElementType::F32, vec![1, 1], 0).unwrap()
        };
        let one = push(&input);
        let two = push(&one);
        let _three = push(&two);
        let again = push(&one);
        let plan = builder.finish(&again).unwrap();
        assert_eq!(plan.run([5.0].into_iter(), Clone::clone), Ok(TensorData::F32(vec![7.0])));
    }

    #[test]
    fn operators_of_constants_run_once_and_their_number_is_bounded() {
        let (mut builder, _) = Builder::new(1);
        let of = TensorType { element: ElementType::F32, shape: vec![MOST_NUMBERS] };
        let mut operand = builder.constant(of, TensorData::F32(vec![0.0; MOST_NUMBERS]));
        for _ in 0..16 {
            operand = builder
                .push(Box::new(Increment), &[&operand], ElementType::F32, vec![MOST_NUMBERS], 0)
                .unwrap();
        }
        assert_eq!(builder.value(&operand).unwrap().number(7), Some(16.0));
        assert!(
            builder.push(Box::new(Increment), &[&operand], ElementType::F32, vec![MOST_NUMBERS], 0).is_err()
        );
        assert!(
            builder.push(Box::new(Increment), &[&operand], ElementType::F32, vec![1 << 10; 2], 0).is_err()
        );
    }
}
