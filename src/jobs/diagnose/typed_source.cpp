#include "jobs/diagnose/typed_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/match_layers.h"
#include "analysis/quantizer_loss.h"
#include "base/text.h"
#include "jobs/common/typed_file.h"
#include "jobs/diagnose/other_weights.h"
#include "jobs/diagnose/pair_clamps.h"
#include "jobs/verify/stored_values.h"
#include "model/contents.h"
#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "numerics/tensor_grid.h"
#include "plan/cast_decoders.h"
#include "plan/constant_codes.h"
#include "plan/engine_limits.h"
#include "plan/float_interface.h"
#include "plan/nbits_weight.h"
#include "plan/pair_form.h"
#include "plan/simulate_typed.h"
#include "plan/weight_blocks.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/defects.h"
#include "vernier/target.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool symmetric(const QuantParams& params) {
  return std::ranges::all_of(params.zero_point, [](std::int32_t zero) { return zero == 0; });
}

/// "4 layers in int8 and 2 in float16".
std::string formats_text(const std::map<Format, std::size_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [format, count] : counts) {
    parts.push_back(fmt::format("{} in {}", plural(count, "layer"), format_name(format)));
  }
  return list_some(parts);
}

/// The formats that `file` computes in other than float32; layers in float32 are put into `high`.
std::map<Format, std::size_t> low_formats(const SimulatedFile& file, std::set<std::string>& high) {
  std::map<Format, std::size_t> low;
  for (const PlannedLayer& layer : file.layers) {
    if (layer.format == Format::Float32) {
      high.insert(layer.name);
    } else {
      ++low[layer.format];
    }
  }
  return low;
}

/// Layers in float32 stay there, except where the user chose a format.
void keep_high(const std::set<std::string>& layers, PrecisionOptions& precision) {
  for (const std::string& layer : layers) {
    const bool chosen = std::ranges::any_of(precision.layer_precisions, [&](const auto& given_precision) {
      return wildcard_match(given_precision.first, layer);
    });
    if (!chosen) precision.layer_settings.push_back({layer, precision.high, {}});
  }
}

/// What all engines refuse has no figures.
void require_usable_pairs(const OnnxModel& source, const Model& model) {
  for (const FoundDefect& defect :
       defects_of_pairs(normalized_file(model), /*perhaps_meant=*/false, Target::OnnxRuntime)) {
    if (!defect.refused) continue;
    throw Error(ErrorCode::InvalidModel,
                fmt::format("{}: '{}': {}", printable(source.name()), printable(defect.node), defect.text),
                "all such faults: ‹vernier check lint MODEL›");
  }
}

/// Pairs of a file that engines refuse: what they say of their tensors is worth nothing.
class RefusedPairs {
 public:
  /// `model`: in pair form.
  explicit RefusedPairs(const Model& model) {
    for (const FoundDefect& defect : defects_of_pairs(model, /*perhaps_meant=*/false, Target::OnnxRuntime)) {
      if (!defect.refused) continue;
      any_ = true;
      // A newer opset alone makes such a pair right.
      if (defect.kind != "newer-opset") nodes_.emplace(defect.node, defect.text);
    }
  }

  bool any() const { return any_; }
  bool has(const std::string& node) const { return nodes_.contains(node); }

  std::vector<Note> notes(const OnnxModel& file) const {
    if (nodes_.empty()) return {};
    std::vector<std::string> pairs;
    for (const auto& [node, text] : nodes_) pairs.push_back(node);
    return {{"pairs-calibrated-again", {{"file", file.name()}, {"pairs", pairs}, {"first", nodes_.begin()->second}}}};
  }

 private:
  bool any_ = false;
  std::map<std::string, std::string> nodes_;  // and why
};

/// The same range under the format of `wanted`, an activation's: the largest of its ends where the grid is symmetric.
/// Absent where that is no range of one scale.
std::optional<QuantParams> with_range_of(const QuantParams& wanted, const QuantParams& own) {
  if (wanted.dynamic || wanted.scale.size() != 1 || own.scale.size() != 1 || own.block > 0) return std::nullopt;
  const GridEnds ends = grid_ends(own);
  if (is_unsigned(wanted.format)) {
    return asymmetric_params(static_cast<float>(ends.low), static_cast<float>(ends.high), wanted.format);
  }
  if (!symmetric(wanted)) return std::nullopt;
  const auto most = static_cast<float>(std::max(std::abs(ends.low), std::abs(ends.high)));
  return symmetric_params(wanted.format, std::array{most}, -1);
}

/// A MatMulNBits stands for a product of matrices.
bool is_operator(const onnx::NodeProto& twin, const std::string& op_type) {
  return twin.op_type() == op_type || (twin.op_type() == "MatMulNBits" && (op_type == "MatMul" || op_type == "Gemm"));
}

/// `params` of the weight of `twin` as the weight of `node` has them, which may be its transpose.
QuantParams turned_as(const onnx::NodeProto& node, const onnx::NodeProto& twin, const Model& network,
                      const QuantParams& params) {
  const auto weight = initializer(network, node.input(1));
  const bool turned = attribute_int(node, "transB", 0) != attribute_int(twin, "transB", 0);
  if (!turned || !weight || weight->shape().size() != 2) return params;
  return transposed_params(params, {weight->shape()[1], weight->shape()[0]});
}

/// Which node of a quantized file stands for one of its float model.
class FileTwins {
 public:
  FileTwins(const Model& network, const Model& file) : file_(file), made_by_(makers_in(file)) {
    for (const onnx::NodeProto& node : network.proto.graph().node()) {
      tensors_.insert(node.output().begin(), node.output().end());
      if (has(node, Trait::Clips)) clipped_[node.input(0)] = node.output(0);
    }
    for (const onnx::ValueInfoProto& input : network.proto.graph().input()) tensors_.insert(input.name());
    const auto& nodes = file.proto.graph().node();
    for (int i = 0; i < nodes.size(); ++i) {
      // A name made from a place is another node's in the other file.
      if (nodes[i].name() != fmt::format("{}_{}", nodes[i].op_type(), i)) by_name_[nodes[i].name()] = &nodes[i];
    }
  }

  const onnx::NodeProto* of(const onnx::NodeProto& node) const {
    if (node.output_size() == 0) return nullptr;
    if (const onnx::NodeProto* made = maker(node.output(0), node.op_type())) return made;
    // Quantizers drop a Relu whose work the quantizer behind it does as well.
    const auto clipped = clipped_.find(node.output(0));
    if (clipped != clipped_.end()) {
      if (const onnx::NodeProto* made = maker(clipped->second, node.op_type())) return made;
    }
    const auto named = by_name_.find(node.name());
    return named != by_name_.end() && is_operator(*named->second, node.op_type()) ? named->second : nullptr;
  }

  bool network_has(const std::string& tensor) const { return tensors_.contains(tensor); }

  /// The DequantizeLinear that makes an input, through nodes that move or convert values; null when another node does.
  const onnx::NodeProto* dequantizer(const onnx::NodeProto& node, int input) const {
    auto made = input < node.input_size() ? made_by_.find(node.input(input)) : made_by_.end();
    while (made != made_by_.end() && has(*made->second, Trait::Moves | Trait::Selects | Trait::ChangesType) &&
           !has(*made->second, Trait::Quantizes)) {
      made = made_by_.find(made->second->input(0));
    }
    return made != made_by_.end() && is_quantization(*made->second, "DequantizeLinear") ? made->second : nullptr;
  }
  bool reads_activation_codes(const onnx::NodeProto& node, int input) const {
    const onnx::NodeProto* found = dequantizer(node, input);
    return found != nullptr && made_by_.contains(found->input(0)) && !stored(*made_by_.at(found->input(0)));
  }

 private:
  const onnx::NodeProto* maker(const std::string& tensor, const std::string& op_type) const {
    auto made = made_by_.find(tensor);
    // The pair of an output leaves its name to what it makes.
    while (made != made_by_.end() && has(*made->second, Trait::Quantizes)) made = made_by_.find(made->second->input(0));
    return made != made_by_.end() && is_operator(*made->second, op_type) ? made->second : nullptr;
  }

  /// A QuantizeLinear of a constant: stored weights, whatever form they have.
  bool stored(const onnx::NodeProto& quantize) const { return is_initializer(file_, quantize.input(0)); }

  const Model& file_;
  Makers made_by_;
  std::map<std::string, const onnx::NodeProto*> by_name_;
  std::set<std::string> tensors_;               // of the network
  std::map<std::string, std::string> clipped_;  // there: what a Relu or Clip reads -> what it makes
};

/// The range of a 16-bit QuantizeLinear or DequantizeLinear as uint8 has it; absent for another type, for several
/// scales, and for what no constant says.
std::optional<QuantParams> range_in_16_bits(const Model& file, const onnx::NodeProto& node) {
  const auto scale = node.input_size() > 1 ? initializer(file, node.input(1)) : std::nullopt;
  const auto zero = node.input_size() > 2 ? initializer(file, node.input(2)) : std::nullopt;
  if (!scale || !zero || scale->count() != 1 || zero->count() != 1) return std::nullopt;
  const bool is_signed = zero->dtype() == Dtype::Int16;
  if (!is_signed && zero->dtype() != Dtype::UInt16) return std::nullopt;
  std::uint16_t bits = 0;
  std::memcpy(&bits, zero->bytes().data(), sizeof bits);
  const int at = is_signed ? static_cast<std::int16_t>(bits) : static_cast<int>(bits);
  const int lowest = is_signed ? -32768 : 0;
  const float step = scales_of(*scale).front();
  return asymmetric_params(static_cast<float>(lowest - at) * step, static_cast<float>(lowest + 65535 - at) * step);
}

/// Whether the file leaves a layer in float. `high`: what it computes in is float32, by its first input.
bool left_in_float(const FileTwins& twins, const onnx::NodeProto& twin, bool high, Target target) {
  const bool data = twins.dequantizer(twin, 0) != nullptr, second = twins.dequantizer(twin, 1) != nullptr;
  if (!data && !second) return high;
  // Two operands: a kernel on codes takes both. A stored weight alone, and TensorRT's form of a residual Add, whose
  // skip branch alone has a pair, are none of float.
  if (has(twin, Trait::Weighted)) return data != second && (data || twins.reads_activation_codes(twin, 1));
  if (is_onnx(twin, "Add")) return data != second && target != Target::TensorRt;
  return high && !data;
}

/// Tensors of the network: names of the file alone are none.
std::size_t tensors_with_ranges(const TypedSource& source, const FileTwins& twins, const Model& network) {
  std::set<std::string> tensors;
  const auto add = [&](const std::map<std::string, QuantParams>& ranges) {
    for (const auto& [tensor, params] : ranges) {
      if (twins.network_has(tensor) || is_initializer(network, tensor)) tensors.insert(tensor);
    }
  };
  add(source.scales);
  add(source.ranges);
  return tensors.size();
}

}  // namespace

TypedSource take_over(const OnnxModel& quantized, const OnnxModel& source, Sources& sources,
                      PrecisionOptions& precision) {
  if (holds_quantized_values(*sources.model(source))) {
    throw Error(ErrorCode::NotFloat,
                fmt::format("{}: is quantized itself, not a float model", printable(source.name())),
                "pass the model that was quantized; are the two swapped?");
  }
  TypedSource found = raise_typed_source(source, sources, precision);  // float16 and bfloat16
  const std::shared_ptr<const Model> network = sources.model(source);
  Model read = normalized_file(as_typed_file(*sources.model(quantized)));
  dequantize_casts(read);
  append(found.notes, give_float_interface(read, *network));
  const Model given = in_pair_form(read);
  const RefusedPairs refused(given);
  found.refused = refused.any();
  const SimulatedFile file = simulate_typed(given);
  found.lost_limits = file.lost_limits;
  std::set<std::string> high;
  if (low_formats(file, high).empty() && !holds_quantized_values(given)) {
    throw Error(ErrorCode::NothingToLower, fmt::format("{}: no layer is in low precision", printable(quantized.name())),
                "‹from› reads a model with Q/DQ pairs, quantized operators, or casts");
  }
  const FileTwins twins(*network, given);
  std::map<std::string, QuantParams> behind, wide_behind;  // by what a pair makes
  const auto has_pair = [&](const std::string& tensor) {
    if (twins.network_has(tensor)) found.pairs.insert(tensor);
  };
  for (const QuantizedTensor& tensor : file.quantized) {
    if (refused.has(tensor.quantizer) || refused.has(tensor.dequantizer)) {
      has_pair(tensor.output);
      has_pair(tensor.tensor);
      continue;
    }
    behind[tensor.output] = tensor.params;
    if (tensor.quantizer.empty()) continue;
    // The pair of an output leaves its name to what it makes.
    for (const std::string& name : {tensor.output, tensor.tensor}) {
      found.scales[name] = tensor.params;
      has_pair(name);
    }
  }
  std::size_t on_codes = 0;
  for (const onnx::NodeProto& node : given.proto.graph().node()) {
    on_codes += has(node, Trait::ComputesOnCodes) ? 1 : 0;
    const auto range = has(node, Trait::Quantizes) ? range_in_16_bits(given, node) : std::nullopt;
    if (!range || refused.has(node.name())) continue;
    const bool makes_codes = is_quantization(node, "QuantizeLinear");
    const std::string& tensor = makes_codes ? node.input(0) : node.output(0);
    if (!makes_codes) wide_behind[tensor] = *range;
    if (!twins.network_has(tensor)) continue;
    found.ranges[tensor] = *range;
    has_pair(tensor);
  }
  std::size_t shared = 0, weights_alone = 0;
  std::vector<std::string> others;         // layers whose weight is not the float model's
  std::set<std::string> unfit;             // what they read
  std::vector<std::string> float_weights;  // layers that read codes, and a weight that is none
  bool weight_in_codes = false;
  for (const onnx::NodeProto& node : network->proto.graph().node()) {
    const onnx::NodeProto* twin = twins.of(node);
    if (twin == nullptr) continue;
    ++shared;
    if (left_in_float(twins, *twin, high.contains(twin->name()), precision.target)) {
      found.high.insert(node.name());
      if (has(*twin, Trait::Weighted) && twins.dequantizer(*twin, 0) != nullptr) float_weights.push_back(node.name());
    } else {
      weight_in_codes = weight_in_codes || has(node, Trait::Weighted) || has(*twin, Trait::ComputesOnCodes);
      precision.low_in_file.push_back(node.name());
      if (has(node, Trait::Weighted) && twins.dequantizer(*twin, 0) == nullptr) ++weights_alone;
    }
    if (const auto held = nbits_weight(given, *twin); held && node.input_size() > 1) {
      found.scales[node.input(1)] = turned_as(node, *twin, *network, held->params);
    }
    const bool other = node.input_size() > 1 && twin->input_size() > 1 &&
                       is_other_weight(file.model, twin->input(1), *network, node.input(1));
    if (other) others.push_back(node.name());
    for (int i = 0; i < std::min(node.input_size(), twin->input_size()); ++i) {
      if (twins.reads_activation_codes(*twin, i)) found.pairs.insert(node.input(i));
      if (other && i < 2) {
        unfit.insert(node.input(i));
        continue;
      }
      if (const auto pair = behind.find(twin->input(i)); pair != behind.end()) {
        found.scales[node.input(i)] = i == 1 ? turned_as(node, *twin, *network, pair->second) : pair->second;
      } else if (const auto wide = wide_behind.find(twin->input(i)); wide != wide_behind.end()) {
        found.ranges[node.input(i)] = wide->second;
      }
    }
  }
  for (const std::string& tensor : unfit) {
    found.scales.erase(tensor);
    found.ranges.erase(tensor);
  }
  if (shared == 0) {
    throw Error(ErrorCode::Unlike,
                fmt::format("{} and {} share no layer: no node has the same output or the same name in both",
                            printable(source.name()), printable(quantized.name())),
                "‹from› reads a model that was quantized from this one");
  }
  // Of a file without any quantized weight its ranges are all that there is: kept in float, no layer would be left.
  if (!weight_in_codes && !float_weights.empty()) {
    for (const std::string& layer : float_weights) found.high.erase(layer);
    found.notes.push_back({"float-weights-in-file", {{"file", quantized.name()}, {"layers", float_weights}}});
    precision.low_in_file.insert(precision.low_in_file.end(), float_weights.begin(), float_weights.end());
  }
  keep_high(found.high, precision);
  found.notes.push_back({"taken-from-file",
                         {{"file", quantized.name()},
                          {"tensors", tensors_with_ranges(found, twins, *network)},
                          {"layers", found.high.size()}}});
  const auto not_taken = [&](std::size_t count, bool operators) {
    if (count == 0) return;
    found.notes.push_back(
        {"not-taken-from-file", {{"file", quantized.name()}, {"layers", count}, {"quantized_operators", operators}}});
  };
  append(found.notes, refused.notes(quantized));
  if (!others.empty()) {
    found.notes.push_back({"other-weights-in-file", {{"file", quantized.name()}, {"layers", others}}});
  }
  not_taken(on_codes, true);
  not_taken(weights_alone, false);
  return found;
}

TypedSource raise_typed_source(const OnnxModel& source, Sources& sources, PrecisionOptions& precision) {
  TypedSource found;
  const std::shared_ptr<const Model> given = sources.model(source);
  found.quantized = holds_quantized_values(*given);
  if (found.quantized) require_usable_pairs(source, *given);
  const PairClamps clamps = found.quantized ? find_pair_clamps(*given, sources) : PairClamps{};
  SimulatedFile raised = without_roundings(*given, clamps.kept);
  const std::map<Format, std::size_t> low = low_formats(raised, found.high);
  if (low.empty()) {
    found.high.clear();
    return found;
  }
  found.raised = true;
  if (may_lose_limits(*given)) {
    Model file = normalized_file(*given);
    found.lost_limits = lose_limits(file);
  }
  // Without its pair a tensor may go by either name.
  for (const QuantizedTensor& tensor : raised.quantized) {
    found.scales[tensor.tensor] = tensor.params;
    found.scales[tensor.output] = tensor.params;
  }
  keep_high(found.high, precision);
  found.notes.push_back({"file-already-low", {{"formats", formats_text(low)}}});
  append(found.notes, clamps.notes);
  raised.model.path = given->path;
  raised.model.sha256 = given->sha256;
  raised.model.data_files = given->data_files;
  sources.set_model(source, std::move(raised.model));
  return found;
}

namespace {

/// Pairs that stand in only one of the file and the plan.
std::vector<Note> notes_of_places(const TypedSource& source, const Model& model, const Plan& plan) {
  if (source.pairs.empty()) return {};
  std::vector<std::string> lost, added;
  for (const std::string& tensor : source.pairs) {
    if (!plan.tensors.contains(tensor) && !is_initializer(model, tensor)) lost.push_back(tensor);
  }
  for (const auto& [tensor, params] : plan.tensors) {
    if (!source.pairs.contains(tensor) && !is_initializer(model, tensor)) added.push_back(tensor);
  }
  std::vector<Note> notes;
  if (!lost.empty()) {
    notes.push_back({"pairs-without-place", {{"pairs", lost}, {"target", word_of(plan.target)}}});
  }
  if (!added.empty()) {
    notes.push_back({"pairs-added", {{"pairs", added}, {"target", word_of(plan.target)}}});
  }
  return notes;
}

/// The energy of what is lost of a stored weight.
double loss_of(const QuantParams& params, const Tensor& weight) {
  Tensor rounded(Dtype::Float32, weight.shape());
  round_tensor(params, weight.shape(), weight.floats(), rounded.mutable_floats());
  const GridLoss loss = grid_loss(params, weight.floats(), rounded.floats());
  return loss.clip_energy + loss.round_energy;
}

/// Whether as many scales of its own lose far less of a weight than those of the file: these clip it, belong to other
/// values, or lie along another axis.
bool fits_badly(const Model& model, const std::string& tensor, const QuantParams& own, const QuantParams& of_file) {
  constexpr double kFarMore = 4;  // of the energy: a bit
  if (own.dynamic || own.scale.size() != of_file.scale.size()) return false;
  const auto weight = initializer(model, tensor);
  if (!weight || weight->dtype() != Dtype::Float32 || !scales_fit(of_file, weight->shape())) return false;
  return loss_of(of_file, *weight) > kFarMore * loss_of(own, *weight);
}

}  // namespace

std::vector<Note> keep_scales(const TypedSource& source, const Model& model, Plan& plan) {
  std::vector<Note> notes;
  if ((source.scales.empty() && source.ranges.empty()) || plan.tensors.empty()) return notes;
  std::size_t kept = 0, ranges = 0;
  std::vector<std::string> again;
  for (auto& [tensor, params] : plan.tensors) {
    const auto own = source.scales.find(tensor);
    const auto wide = source.ranges.find(tensor);
    const bool alike = own != source.scales.end() && own->second.format == params.format &&
                       (!symmetric(params) || symmetric(own->second));
    if (alike && fits_badly(model, tensor, params, own->second)) {
      again.push_back(tensor);
      continue;
    }
    if (alike) {
      params = own->second;
      ++kept;
      continue;
    }
    if (own == source.scales.end() && wide == source.ranges.end()) continue;
    if (own == source.scales.end() && is_initializer(model, tensor)) continue;  // its own values are its range
    if (const auto converted = with_range_of(params, own != source.scales.end() ? own->second : wide->second)) {
      params = *converted;
      ++ranges;
    }
  }
  if (kept == plan.tensors.size()) {
    notes.push_back({"all-scales-kept", {{"tensors", kept}}});
  } else {
    Note note{"some-scales-kept", {{"kept", kept}, {"tensors", plan.tensors.size()}}};
    if (ranges > 0) note.fields.emplace_back("ranges", ranges);
    note.fields.emplace_back("others", kept + ranges < plan.tensors.size());
    notes.push_back(note);
  }
  if (!again.empty()) notes.push_back({"weights-quantized-again", {{"weights", again}}});
  append(notes, notes_of_places(source, model, plan));
  return notes;
}

}  // namespace vernier
