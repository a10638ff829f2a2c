"""Two reports and names of stages, each of which the first took from a record: in a tenth of the time that it took the second."""
import json
import sys


def seconds(path):
    with open(path) as file:
        return {phase["phase"]: phase["seconds"] for phase in json.load(file)["phases"]}


known, anew = seconds(sys.argv[1]), seconds(sys.argv[2])
for stage in sys.argv[3:]:
    assert known[stage] < 0.1 * anew[stage], (stage, known[stage], anew[stage])
