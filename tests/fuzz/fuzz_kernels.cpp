// Bytes as what an engine says of its kernels, printed or as JSON. Only vernier::Error may come out, never an Internal
// one; what is read is within the bytes, and a name is never longer than they are.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_places.h"
#include "engines/hosts/kernels.h"
#include "fuzz_target.h"
#include "vernier/error.h"

namespace {

void check(const std::vector<vernier::EngineKernel>& kernels, std::size_t bytes) {
  for (const vernier::EngineKernel& kernel : kernels) {
    for (const std::string& node : kernel.nodes) {
      if (node.size() <= bytes) continue;
      std::fputs("a node's name is longer than all that was said\n", stderr);
      std::abort();
    }
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {
      "Layers:\nName: conv_myl0_2, LayerType: correlation, Inputs: [ { Name: x, Dimensions: [1,3], Strides: [3,1], "
      "Datatype: Int8, Format: (NHWC) Channel major format }], Constants: [ { Name: w, Dimensions: [4], Datatype: "
      "Int8, Format: f }], Outputs: [ { Name: y, Dimensions: [1,4], Datatype: Half, Format: f }], TacticName: t, "
      "StreamId: 0, Metadata: [ONNX Layer: conv][ONNX Layer: relu]\n",
      R"({"Layers": [{"Name": "conv + relu", "LayerType": "CaskConvolution", "Inputs": [{"Name": "x",
              "Format/Datatype": "Channel major INT8 format"}], "Outputs": [], "Metadata": "[ONNX Layer: conv]"}, "a"]})",
      "Error Code 4: no solution. In operator() at /_src/a.cpp:4633 In analyze at /_src/b.cpp:2825)",
      "/a/helper.cc:76: f: Assertion `x` failed: no shape"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(vernier::kernels_from_lines(text), size);
  if (vernier::without_source_places(std::string(text)).size() > size) std::abort();
  try {
    // A byte of JSON may stand for three of a replaced character.
    check(vernier::kernels_from_json(text, "fuzz.json"), 3 * size);
  } catch (const vernier::Error& error) {
    if (error.kind() == vernier::ErrorKind::Internal) {
      std::fprintf(stderr, "internal error: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
