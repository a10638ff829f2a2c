// Bytes as a debug replay: taken, asked, or refused. Only vernier::Error of kind Input may come out.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "external_check/replay.h"
#include "fuzz_target.h"
#include "vernier/error.h"
#include "vernier/note.h"

namespace {

const vernier::CheckIdentity kIdentity{"debug reduce", "net.onnx", "abc", "mode=bisect", "true"};

}  // namespace

std::vector<std::string> fuzz_seeds() {
  const std::string entry =
      R"("_N0_outputs": {"state": {"num_nodes": 3}, "iteration_info": {"iteration": 0}, "success": true,)"
      R"( "polygraphy_class": "IterationContext"})";
  return {"{" + entry + "}",
          R"({"vernier": {"version": 1, "command": "debug reduce", "model": "net.onnx",)"
          R"( "sha256": "abc", "options": "mode=bisect", "check": "true"}, )" +
              entry + "}",
          "{}"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    vernier::Replay replay(kIdentity);
    replay.take(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json", [](const vernier::Note&) {});
    replay.find("_N0_outputs", vernier::Json::Object{{"num_nodes", 3}});
  } catch (const vernier::Error& error) {
    if (error.kind() == vernier::ErrorKind::Input) return 0;
    std::fprintf(stderr, "an error that is not the file's: %s\n", error.what());
    std::abort();
  }
  return 0;
}
