// Bytes as the stages of a pipeline. Only vernier::Error of kind Input may come out.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "jobs/eval/stages_file.h"
#include "vernier/error.h"

std::vector<std::string> fuzz_seeds() {
  return {"stages:\n  - {name: float, file: model.onnx}\n  - name: int8  # typed\n    file: \"out/model.onnx\"\n",
          R"({"stages": [{"name": "a", "file": "a.npz"}, {"name": "b\u00e9", "file": "/b.npz"}]})",
          "%YAML 1.2\n---\nstages: &all\n- &first {name: !!str a, file: 'it''s'}\n- *first\n- name: |\n    b\n  file: "
          ">-\n    "
          "c\n...\n",
          "? stages\n: [[[[]]]]\n",
          "stages: ~\n",
          "stages: [{name: a, file: [}]"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    vernier::stages_from_text({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  } catch (const vernier::Error& error) {
    if (error.kind() != vernier::ErrorKind::Input) {
      std::fprintf(stderr, "not an Input error: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
