#include "analysis/run_tensors.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "analysis/some_samples.h"
#include "analysis/surgery.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

void give_tensors(const Subject& subject, const std::vector<std::string>& tensors, Model& model) {
  std::map<std::string, Dtype> dtypes;
  for (const InputInfo& output : model_outputs(subject.model)) dtypes[output.name] = output.dtype;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : tensors) {
    outputs.emplace_back(name, dtypes.try_emplace(name, Dtype::Float32).first->second);
  }
  for (const Carry& carry : subject.carries) {
    if (std::ranges::find(tensors, carry.output) == tensors.end()) {
      outputs.emplace_back(carry.output, dtypes[carry.output]);
    }
  }
  set_outputs(model, outputs);
}

void run_tensors(const Subject& subject, Model model, const std::vector<std::string>& tensors,
                 const std::vector<std::size_t>& order, const VisitTensors& visit) {
  run_tensors(subject, std::move(model), tensors, order, {},
              [&](const SampleResult& sample) { return visit(sample.index, sample.outputs); });
}

void run_tensors(const Subject& subject, Model model, const std::vector<std::string>& tensors,
                 const std::vector<std::size_t>& order, const Digest& digest,
                 const std::function<bool(SampleResult)>& take) {
  give_tensors(subject, tensors, model);
  const Session session = subject.session(model);
  const Digest cut = [&](SampleResult& sample) {
    sample.outputs.resize(tensors.size());
    if (digest) digest(sample);
  };
  run_samples(subject, session, order, {}, "trial", take, {.digest = cut});
}

std::vector<Tensor> tensors_of_first_sample(const Subject& subject, Model model,
                                            const std::vector<std::string>& tensors) {
  const FewSamples first(subject, 1);
  Subject alone = subject;
  alone.samples = &first;
  alone.ranks = nullptr;
  alone.batch = 1;
  std::vector<Tensor> values;
  run_tensors(alone, std::move(model), tensors, all_samples(alone), [&](std::size_t, const std::vector<Tensor>& got) {
    values = got;
    return false;
  });
  return values;
}

}  // namespace vernier
