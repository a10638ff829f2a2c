"""A check for `debug reduce`: exits 1 when the model holds all nodes that are named by their numbers.

    python holds_nodes.py MODEL 1 9 [--code N] [--calls FILE]

--code: that exit code instead of 1. --calls: one line is added to FILE for each call.
"""
import argparse
import pathlib
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("nodes", nargs="*")
parser.add_argument("--code", type=int, default=1)
parser.add_argument("--calls")
arguments = parser.parse_args()
if arguments.calls:
    with open(arguments.calls, "a", encoding="utf8") as calls:
        calls.write("call\n")
names = set(re.findall(rb"onnx_graphsurgeon_node_(\d+)", pathlib.Path(arguments.model).read_bytes()))  # onnx takes ten times as long to load
sys.exit(arguments.code if names.issuperset(number.encode() for number in arguments.nodes) else 0)
