#include "jobs/verify/output_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/hiding_pairs.h"
#include "analysis/judged_views.h"
#include "analysis/run_tensors.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/graph_walk.h"
#include "numerics/metrics.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kSamplesForConstants = 8;
constexpr float kVaries = 1e-4F;  // of the largest value: less is rounding

bool counts(Dtype dtype) {
  return dtype != Dtype::Float32 && dtype != Dtype::Float16 && dtype != Dtype::BFloat16 && dtype != Dtype::Float64 &&
         dtype != Dtype::Undefined && dtype != Dtype::String;
}

std::vector<std::vector<std::string>> hashes(const Subject& subject, const Model& model,
                                             const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> found(names.size());
  run_tensors(subject, model, names, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      Sha256 hash;
      hash.update(std::as_bytes(std::span(got[i].shape())));
      hash.update(got[i].bytes());
      found[i].push_back(hash.hex());
    }
    return true;
  });
  return found;
}

std::map<std::string, RangeStats> ranges_of(const Subject& subject, const Model& model,
                                            const std::vector<std::string>& names, bool until_they_vary) {
  std::vector<std::size_t> order = all_samples(subject);
  order.resize(std::min(order.size(), kSamplesForConstants));
  std::map<std::string, RangeStats> ranges;
  run_tensors(subject, model, names, order, [&](std::size_t, const std::vector<Tensor>& got) {
    bool one_is_constant = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      RangeStats& range = ranges[names[i]];
      accumulate_range(got[i].floats(), range);
      one_is_constant = one_is_constant || range.min == range.max;
    }
    return one_is_constant || !until_they_vary;
  });
  return ranges;
}

std::string where_it_is_lost(const Subject& subject, const SimulatedFile& file, const std::string& name,
                             const ErrorStats& sums) {
  const auto known = std::ranges::find(subject.parts, name, &OutputPart::name);
  OutputPart part{name, name, 0, 0, std::nullopt};
  if (known != subject.parts.end()) part = *known;
  const std::vector<HidingPair> hiding = pairs_hiding(file, part, sums);
  if (!hiding.empty()) return "; " + hiding_text(hiding.back(), part);
  const GraphWalk walk(file.model);
  const onnx::NodeProto* maker = walk.maker(part.output);
  return maker == nullptr ? "" : fmt::format("; '{}' gives it", printable(maker->name()));
}

}  // namespace

std::vector<ExactOutput> compare_exact_outputs(const Subject& subject, const SimulatedFile& file) {
  std::vector<std::string> names;
  std::vector<ExactOutput> rows;
  for (const InputInfo& output : model_outputs(subject.model)) {
    const bool state = std::ranges::find(subject.carries, output.name, &Carry::output) != subject.carries.end();
    if (!counts(output.dtype) || state) continue;
    names.push_back(output.name);
    ExactOutput& row = rows.emplace_back();
    row.name = output.name;
    row.what = not_judged_text(subject.model, output);
  }
  if (names.empty()) return rows;
  const auto reference = hashes(subject, subject.model, names);
  const auto got = hashes(subject, file.model, names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows[i].samples = reference[i].size();
    for (std::size_t k = 0; k < reference[i].size(); ++k) rows[i].equal += reference[i][k] == got[i][k] ? 1 : 0;
  }
  return rows;
}

std::vector<std::string> constant_outputs(const Subject& subject, const SimulatedFile& file,
                                          const std::map<std::string, OutputStats>& sums) {
  std::vector<std::string> suspects;
  for (const auto& [name, range] : ranges_of(subject, file.model, subject.judged, /*until_they_vary=*/true)) {
    if (range.count > 1 && range.min == range.max) suspects.push_back(name);
  }
  std::vector<std::string> sentences;
  if (suspects.empty()) return sentences;
  const std::map<std::string, RangeStats> reference =
      ranges_of(subject, subject.model, suspects, /*until_they_vary=*/false);
  for (const std::string& name : suspects) {
    const RangeStats& range = reference.at(name);
    if (range.empty() || !(range.max - range.min > kVaries * range.absmax())) continue;
    sentences.push_back(fmt::format(
        "'{}' is one constant in the typed model; in the float model its values are from "
        "{:.3g} to {:.3g}{}",
        printable(name), range.min, range.max, where_it_is_lost(subject, file, name, sums.at(name).pooled)));
  }
  return sentences;
}

}  // namespace vernier
