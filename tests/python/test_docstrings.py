"""What the package says of itself: examples in docstrings run, its version is the project's."""
import doctest
import re

import onnx_vernier as vernier
import pytest
from conftest import ROOT


@pytest.mark.parametrize("function", [vernier.formats.round, vernier.search])
def test_examples(function):
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    tests = [test for test in finder.find(function, globs={function.__name__: function}) if test.examples]
    assert tests
    for test in tests:
        assert runner.run(test).failed == 0


def test_the_version_is_the_project_s():
    project = re.search(r"^project\(vernier VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    assert vernier.__version__ == project[1]


def test_everything_public_says_what_it_does():
    for name in vernier.__all__:
        thing = getattr(vernier, name)
        assert (thing.__doc__ or "").strip(), name
        assert name in dir(vernier)
