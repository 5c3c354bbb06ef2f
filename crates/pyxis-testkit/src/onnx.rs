//! Writer of small ONNX files.

/// Attribute of an operator.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// Integer.
    Int(i64),
    Float(f32),
    /// String.
    Text(&'static str),
    /// Integers.
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    /// Strings.
    Texts(Vec<&'static str>),
}

/// One operator.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Name of the operator.
    pub kind: &'static str,
    /// Domain: empty, or `ai.onnx.ml`.
    pub domain: &'static str,
    /// Names of inputs.
    pub inputs: Vec<&'static str>,
    /// Names of outputs.
    pub outputs: Vec<&'static str>,
    /// Attributes by name.
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// A model with one input, called `features`.
#[derive(Clone, Debug)]
pub struct Model {
    /// Element type of the input: 1 is float, 7 int64, 11 double.
    pub kind: u64,
    /// Shape of the input; `None` is a free dimension.
    pub shape: Vec<Option<u64>>,
    /// Operators in order.
    pub operators: Vec<Operator>,
    /// Weights: name, shape, elements.
    pub weights: Vec<(&'static str, Vec<u64>, Vec<f32>)>,
    /// Names of the outputs.
    pub outputs: Vec<&'static str>,
}

impl Model {
    /// Creates a model with this many features and no operators.
    pub fn with_features(features: usize) -> Self {
        Self {
            kind: 1,
            shape: vec![None, Some(features as u64)],
            operators: Vec::new(),
            weights: Vec::new(),
            outputs: vec!["probabilities"],
        }
    }

    /// Adds an operator.
    #[must_use]
    pub fn with(mut self, operator: Operator) -> Self {
        self.operators.push(operator);
        self
    }

    /// Serializes the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut graph = Message::default();
        for operator in &self.operators {
            graph.message(1, &operator.message());
        }
        graph.bytes(2, b"graph");
        for (name, shape, numbers) in &self.weights {
            let mut tensor = Message::default();
            for side in shape {
                tensor.number(1, *side);
            }
            tensor.number(2, 1);
            tensor.bytes(8, name.as_bytes());
            tensor.bytes(9, &floats(numbers));
            graph.message(5, &tensor);
        }
        graph.message(11, &value("features", self.kind, &self.shape));
        for output in &self.outputs {
            graph.message(12, &value(output, 1, &[None, None]));
        }
        let mut model = Message::default();
        model.number(1, 8);
        model.bytes(2, b"testkit");
        model.message(7, &graph);
        for (domain, version) in [("", 17), ("ai.onnx.ml", 3)] {
            let mut set = Message::default();
            set.bytes(1, domain.as_bytes());
            set.number(2, version);
            model.message(8, &set);
        }
        model.0
    }
}

/// A logistic regression. The probability is 1 / (1 + e^-(intercept + coefficients · features)).
pub fn logistic(coefficients: &[f32], intercept: f32) -> Model {
    let all = [coefficients.iter().map(|number| -number).collect(), coefficients.to_vec()].concat();
    Model::with_features(coefficients.len()).with(Operator {
        kind: "LinearClassifier",
        domain: "ai.onnx.ml",
        inputs: vec!["features"],
        outputs: vec!["label", "probabilities"],
        attributes: vec![
            ("classlabels_ints", Attribute::Ints(vec![0, 1])),
            ("coefficients", Attribute::Floats(all)),
            ("intercepts", Attribute::Floats(vec![-intercept, intercept])),
            ("multi_class", Attribute::Int(1)),
            ("post_transform", Attribute::Text("LOGISTIC")),
        ],
    })
}

/// A tree with one split. The probability is `below` if the feature is unknown or at most the threshold, otherwise
/// `above`.
pub fn stump(features: usize, feature: i64, threshold: f32, below: f32, above: f32) -> Model {
    Model::with_features(features).with(Operator {
        kind: "TreeEnsembleClassifier",
        domain: "ai.onnx.ml",
        inputs: vec!["features"],
        outputs: vec!["label", "probabilities"],
        attributes: vec![
            ("classlabels_strings", Attribute::Texts(vec!["human", "sybil"])),
            ("nodes_treeids", Attribute::Ints(vec![0, 0, 0])),
            ("nodes_nodeids", Attribute::Ints(vec![0, 1, 2])),
            ("nodes_featureids", Attribute::Ints(vec![feature, 0, 0])),
            ("nodes_values", Attribute::Floats(vec![threshold, 0.0, 0.0])),
            ("nodes_modes", Attribute::Texts(vec!["BRANCH_LEQ", "LEAF", "LEAF"])),
            ("nodes_truenodeids", Attribute::Ints(vec![1, 0, 0])),
            ("nodes_falsenodeids", Attribute::Ints(vec![2, 0, 0])),
            ("nodes_missing_value_tracks_true", Attribute::Ints(vec![1, 0, 0])),
            ("class_treeids", Attribute::Ints(vec![0; 4])),
            ("class_nodeids", Attribute::Ints(vec![1, 1, 2, 2])),
            ("class_ids", Attribute::Ints(vec![0, 1, 0, 1])),
            ("class_weights", Attribute::Floats(vec![below, 1.0 - below, above, 1.0 - above])),
        ],
    })
}

impl Operator {
    fn message(&self) -> Message {
        let mut node = Message::default();
        for input in &self.inputs {
            node.bytes(1, input.as_bytes());
        }
        for output in &self.outputs {
            node.bytes(2, output.as_bytes());
        }
        node.bytes(4, self.kind.as_bytes());
        for (name, attribute) in &self.attributes {
            node.message(5, &attribute.message(name));
        }
        node.bytes(7, self.domain.as_bytes());
        node
    }
}

impl Attribute {
    fn message(&self, name: &str) -> Message {
        let mut written = Message::default();
        written.bytes(1, name.as_bytes());
        let kind = match self {
            Self::Float(number) => {
                written.tag(2, 5);
                written.0.extend(number.to_le_bytes());
                1
            }
            Self::Int(number) => {
                written.number(3, number.cast_unsigned());
                2
            }
            Self::Text(text) => {
                written.bytes(4, text.as_bytes());
                3
            }
            Self::Floats(numbers) => {
                written.bytes(7, &floats(numbers));
                6
            }
            Self::Ints(numbers) => {
                for number in numbers {
                    written.number(8, number.cast_unsigned());
                }
                7
            }
            Self::Texts(texts) => {
                for text in texts {
                    written.bytes(9, text.as_bytes());
                }
                8
            }
        };
        written.number(20, kind);
        written
    }
}

fn value(name: &str, kind: u64, shape: &[Option<u64>]) -> Message {
    let mut sides = Message::default();
    for side in shape {
        let mut dimension = Message::default();
        match side {
            Some(side) => dimension.number(1, *side),
            None => dimension.bytes(2, b"n"),
        }
        sides.message(1, &dimension);
    }
    let mut tensor = Message::default();
    tensor.number(1, kind);
    tensor.message(2, &sides);
    let mut of = Message::default();
    of.message(1, &tensor);
    let mut value = Message::default();
    value.bytes(1, name.as_bytes());
    value.message(2, &of);
    value
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A Protocol Buffers message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    fn tag(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.tag(field, 0);
        self.varint(number);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }
}
