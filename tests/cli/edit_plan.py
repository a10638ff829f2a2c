"""Changes a plan: edit_plan.py IN.json OUT.json STATEMENT, a line of Python about `plan`."""
import json
import pathlib
import sys

plan = json.loads(pathlib.Path(sys.argv[1]).read_text())
exec(sys.argv[3], {"plan": plan, "tensors": plan["tensors"]})
pathlib.Path(sys.argv[2]).write_text(json.dumps(plan))
