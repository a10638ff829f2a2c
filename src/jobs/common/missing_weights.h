// Models whose weights were stripped (`vernier surgeon weight-strip`): to jobs that need no values, such weights are
// inputs of the graph, which nothing can fold and any run can feed.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/onnx_model.h"

namespace vernier {

class MissingWeights {
 public:
  /// As read_model(), and of a model with stripped weights the one in which they are inputs.
  Model read(const OnnxModel& source, const std::filesystem::path& external_data_dir);
  /// The same as read_model_unhashed() reads it.
  Model read_unhashed(const OnnxModel& source, const std::filesystem::path& external_data_dir);

  bool any() const { return !stripped_.empty(); }
  std::vector<std::string> names() const;

  /// Makes them initializers without values again, except those that no node reads and those that have values by now.
  void put_back(Model& model) const;

 private:
  Model read_by(const std::function<Model(const OnnxModel&)>& reader, const OnnxModel& source);

  std::vector<onnx::TensorProto> stripped_;
  std::set<std::string> inputs_;  // those that were inputs as well, as in files of ONNX before 1.4
};

}  // namespace vernier
