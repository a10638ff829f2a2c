"""Every job on every model of models.py ends, with an exit code of the contract and words of our own."""
import pytest

import drive
import models


@pytest.mark.sampled
@pytest.mark.parametrize("name", models.MODELS)
def test_every_job_ends(name, tmp_path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    model = inputs / f"{name}.onnx"
    model.write_bytes(models.MODELS[name]().SerializeToString())
    outcomes = {job: drive.run(command, inputs, tmp_path)
                for job, command in drive.commands_on_model(f"../in/{name}.onnx").items()}
    faults = {job: (outcome.faults, outcome.output[-300:]) for job, outcome in outcomes.items() if outcome.faults}
    assert not faults
    if name in models.REFUSED:
        assert all(outcome.code == 3 for job, outcome in outcomes.items() if job != "check lint"), {
            job: outcome.code for job, outcome in outcomes.items()}
        assert models.REFUSED[name] in outcomes["diagnose"].output
        assert outcomes["check lint"].code == 1
