#include "jobs/search/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "io/convert.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {

Reference golden_reference(const Subject& subject, const Reference& float_model, const std::filesystem::path& path) {
  const std::vector<std::unique_ptr<Run>> runs = open_runs(path);
  const Run& run = *runs.back();
  const std::string where = printable(path.string());
  if (run.size() != subject.samples->size()) {
    throw Error(ErrorCode::Unlike,
                fmt::format("{}: {}, but the data are {}", where, plural(run.size(), "iteration"),
                            plural(subject.samples->size(), "sample")),
                "save the outputs for the same data: ‹vernier run MODEL --onnxrt --data SOURCE --save-outputs FILE›");
  }
  Reference golden;
  Sha256 hash;
  for (std::size_t sample = 0; sample < run.size(); ++sample) {
    const Iteration iteration = run.at(sample);
    const std::vector<Tensor> expected = float_model.outputs.get(sample);
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      const std::string& name = subject.judged[i];
      const auto part = std::ranges::find(subject.parts, name, &OutputPart::name);
      const std::string& given = part == subject.parts.end() ? name : part->output;
      const auto found = std::find_if(iteration.outputs.begin(), iteration.outputs.end(),
                                      [&](const NamedTensor& output) { return output.name == given; });
      const std::string place = fmt::format("{}, iteration {}: output '{}'", where, sample, printable(name));
      if (found == iteration.outputs.end()) {
        std::vector<std::string> names;
        for (const NamedTensor& output : iteration.outputs) names.push_back(output.name);
        throw Error(ErrorCode::Unlike, place + " is missing", "outputs: " + list_some(names, 10));
      }
      if (!convertible(found->tensor.dtype(), Dtype::Float32)) {
        throw Error(ErrorCode::Unlike,
                    fmt::format("{} is {}, but float32 is required", place, dtype_name(found->tensor.dtype())));
      }
      outputs.push_back(convert(found->tensor, Dtype::Float32, place));
      if (part != subject.parts.end()) outputs.back() = slice_of(outputs.back(), *part);
      if (outputs.back().shape() != expected[i].shape() && picked_of(subject, name) == Picked::No) {
        throw Error(ErrorCode::Unlike,
                    fmt::format("{} has shape {}, but the model returns {}", place, shape_text(outputs.back().shape()),
                                shape_text(expected[i].shape())));
      }
      hash.update(outputs.back().bytes());
      stats_of(golden.totals, subject, name).add_sample(sample, outputs.back(), outputs.back());
    }
    golden.outputs.put(sample, outputs);
  }
  golden.data_sha256 = hash.hex();
  return golden;
}

}  // namespace vernier
