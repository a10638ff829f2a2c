import pytest


def pytest_addoption(parser):
    parser.addoption("--cases", action="append", help="file of text cases (repeatable)")
    parser.addoption("--program", help="the program that {vernier} stands for")
    parser.addoption("--other", help="another program, to be compared with it")
    parser.addoption("--emulator", default="", help="the command that runs it, where it is another machine's")


@pytest.fixture
def program(request):
    return request.config.getoption("--program")
