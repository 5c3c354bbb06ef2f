#!/usr/bin/env python3
"""Makes the files of this folder: small models of scikit-learn as its exporter writes them, and what
scikit-learn itself answers.

    pip install scikit-learn==1.9.1 skl2onnx==1.20.0 onnx==1.19.1 "protobuf<6" && python make.py
"""

import json
import warnings

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
numbers = np.random.default_rng(7)
rows = numbers.normal(size=(400, 4)).astype(np.float32) * [1, 10, 100, 0.5]
rows = rows.astype(np.float32)
human = (rows[:, 0] + rows[:, 1] / 10 * (rows[:, 2] > 0) + numbers.normal(size=400) * 0.3 > 0).astype(int)
holes = rows.copy()
holes[numbers.random(holes.shape) < 0.15] = np.nan
names = np.where(human == 1, "human", "sybil")

models = {
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression()), rows, human),
    "imputed": (make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression()), holes, names),
    "boosted": (GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=1), rows, human),
    "histogram": (HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5, random_state=1), holes, human),
    "forest": (RandomForestClassifier(n_estimators=4, max_depth=3, random_state=1), rows, names),
    "perceptron": (MLPClassifier((5,), max_iter=400, random_state=1), rows[:, :] / [1, 10, 100, 0.5], human),
}
expected = {}
for name, (model, seen, labels) in models.items():
    seen = seen.astype(np.float32)
    model.fit(seen, labels)
    # Lists of maps are the exporter's default; one model keeps them.
    options = None if name == "forest" else {id(model): {"zipmap": False}}
    exported = to_onnx(model, initial_types=[("features", FloatTensorType([None, 4]))], options=options, target_opset={"": 17, "ai.onnx.ml": 3})
    with open(f"{name}.onnx", "wb") as file:
        file.write(exported.SerializeToString())
    column = list(model.classes_).index(1 if labels is human else "human")
    asked = seen[:6]
    answers = model.predict_proba(asked)[:, column]
    expected[name] = [
        {"features": [None if np.isnan(x) else float(x) for x in row], "human": float(answer)}
        for row, answer in zip(asked, answers)
    ]
with open("expected.json", "w") as file:
    json.dump(expected, file, indent=1)
    file.write("\n")
