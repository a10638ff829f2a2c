"""The SHA-256 of the numbers that a file stores, whoever wrote it: weights_of.py MODEL"""
import hashlib
import sys

import onnx

stored = hashlib.sha256()
for tensor in sorted(onnx.load(sys.argv[1]).graph.initializer, key=lambda tensor: tensor.name):
    stored.update(tensor.name.encode() + tensor.raw_data)
print(stored.hexdigest())
