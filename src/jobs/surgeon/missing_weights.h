// Models whose weights were stripped (`vernier surgeon weight-strip`): to edits that need no values, such weights are
// inputs of the graph, which nothing can fold and any run can feed.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/onnx_model.h"

namespace vernier {

// How TensorRT's tools say in an initializer's doc_string that its values are missing.
inline constexpr const char* kWeightless = "TRT_WEIGHTLESS/";

class MissingWeights {
 public:
  /// As read_model(), and of a model with stripped weights the one in which they are inputs.
  Model read(const OnnxModel& source, const std::filesystem::path& external_data_dir = {});

  bool any() const { return !stripped_.empty(); }
  std::vector<std::string> names() const;

  /// Makes them initializers without values again; those that no node reads any more are left out.
  void put_back(Model& model) const;

 private:
  std::vector<onnx::TensorProto> stripped_;
  std::set<std::string> inputs_;  // those that were inputs as well, as in files of ONNX before 1.4
};

}  // namespace vernier
