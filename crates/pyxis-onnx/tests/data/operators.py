#!/usr/bin/env python3
"""Makes operators.json: small models around single operators, and what ONNX Runtime and the reference
evaluator of ONNX answer. A case is kept where the two agree, or where only one of them has an answer.

    pip install onnx==1.19.1 onnxruntime==1.32.0 "protobuf<6" && python operators.py [CASES_OF_EACH [SEED]]
"""

import json
import sys
import warnings

import numpy as np
import onnxruntime
from onnx import TensorProto as T
from onnx import ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
EACH = int(sys.argv[1]) if len(sys.argv) > 1 else 3
random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 29)
FEATURES = 6
ML = {"domain": "ai.onnx.ml"}
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e30, -1e-30], dtype=np.float32)


class Case:
    """A graph under construction. Its input `x` has the shape [1, 6]."""

    def __init__(self, opset=17, special=False):
        self.opset, self.special, self.nodes, self.weights = opset, special, [], []

    def add(self, kind, inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[-1]

    def weight(self, value, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def constant(self, value, dtype=np.int64):
        """Weights as a node. More than two dimensions take another one."""
        value = np.asarray(value, dtype=dtype)
        if value.ndim > 2:
            return self.add("Reshape", [self.constant(value.ravel(), dtype), self.constant(value.shape)])
        return self.add("Constant", [], value=numpy_helper.from_array(value))

    def shaped(self, shape, name="x"):
        return self.add("Reshape", [name, self.constant(shape)])

    def cast(self, name, to):
        return self.add("Cast", [name], to=to)

    def model(self, output):
        inputs = [helper.make_tensor_value_info("x", T.FLOAT, [None, FEATURES])]
        graph = helper.make_graph(self.nodes, "g", inputs, [ValueInfoProto(name=output)], self.weights)
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)


def numbers(*shape, scale=2.0):
    return (random.normal(size=shape) * scale).astype(np.float32)


def pick(*choices):
    return choices[random.integers(len(choices))]


def int_type():
    return pick((T.INT64, np.int64), (T.INT32, np.int32), (T.INT8, np.int8), (T.UINT8, np.uint8))


def unary(kind, **attributes):
    def make():
        case = Case(special=random.random() < 0.5)
        x = case.cast("x", T.DOUBLE) if random.random() < 0.2 and kind not in NO_DOUBLE else "x"
        return case, case.add(kind, [x], **{name: float(value()) for name, value in attributes.items()})
    return make


NO_DOUBLE = {"Softplus", "Selu", "LeakyRelu"}
SHAPES = [([1, 6], [1, 6]), ([1, 6], [6]), ([1, 6], []), ([1, 6], [1]), ([1, 6], [4, 1]), ([2, 3], [2, 1]),
          ([6, 1], [1, 3]), ([2, 1, 3], [4, 1]), ([3, 2], [2]), ([1, 6], [5, 6]), ([2, 3], [1, 3])]


def binary(kind, ints=True):
    def make():
        case = Case(special=random.random() < 0.4)
        shape, other = pick(*SHAPES)
        x = case.shaped(shape)
        if ints and random.random() < 0.3:
            code, dtype = pick((T.INT64, np.int64), (T.INT32, np.int32))
            case.special = False
            x = case.cast(x, code)
            value = random.integers(-9, 9, size=other)
            if kind == "Div":
                value = np.where(value == 0, 3, value)
            extremes = [np.iinfo(dtype).max, np.iinfo(dtype).min]
            value = np.where(random.random(size=other) < 0.2, pick(*extremes), value)
            w = case.constant(value, dtype)
        else:
            w = case.constant(numbers(*other), np.float32)
        inputs = [x, w] if random.random() < 0.5 or kind == "Div" else [w, x]
        return case, case.add(kind, inputs)
    return make


def variadic(kind):
    def make():
        case = Case(special=random.random() < 0.5)
        inputs = ["x"] + [case.constant(numbers(*pick([1, 6], [6], [1], [], [2, 1])), np.float32)
                          for _ in range(random.integers(3))]
        return case, case.add(kind, inputs)
    return make


def power():
    case = Case()
    which = random.integers(4)
    if which == 0:
        return case, case.add("Pow", [case.add("Abs", ["x"]), case.constant(numbers(6), np.float32)])
    if which == 1:
        return case, case.add("Pow", ["x", case.constant(random.integers(-3, 4, 6), np.int64)])
    if which == 2:
        return case, case.add("Pow", [case.cast("x", T.INT64), case.constant(random.integers(0, 5, 6), np.int64)])
    return case, case.add("Pow", [case.cast(case.add("Abs", ["x"]), T.INT64),
                                  case.constant([0.5, 1.5, 2, 3, 1, 0], np.float32)])


def compared(kind):
    def make():
        case = Case(special=random.random() < 0.5)
        shape, other = pick(*SHAPES)
        x, w = case.shaped(shape), case.constant(np.round(numbers(*other)), np.float32)
        if random.random() < 0.3:
            case.special = False
            x, w = case.cast(x, T.INT64), case.cast(w, T.INT64)
        return case, case.add(kind, [x, w])
    return make


def negated():
    case = Case(special=True)
    return case, case.add("Not", [case.add("IsNaN", ["x"])])


def where():
    case = Case(special=random.random() < 0.5)
    shape, other = pick(*SHAPES)
    condition = case.add("Greater", [case.shaped(shape), case.constant(0.0, np.float32)])
    return case, case.add("Where", [condition, case.constant(numbers(*other), np.float32), case.shaped(shape)])


def is_nan():
    case = Case(special=True)
    found = case.add("IsNaN", ["x"])
    return case, case.add("Where", [found, case.weight(numbers(1)), "x"])


def cast():
    # What a float becomes that an integer type does not hold is undefined, so that none is tried.
    case = Case(special=False)
    first = pick(T.DOUBLE, T.INT64, T.INT32, T.BOOL, T.FLOAT16, T.FLOAT)
    narrow = [T.UINT8, T.INT8] if first in (T.INT64, T.INT32) else []
    return case, case.cast(case.cast("x", first), pick(T.DOUBLE, T.INT64, T.INT32, T.BOOL, T.FLOAT16, T.FLOAT, *narrow))


def clip():
    low, high = sorted(numbers(2).tolist())
    if random.random() < 0.3:
        case = Case(opset=pick(9, 10), special=True)
        return case, case.add("Clip", ["x"], min=low, max=high)
    case = Case(special=True)
    low = "" if random.random() < 0.3 else case.weight(low)
    high = [] if random.random() < 0.3 else [case.weight(high)]
    return case, case.add("Clip", ["x", low] + high)


def softmax():
    opset = pick(9, 11, 13, 17)
    case = Case(opset=opset)
    shape = pick([1, 6], [2, 3], [2, 1, 3])
    x = case.shaped(shape)
    axis = int(random.integers(-len(shape), len(shape)))
    if opset < 13:
        # The reference evaluator does not flatten, so that only one dimension may be left.
        axis = len(shape) - 1
    attributes = {} if random.random() < 0.3 and (opset >= 13 or len(shape) == 2) else {"axis": axis}
    return case, case.add("Softmax", [x], **attributes)


def batch_normalization():
    case = Case(special=random.random() < 0.3)
    shape, channels = pick(([1, 6], 6), ([2, 3], 3), ([1, 3, 2], 3))
    parameters = [case.weight(numbers(channels)) for _ in range(3)] + [case.weight(np.abs(numbers(channels)))]
    attributes = {} if random.random() < 0.5 else {"epsilon": 0.01}
    return case, case.add("BatchNormalization", [case.shaped(shape)] + parameters, **attributes)


def dropout():
    case = Case(opset=pick(10, 12, 17))
    if case.opset >= 12 and random.random() < 0.7:
        inputs = ["x", case.weight(0.25), case.weight(False, bool)][: 2 + random.integers(2)]
        return case, case.add("Dropout", inputs, outputs=1)
    return case, case.add("Dropout", ["x"])


def gemm():
    case = Case()
    m, k, n = pick((1, 6, 4), (2, 3, 4), (3, 2, 1), (6, 1, 2))
    ta, tb = random.integers(2), random.integers(2)
    a = case.shaped([k, m] if ta else [m, k])
    b = case.weight(numbers(n, k) if tb else numbers(k, n))
    c = [[], [case.weight(numbers(*pick([n], [1, n], [m, n], [m, 1], [1], [])))]][random.integers(2)]
    attributes = {"transA": int(ta), "transB": int(tb)}
    if random.random() < 0.5:
        attributes |= {"alpha": 0.5, "beta": -1.5}
    return case, case.add("Gemm", [a, b] + c, **attributes)


def gemm_of_features():
    case = Case()
    return case, case.add("Gemm", [case.shaped([2, 3]), case.shaped([2, 3])], transB=1)


def matmul():
    case = Case()
    one, other = pick(([1, 6], [6, 3]), ([6], [6, 2]), ([1, 6], [6]), ([2, 1, 3], [3, 2]), ([2, 3], [4, 3, 2]),
                      ([2, 1, 1, 3], [2, 3, 1]), ([3, 2], [2, 3]))
    x, w = case.shaped(one), case.constant(numbers(*other), np.float32)
    if random.random() < 0.2:
        x, w = case.cast(x, T.INT32), case.cast(w, T.INT32)
    return case, case.add("MatMul", [x, w])


def reduced(kind):
    def make():
        switch = 13 if kind == "ReduceSum" else 18
        case = Case(opset=pick(11, 13, 18), special=random.random() < 0.3)
        shape = pick([1, 6], [2, 3], [3, 1, 2])
        x = case.shaped(shape)
        if random.random() < 0.2:
            case.special = False
            x = case.cast(x, T.INT32)
        axes = sorted(random.choice(len(shape), size=random.integers(1, len(shape) + 1), replace=False).tolist())
        axes = [axis - len(shape) if random.random() < 0.3 else axis for axis in axes]
        attributes = {} if random.random() < 0.5 else {"keepdims": int(random.integers(2))}
        if random.random() < 0.2:
            if case.opset >= switch and random.random() < 0.5:
                attributes["noop_with_empty_axes"] = 1
            return case, case.add(kind, [x], **attributes)
        if case.opset >= switch:
            return case, case.add(kind, [x, case.weight(axes, np.int64)], **attributes)
        return case, case.add(kind, [x], axes=axes, **attributes)
    return make


def arg_max():
    case = Case()
    shape = pick([1, 6], [2, 3], [3, 1, 2])
    x = case.cast(case.shaped(shape), T.INT32) if random.random() < 0.5 else case.shaped(shape)
    attributes = {"axis": int(random.integers(-len(shape), len(shape)))}
    for name in ("keepdims", "select_last_index"):
        if random.random() < 0.5:
            attributes[name] = int(random.integers(2))
    return case, case.add("ArgMax", [x], **attributes)


def concat():
    case = Case(special=True)
    axis = int(random.integers(-2, 2))
    shapes = ([1, 6], [1, 6]) if random.random() < 0.5 else ([2, 3], [2, 1] if axis % 2 else [1, 3])
    inputs = [case.shaped(shapes[0]), case.constant(numbers(*shapes[1]), np.float32)]
    return case, case.add("Concat", inputs + inputs[: random.integers(2)], axis=axis)


def gather():
    case = Case(special=True)
    shape = pick([1, 6], [2, 3], [3, 1, 2])
    axis = int(random.integers(-len(shape), len(shape)))
    indices = random.integers(-shape[axis], shape[axis], size=pick([], [3], [1, 2], [0]))
    attributes = {} if axis == 0 else {"axis": axis}
    return case, case.add("Gather", [case.shaped(shape), case.weight(indices, pick(np.int64, np.int32))], **attributes)


def gather_of_class():
    case = Case()
    chosen = case.add("ArgMax", ["x"], axis=1, keepdims=0)
    return case, case.add("Gather", [case.weight(numbers(6, 2)), chosen])


def extract():
    case = Case(special=True)
    shape = pick([1, 6], [2, 3], [6])
    indices = random.integers(0, shape[-1], size=pick([1], [2], [1, 3]))
    return case, case.add("ArrayFeatureExtractor", [case.shaped(shape), case.weight(indices, np.int64)], **ML)


def reshape():
    case = Case(special=True)
    return case, case.add("Reshape", [case.shaped(pick([2, 3], [1, 6])),
                                      case.constant(pick([-1], [0, -1], [3, 2], [1, 2, -1], [6, 1]))])


def flatten():
    case = Case()
    shape = pick([1, 6], [2, 3], [3, 1, 2])
    return case, case.add("Flatten", [case.shaped(shape)], axis=int(random.integers(-len(shape), len(shape) + 1)))


def squeezed():
    case = Case(opset=pick(11, 13, 17))
    if random.random() < 0.3:
        return case, case.add("Squeeze", [case.shaped([1, 3, 1, 2])])
    axes = pick([0], [2], [0, 2], [-2], [-4, 2])
    x = case.shaped([1, 3, 1, 2])
    if case.opset < 13:
        if min(axes) < 0:
            axes = [0]
        return case, case.add("Squeeze", [x], axes=axes)
    return case, case.add("Squeeze", [x, case.weight(axes, np.int64)])


def unsqueezed():
    case = Case(opset=pick(11, 13, 17))
    axes = pick([0], [1], [2], [0, 3], [-1])
    if case.opset < 13:
        return case, case.add("Unsqueeze", ["x"], axes=axes)
    return case, case.add("Unsqueeze", ["x", case.weight(axes, np.int64)])


def constant():
    case = Case()
    value = pick({"value_float": 1.5}, {"value_floats": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
                 {"value": numpy_helper.from_array(numbers(1, 6))})
    return case, case.add("Mul", ["x", case.add("Constant", [], **value)])


def constant_ints():
    case = Case()
    value = pick({"value_int": 7}, {"value_ints": [1, -2, 3, 4, 5, 6]})
    return case, case.add("Add", [case.cast("x", T.INT64), case.add("Constant", [], **value)])


def scaler():
    case = Case(special=True)
    size = pick(1, 6)
    x = case.cast("x", T.DOUBLE) if random.random() < 0.3 else "x"
    return case, case.add("Scaler", [x], offset=numbers(size).tolist(), scale=numbers(size).tolist(), **ML)


def imputer():
    case = Case(special=True)
    missing = {} if random.random() < 0.3 else {"replaced_value_float": float("nan")}
    return case, case.add("Imputer", ["x"], imputed_value_floats=numbers(pick(1, 6)).tolist(), **missing, **ML)


def normalizer():
    case = Case()
    x = case.add("Abs", ["x"]) if random.random() < 0.5 else "x"
    norm = pick("L1", "L2", "MAX") if x != "x" else pick("L1", "L2")
    return case, case.add("Normalizer", [x], norm=norm, **ML)


def linear_classifier():
    case = Case()
    classes = pick(2, 2, 3)
    scores = 1 if classes == 2 and random.random() < 0.5 else classes
    post = "LOGISTIC" if scores == 1 else pick("NONE", "LOGISTIC", "SOFTMAX")
    labels = {"classlabels_ints": list(range(classes))}
    if random.random() < 0.3:
        labels = {"classlabels_strings": [f"c{label}" for label in range(classes)]}
    x = case.cast("x", T.INT64) if random.random() < 0.2 else "x"
    return case, case.add("LinearClassifier", [x], 2, coefficients=numbers(6 * scores, scale=0.3).tolist(),
                          intercepts=numbers(scores).tolist(), post_transform=post, **labels, **ML)


def linear_regressor():
    case = Case()
    targets = pick(1, 2, 3)
    post = "NONE" if targets == 1 else pick("NONE", "LOGISTIC", "SOFTMAX")
    return case, case.add("LinearRegressor", ["x"], coefficients=numbers(6 * targets, scale=0.3).tolist(),
                          intercepts=numbers(targets).tolist(), targets=targets, post_transform=post, **ML)


def trees(classifier):
    def make():
        case = Case(special=random.random() < 0.5)
        columns = pick(2, 3) if classifier else pick(1, 2)
        scores = pick([0], [1]) if classifier and columns == 2 and random.random() < 0.5 else list(range(columns))
        lists = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                       "falsenodeids", "missing_value_tracks_true")}
        leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
        # ONNX Runtime is right about one mode for all splits.
        mode = pick("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
        tracks = int(random.integers(2))
        for tree in range(random.integers(1, 4)):
            for node in range(7):
                row = [tree, node, 0, 0.0, "LEAF", 0, 0, 0]
                if node < 3:
                    row = [tree, node, int(random.integers(6)), float(np.round(numbers(1)[0])), mode,
                           2 * node + 1, 2 * node + 2, tracks]
                else:
                    for score in scores:
                        for name, value in zip(leaves, (tree, node, score, float(numbers(1, scale=0.4)[0]))):
                            leaves[name].append(value)
                for name, value in zip(lists, row):
                    lists[name].append(value)
        attributes = {f"nodes_{name}": value for name, value in lists.items()}
        attributes |= {f"{'class' if classifier else 'target'}_{name}": value for name, value in leaves.items()}
        if classifier:
            attributes["classlabels_int64s"] = list(range(columns))
            attributes["post_transform"] = pick("NONE", "LOGISTIC", *(["SOFTMAX"] if len(scores) > 1 else []))
        else:
            attributes["n_targets"] = columns
            attributes["aggregate_function"] = pick("SUM", "AVERAGE", "MIN", "MAX")
        if random.random() < 0.4 and attributes.get("aggregate_function", "SUM") == "SUM":
            attributes["base_values"] = numbers(len(scores), scale=0.3).tolist()
        kind = "TreeEnsembleClassifier" if classifier else "TreeEnsembleRegressor"
        return case, case.add(kind, ["x"], 2 if classifier else 1, **attributes, **ML)
    return make


OPERATORS = {
    "Abs": unary("Abs"), "Add": binary("Add"), "ArgMax": arg_max, "ArrayFeatureExtractor": extract,
    "BatchNormalization": batch_normalization, "Cast": cast, "Clip": clip, "Concat": concat, "Constant": constant,
    "Constant ints": constant_ints, "Div": binary("Div"), "Dropout": dropout,
    "Elu": unary("Elu", alpha=lambda: numbers(1)[0]), "Elu plain": unary("Elu"), "Equal": compared("Equal"),
    "Exp": unary("Exp"), "Flatten": flatten, "Gather": gather, "Gather by class": gather_of_class, "Gemm": gemm,
    "Gemm of features": gemm_of_features, "Greater": compared("Greater"), "Identity": unary("Identity"),
    "Imputer": imputer, "IsNaN": is_nan, "LeakyRelu": unary("LeakyRelu", alpha=lambda: 0.2),
    "LeakyRelu plain": unary("LeakyRelu"), "Less": compared("Less"), "LinearClassifier": linear_classifier,
    "LinearRegressor": linear_regressor, "Log": unary("Log"), "MatMul": matmul, "Max": variadic("Max"),
    "Min": variadic("Min"), "Mul": binary("Mul"), "Neg": unary("Neg"), "Normalizer": normalizer, "Not": negated, "Pow": power,
    "Reciprocal": unary("Reciprocal"), "ReduceMean": reduced("ReduceMean"), "ReduceSum": reduced("ReduceSum"),
    "Relu": unary("Relu"), "Reshape": reshape, "Scaler": scaler,
    "Selu": unary("Selu", alpha=lambda: 1.5, gamma=lambda: 0.9), "Selu plain": unary("Selu"),
    "Sigmoid": unary("Sigmoid"), "Softmax": softmax, "Softplus": unary("Softplus"), "Sqrt": unary("Sqrt"),
    "Squeeze": squeezed, "Sub": binary("Sub"), "Sum": variadic("Sum"), "Tanh": unary("Tanh"),
    "TreeEnsembleClassifier": trees(True), "TreeEnsembleRegressor": trees(False), "Unsqueeze": unsqueezed,
    "Where": where,
}


def rows(special):
    found = np.round(numbers(1, FEATURES, scale=3.0) * 4) / 4
    if special:
        found = np.where(random.random(found.shape) < 0.4, random.choice(SPECIAL, found.shape), found)
    return found.astype(np.float32)


def attempt(call):
    try:
        return np.asarray(call())
    except Exception:
        return None


def agree(one, other):
    return one.shape == other.shape and np.allclose(one.astype(float), other.astype(float), 1e-4, 1e-5, True)


def text(value):
    return [str(number.item()) if value.dtype.kind in "iub" else repr(float(number)) for number in value.ravel()]


cases, dropped = [], {}
for name, make in OPERATORS.items():
    for _ in range(EACH):
        case, output = make()
        model = case.model(output)
        session = attempt(lambda: onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]))
        reference = attempt(lambda: ReferenceEvaluator(model))
        kept = []
        for _ in range(3):
            row = rows(case.special)
            answers = [attempt(lambda: evaluator.item().run([output], {"x": row})[0])
                       for evaluator in (session, reference) if evaluator is not None]
            answers = [answer for answer in answers if answer is not None and answer.dtype.kind in "biuf"]
            if answers and all(agree(answers[0], answer) for answer in answers):
                kept.append({"row": text(row), "shape": list(answers[0].shape), "answer": text(answers[0].astype(int) if answers[0].dtype.kind == "b" else answers[0])})
            else:
                dropped.setdefault(name, []).append([answer.ravel().tolist()[:8] for answer in answers])
        if kept:
            cases.append({"name": name, "onnx": model.SerializeToString().hex(), "rows": kept})
with open("operators.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")
print(len(cases), "cases;", "without agreement:", {name: (len(found), found[0]) for name, found in dropped.items()})
