// Whatever bytes a file holds, reading it ends in a model or in an Error of kind Input: no crash, no other exception,
// no memory beyond the file's own size. A model that was read can be looked through and written.
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "model/data_dependent.h"
#include "model/graph_edit.h"
#include "model/layers.h"
#include "model/passes/pass.h"
#include "model/prepare.h"
#include "model/sparsity.h"
#include "model/subgraph.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace {

using namespace vernier;

/// What `surgeon`, `inspect` and `debug reduce` do to a model that was read.
void edit(const Model& model) {
  unbounded_sizes(model);
  for (const SummedWeight& weight : summed_weights(model)) {
    const Tensor value = *initializer(model, weight.name);
    if (!not_prunable(value, weight.axis)) pruned_2_of_4(value, weight.axis);
  }
  const auto types = infer_type_protos(model);
  for (int i = 0; i < model.proto.graph().node_size(); ++i) {
    const std::vector<std::string> outputs = results(model, {i});
    for (const std::string& name : boundary(model, {i})) {
      if (!types.contains(name)) return;
    }
    piece_of(model, {i}, outputs, types);
  }
  const PrepareOptions options;
  const Evaluator no_engine = [](const Model&, const Sample&) -> std::vector<Tensor> {
    throw Error(ErrorKind::Backend, "no engine here");
  };
  Model edited = model;
  const passes::Context context{options, no_engine, default_opset(model.proto)};
  passes::fuse_bias(edited, context);
  passes::remove_idle_nodes(edited, context);
  passes::merge_equal_nodes(edited, context);
  verify_structure(edited, "edits");
}

void read_bytes(const std::string& bytes) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(bytes)) return;
  // External data is tested by name in read_test.cpp; here it must not reach the disk, whatever it names.
  const std::filesystem::path nowhere = "/nonexistent/vernier-fuzz";
  try {
    const Model model = adopt_model(std::move(proto), nowhere);
    find_layers(model);
    prepare(model, {.formats = {Format::Int8}, .samples = {}}, [](const Model&, const Sample&) -> std::vector<Tensor> {
      throw Error(ErrorKind::Backend, "no engine here");
    });
    whole_proto(model);
    edit(model);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Input) return;
    std::fprintf(stderr, "an error that is not the file's: %s\n", error.what());
    std::abort();
  }
}

const char* const kSeeds[] = {
    R"(<ir_version: 8, opset_import: ["" : 11]>
       g (float[1,2,4,4] x, bool c) => (float[a,b,d,e] y) <float[2,2,1,1] w = {1,2,3,4}, float[2] s = {1,2}> {
         a = Conv(x, w) b = BatchNormalization(a, s, s, s, s) k = Shape(b) r = Reshape(b, k)
         y = If (c) <then_branch = t () => (float[n] q) { q = Neg(r) }, else_branch = f () => (float[n] q) { q = Exp(r) }> })",
    R"(<ir_version: 4, opset_import: ["" : 7]>
       g (float[1,3,8,8] x) => (float[1,3,5,4] y) {
         a = ImageScaler <scale = 2.0, bias = [1.0, 2.0, 3.0]> (x) b = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (a)
         c = Clip <min = 0.0> (b) y = Crop <border = [1, 2, 3, 1]> (c) })",
    R"(<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
       g (float[2] x, int64 n, bool k) => (float[2] y) <int64[1] two = {2}> {
         c = Constant <value = float[2] {1, 2}> () d = Add(c, c) e = local.f(d)
         y = Loop (n, k, x) <body = b (int64 i, bool p, float[2] u) => (bool q, float[2] v) { q = Identity(p) v = Add(u, e) }> }
       <domain: "local", opset_import: ["" : 13]> f (u) => (v) { v = Neg(u) })",
    // A second output that the operator does not have, and that something reads: found by this target.
    R"(<ir_version: 8, opset_import: ["" : 13]>
       g (float[2] x) => (float[2] y) { a, b = Max(x) y = Neg(b) })"};

}  // namespace

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> seeds;
  for (const char* text : kSeeds) {
    onnx::ModelProto proto;
    const auto status = onnx::OnnxParser::Parse(proto, text);
    if (!status.IsOK()) throw std::logic_error("bad seed: " + status.ErrorMessage());
    seeds.push_back(proto.SerializeAsString());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  read_bytes({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
