def pytest_addoption(parser):
    parser.addoption("--cases", action="append", help="file of text cases (repeatable)")
    parser.addoption("--program", help="the program that {vernier} stands for")
