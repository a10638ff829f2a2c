"""A qat.py has the range of one module as the plan says it, and leaves another one float.

    check_qat.py QAT.py PLAN.json LAYER MODULE KEPT
"""
import json
import pathlib
import runpy
import sys

import numpy as np

qat, plan, layer, module, kept = sys.argv[1:]
entries = {entry["quantizer_name"]: entry for entry in runpy.run_path(qat)["CONFIG"]["quant_cfg"]}
tensors = json.loads(pathlib.Path(plan).read_text())["tensors"]
scale = np.float32(tensors["x"]["scale"][0])
found = entries[f"{module}.input_quantizer"]["cfg"]
assert found["num_bits"] == 8 and np.float32(found["constant_amax"]) == np.float32(float(scale) * 127), (found, scale)
assert entries[f"{module}.weight_quantizer"]["cfg"] == {"num_bits": 8, "axis": 0, "narrow_range": True}
assert entries["*"] == {"quantizer_name": "*", "enable": False} and next(iter(entries)) == "*"
assert entries[f"{kept}.*_quantizer"]["enable"] is False and f"{kept}.weight_quantizer" not in entries
assert f"# INT8: {layer}" in pathlib.Path(qat).read_text()
