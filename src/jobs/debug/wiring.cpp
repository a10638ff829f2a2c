#include "jobs/debug/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr std::size_t kMostTensors = 256;

/// Nodes whose result is their first input, rounded, renamed or in another type.
bool copies(const onnx::NodeProto& node) {
  return node.input_size() > 0 &&
         ((node.domain() == kDomain && node.op_type() == "Round") || is_onnx(node, "Identity") ||
          is_onnx(node, "Dropout") || has(node, Trait::ChangesType | Trait::Quantizes) ||
          (is_onnx(node, "Sum") && node.input_size() == 1));
}

bool takes_any_order(const onnx::NodeProto& node) {
  static const std::set<std::string> kAny = {"Add", "Mul", "Sum", "Max", "Min", "Mean", "And", "Or", "Xor", "Equal"};
  return kAny.contains(node.op_type());
}

}  // namespace

Wiring::Wiring(const Subject& subject, const SimulatedFile& file, const LayerMatches& matches)
    : ref_made_(makers_in(subject.model)),
      low_made_(makers_in(file.model)),
      ref_constants_(initializer_names(subject.model)),
      low_constants_(initializer_names(file.model)) {
  for (const onnx::ValueInfoProto& input : subject.model.proto.graph().input()) {
    twins_.emplace(input.name(), input.name());
    names_.emplace(input.name(), input.name());
  }
  for (const Match& match : matches.pairs) {
    const std::string source = base_of(match.low);
    twins_.emplace(match.ref, source);
    names_.emplace(source, match.ref);
  }
}

std::string Wiring::base_of(std::string tensor) const {
  for (auto made = low_made_.find(tensor); made != low_made_.end() && copies(*made->second);
       made = low_made_.find(tensor)) {
    tensor = made->second->input(0);
  }
  return tensor;
}

void Wiring::collect_of_ref(const std::string& tensor, const std::string& target, const onnx::NodeProto* reader,
                            Sources& found) const {
  if (tensor.empty() || ref_constants_.contains(tensor) || !found.seen.insert(tensor).second) return;
  if (found.seen.size() > kMostTensors) found.known = false;
  if (!found.known) return;
  // A layer that the file merged with the one behind has the same source as that one.
  const auto twin = twins_.find(tensor);
  if (twin != twins_.end() && twin->second != target) {
    found.readers.emplace(twin->second, reader);
    return;
  }
  const auto made = ref_made_.find(tensor);
  if (made == ref_made_.end() || has_body(*made->second)) {
    found.known = false;
    return;
  }
  const onnx::NodeProto& node = *made->second;
  if (has(node, Trait::ReadsShape)) return;
  if (copies(node)) return collect_of_ref(node.input(0), target, reader, found);
  for (const std::string& input : node.input()) collect_of_ref(input, target, &node, found);
}

void Wiring::collect_of_low(const std::string& tensor, const std::string& target, const onnx::NodeProto* reader,
                            Sources& found) const {
  const std::string base = base_of(tensor);
  if (base.empty() || low_constants_.contains(base) || !found.seen.insert(base).second) return;
  if (found.seen.size() > kMostTensors) found.known = false;
  if (!found.known) return;
  if (base != target && names_.contains(base)) {
    found.readers.emplace(base, reader);
    return;
  }
  const auto made = low_made_.find(base);
  if (made == low_made_.end() || has_body(*made->second)) {
    found.known = false;
    return;
  }
  const onnx::NodeProto& node = *made->second;
  if (has(node, Trait::ReadsShape)) return;
  for (const std::string& input : node.input()) collect_of_low(input, target, &node, found);
}

std::string Wiring::name_of(const std::string& source) const {
  const auto found = names_.find(source);
  return printable(found == names_.end() ? source : found->second);
}

std::optional<Difference> Wiring::other_sources(const Match& match, const std::string& computing) const {
  const std::string target = target_of(match);
  Sources wanted, held;
  collect_of_ref(match.ref, target, nullptr, wanted);
  collect_of_low(match.low, target, nullptr, held);
  if (!wanted.known || !held.known) return std::nullopt;
  const auto lacks = [](const Sources& in) {
    return [&](const auto& source) { return !in.readers.contains(source.first); };
  };
  const auto missing = std::ranges::find_if(wanted.readers, lacks(held));
  const auto extra = std::ranges::find_if(held.readers, lacks(wanted));
  const auto reader_of = [](const onnx::NodeProto* node) {
    return fmt::format("{} '{}'", printable(node->op_type()), printable(node->name()));
  };
  if (extra != held.readers.end() && extra->second != nullptr) {
    const std::string reads = fmt::format("{} reads '{}'", reader_of(extra->second), name_of(extra->first));
    if (missing != wanted.readers.end()) {
      return Difference{extra->second->name(),
                        fmt::format("{}, but '{}' in the float model", reads, name_of(missing->first))};
    }
    return Difference{extra->second->name(),
                      fmt::format("{}, unlike '{}' in the float model", reads, printable(match.ref))};
  }
  if (missing != wanted.readers.end() && missing->second != nullptr) {
    return Difference{computing,
                      fmt::format("{} of the float model reads '{}', and '{}' of the file does not",
                                  reader_of(missing->second), name_of(missing->first), printable(match.low))};
  }
  return std::nullopt;
}

std::string Wiring::other_order(const Match& match, const onnx::NodeProto& ref, const onnx::NodeProto& low) const {
  if (takes_any_order(ref) || ref.input_size() != low.input_size() || ref.input_size() < 2) return {};
  const std::string target = target_of(match);
  std::vector<std::string> wanted, held;
  bool known = true;
  const auto text_of = [&](const Sources& sources) {
    std::vector<std::string> names;
    for (const auto& [source, reader] : sources.readers) names.push_back("'" + name_of(source) + "'");
    known = known && sources.known;
    return names.empty() ? std::string("a constant") : list_some(names);
  };
  for (int k = 0; k < ref.input_size(); ++k) {
    Sources of_ref, of_low;
    collect_of_ref(ref.input(k), target, &ref, of_ref);
    collect_of_low(low.input(k), target, &low, of_low);
    wanted.push_back(text_of(of_ref));
    held.push_back(text_of(of_low));
  }
  if (!known || wanted == held || !std::ranges::is_permutation(wanted, held)) return {};
  return fmt::format("{} '{}' reads {} in this order, in the float model {}", printable(low.op_type()),
                     printable(low.name()), list_some(held), list_some(wanted));
}

}  // namespace vernier
