// The Python that scripts run in here, and small programs in place of those of scripts/programs.h.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "temp_files.h"
#include "vernier/samples.h"

namespace vernier::testing {

/// Functions that a program of ours has: tell() says a line, ask() waits for the answer to it.
inline constexpr const char* kHost = R"(
import json, os, sys, time

def tell(**what):
    print(json.dumps(what), flush=True)

def ask():
    tell(next=1)
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(4, 1)
    offset, size = map(int, line.split())
    return json.loads(os.pread(3, size, offset).decode())
)";

inline SourceOptions with_python() {
  SourceOptions options;
  options.python = VERNIER_PYTHON;
  return options;
}

class ScriptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool has_python = run_python("json", "-c", "pass") == 0;
    if (!has_python) VERNIER_SKIP_OR_FAIL("no Python");
  }
};

}  // namespace vernier::testing
