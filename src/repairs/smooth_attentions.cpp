// SmoothQuant between queries and keys: a channel of a head that is large in the one and small in the other says the
// same in both. Each product of the two keeps its value, as q / s times k s.
//   before: (x Wq) (x Wk)^T     after: (x Wq / s) (x Wk s)^T     also where positions turn pairs of channels: then both
// of a pair get one factor. Factors are powers of two, so that the float model keeps its bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "repairs/channel_scaling.h"
#include "repairs/factor_degrees.h"
#include "repairs/projections.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kMost = 64;  // a factor, and one over it: dead channels would get any

/// One side of the product, followed back to what makes it.
struct Side {
  Projection projection;
  std::size_t heads = 0, width = 0, turned = 0;
  bool neighbours = false;
  int place = 0;  // of the heads in the product, from the end
};

class Sides {
 public:
  explicit Sides(const Model& model)
      : model_(model), walk_(model), readers_(count_readers(model)), types_(infer_types(model)) {}

  /// `from_end`: where the channels of a head are.
  std::optional<Side> of(std::string tensor, int from_end) const {
    Side side;
    std::string seen;  // whose readers are known to be one rotation
    std::vector<std::vector<std::int64_t>> orders;
    for (;;) {
      const onnx::NodeProto* maker = walk_.maker(tensor);
      if (maker == nullptr || maker->input_size() == 0) return std::nullopt;
      if (tensor != seen && readers_.at(tensor) != 1) return std::nullopt;
      if (from_end == 0 && splits_heads(*maker, side)) {
        side.place = place_of_heads(orders);
        // Only along a dimension that the product does not sum or mix is each head multiplied alone.
        return side.place < 2 ? std::nullopt : made(maker->input(0), side);
      }
      const std::string turned = from_end == 0 ? turned_by(*maker, side) : std::string();
      if (!turned.empty()) {
        tensor = seen = turned;
      } else if (is_onnx(*maker, "Transpose")) {
        const std::vector<std::int64_t> order = attribute_ints(*maker, "perm");
        const int rank = static_cast<int>(order.size());
        if (from_end >= rank) return std::nullopt;
        from_end = rank - 1 - static_cast<int>(order[static_cast<std::size_t>(rank - 1 - from_end)]);
        orders.push_back(order);
        tensor = maker->input(0);
      } else if (has_constant_factor(model_, *maker)) {
        const int constant = is_initializer(model_, maker->input(1)) ? 1 : 0;
        if (initializer(model_, maker->input(constant))->count() != 1) return std::nullopt;
        tensor = maker->input(1 - constant);
      } else {
        return std::nullopt;
      }
    }
  }

 private:
  std::optional<Shape> shape_of(const std::string& tensor) const {
    const auto type = types_.find(tensor);
    if (type == types_.end() || !type->second.rank_known) return std::nullopt;
    return type->second.shape;
  }

  /// `orders`: of the Transposes behind the split, the last one first.
  static int place_of_heads(const std::vector<std::vector<std::int64_t>>& orders) {
    int from_end = 1;
    for (auto order = orders.rbegin(); order != orders.rend(); ++order) {
      const auto rank = static_cast<std::int64_t>(order->size());
      const auto axis = std::ranges::find(*order, rank - 1 - from_end) - order->begin();
      from_end = static_cast<int>(rank - 1 - axis);
    }
    return from_end;
  }

  std::optional<Side> made(const std::string& tensor, Side side) const {
    const auto projection = projection_of(model_, walk_, readers_, tensor, side.heads * side.width);
    if (!projection || (side.turned != 0 && side.turned > side.width)) return std::nullopt;
    side.projection = *projection;
    return side;
  }

  /// A Reshape of [.., heads * width] to [.., heads, width].
  bool splits_heads(const onnx::NodeProto& node, Side& side) const {
    if (!is_onnx(node, "Reshape")) return false;
    const std::optional<Shape> before = shape_of(node.input(0)), after = shape_of(node.output(0));
    if (!before || !after || before->empty() || after->size() < 2) return false;
    const std::int64_t width = after->back(), heads = (*after)[after->size() - 2];
    if (width < 1 || heads < 1 || before->back() != heads * width) return false;
    side.heads = static_cast<std::size_t>(heads);
    side.width = static_cast<std::size_t>(width);
    return true;
  }

  /// What a rotation of positions turns, as one operator or in pieces: x cos + (-x2, x1) sin. Empty: it is none.
  std::string turned_by(const onnx::NodeProto& node, Side& side) const {
    if (side.turned != 0) return {};
    if (node.op_type() == "RotaryEmbedding") {  // ONNX Runtime has one of its own
      const std::optional<Shape> shape = shape_of(node.input(0));
      if (!shape || shape->size() != 4 || shape->back() < 2 || readers_.at(node.input(0)) != 1) return {};
      side.turned = static_cast<std::size_t>(attribute_int(node, "rotary_embedding_dim", 0));
      if (side.turned == 0) side.turned = static_cast<std::size_t>(shape->back());
      side.neighbours = attribute_int(node, "interleaved", 0) != 0;
      return node.input(0);
    }
    const std::optional<Shape> shape = shape_of(node.output(0));
    if (!is_onnx(node, "Add") || !shape || shape->empty() || shape->back() < 2) return {};
    for (const int plain : {0, 1}) {
      const onnx::NodeProto *one = walk_.maker(node.input(plain)), *other = walk_.maker(node.input(1 - plain));
      if (one == nullptr || other == nullptr || !is_onnx(*one, "Mul") || !is_onnx(*other, "Mul")) return {};
      if (readers_.at(node.input(0)) != 1 || readers_.at(node.input(1)) != 1) return {};
      for (const std::string& x : one->input()) {
        const bool turns = std::ranges::any_of(
            other->input(), [&](const std::string& half) { return is_half_turn_of(half, x, shape->back()); });
        if (!turns || !turned_once(x)) continue;
        side.turned = static_cast<std::size_t>(shape->back());
        return x;
      }
    }
    return {};
  }

  /// Concat(-x2, x1) of the halves of x along its last axis, by Slice or Split.
  bool is_half_turn_of(const std::string& tensor, const std::string& x, std::int64_t width) const {
    const onnx::NodeProto* join = walk_.maker(tensor);
    if (join == nullptr || !is_onnx(*join, "Concat") || join->input_size() != 2 || readers_.at(tensor) != 1)
      return false;
    const onnx::NodeProto* negative = walk_.maker(join->input(0));
    if (negative == nullptr || !is_onnx(*negative, "Neg")) return false;
    return half_of(negative->input(0), width) == std::pair(x, 1) && half_of(join->input(1), width) == std::pair(x, 0);
  }

  /// The tensor and which half of its last dimension; empty: another part.
  std::pair<std::string, int> half_of(const std::string& tensor, std::int64_t width) const {
    const onnx::NodeProto* part = walk_.maker(tensor);
    if (part == nullptr || readers_.at(tensor) != 1) return {};
    const std::optional<Shape> whole = shape_of(part->input(0)), shape = shape_of(tensor);
    if (!whole || !shape || whole->empty() || whole->back() != width || shape->size() != whole->size()) return {};
    if (2 * shape->back() != width) return {};
    if (is_onnx(*part, "Split")) return {part->input(0), part->output(0) == tensor ? 0 : 1};
    if (!is_onnx(*part, "Slice") || part->input_size() < 3) return {};
    const std::optional<Tensor> starts = initializer(model_, part->input(1));
    if (!starts || starts->dtype() != Dtype::Int64 || starts->count() != 1) return {};
    if (part->input_size() > 4 && !part->input(4).empty()) {
      const std::optional<Tensor> steps = initializer(model_, part->input(4));
      if (!steps || steps->dtype() != Dtype::Int64 || steps->int64s()[0] != 1) return {};
    }
    const std::int64_t start = starts->int64s()[0];
    if (start != 0 && start != width / 2 && start != -width / 2) return {};
    return {part->input(0), start == 0 ? 0 : 1};
  }

  /// Whether nothing reads `x` but a rotation: its Mul, and one or two nodes that take its halves.
  bool turned_once(const std::string& x) const {
    int halves = 0;
    for (const onnx::NodeProto* reader : walk_.readers(x)) halves += is_onnx(*reader, {"Slice", "Split"}) ? 1 : 0;
    return halves > 0 && readers_.at(x) == halves + 1;
  }

  const Model& model_;
  const GraphWalk walk_;
  const std::map<std::string, int> readers_;
  const std::map<std::string, ValueType> types_;
};

/// The channel of the same factor that positions turn it with; itself: none.
std::size_t partner(const QueriesAndKeys& both, std::size_t channel) {
  const std::size_t place = channel % both.width, first = channel - place;
  if (place >= both.turned) return channel;
  if (both.neighbours) return first + (place ^ 1U);
  const std::size_t half = both.turned / 2;
  return first + (place < half ? place + half : place - half);
}

/// s[c] = max|Q_c|^alpha / max|K_c|^(1 - alpha), in what it is for both as a whole.
std::vector<float> factors_of(const QueriesAndKeys& both, const std::vector<float>& queries,
                              const std::vector<float>& keys, double alpha) {
  const auto wanted = [&](double q, double k) { return std::pow(q, alpha) / std::pow(k, 1 - alpha); };
  const double usual = wanted(std::ranges::max(queries), std::ranges::max(keys));
  std::vector<float> factors(both.channels, 1);
  for (std::size_t c = 0; c < factors.size(); ++c) {
    const std::size_t other = partner(both, c);
    const double q = std::max(queries[c], queries[other]), k = std::max(keys[c], keys[other]);
    if (q <= 0 || k <= 0 || !std::isfinite(q) || !std::isfinite(k) || !std::isfinite(usual)) continue;
    factors[c] = power_of_two(std::clamp(wanted(q, k) / usual, 1 / kMost, kMost));
  }
  return factors;
}

/// Of the channels that it makes, at most; empty: not measured.
std::vector<float> magnitudes_of(const Network& network, const Projection& projection) {
  const auto seen = network.channel_absmax.find(projection.tensor);
  if (seen == network.channel_absmax.end()) return {};
  std::vector<float> found = seen->second;
  if (projection.bias.empty() || projection.bias_node == projection.layer) return found;
  const Tensor bias = *initializer(network.model, projection.bias);
  if (bias.floats().size() != found.size()) return {};
  for (std::size_t c = 0; c < found.size(); ++c) found[c] += std::abs(bias.floats()[c]);
  return found;
}

}  // namespace

std::vector<QueriesAndKeys> queries_and_keys(const Model& model, const Plan& plan) {
  std::vector<QueriesAndKeys> found;
  const Sides sides(model);
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (!is_onnx(node, "MatMul") || !needs_scale(plan.format_of(node.name()))) continue;
    const std::optional<Side> queries = sides.of(node.input(0), 0);
    const std::optional<Side> keys = queries ? sides.of(node.input(1), 1) : std::nullopt;
    if (!keys || queries->heads != keys->heads || queries->width != keys->width || queries->place != keys->place)
      continue;
    if (queries->turned != keys->turned || queries->neighbours != keys->neighbours) continue;
    found.push_back({node.name(), queries->projection, keys->projection, queries->width, queries->turned,
                     queries->neighbours, queries->heads * queries->width});
  }
  return found;
}

std::vector<Proposal> smooth_attentions(const Network& network, double alpha) {
  std::vector<Proposal> proposals;
  for (const QueriesAndKeys& both : queries_and_keys(network.model, network.plan)) {
    const std::vector<float> queries = magnitudes_of(network, both.queries), keys = magnitudes_of(network, both.keys);
    if (queries.size() != both.channels || keys.size() != both.channels) continue;
    const std::vector<float> factors = factors_of(both, queries, keys, alpha);
    const auto [low, high] = std::ranges::minmax(factors);
    if (low == high) continue;
    Proposal& proposal = proposals.emplace_back();
    proposal.layers = {both.product, both.queries.layer, both.keys.layer};
    proposal.what = fmt::format("keys: {} channels times {:g} to {:g}{}, and queries divided by it", factors.size(),
                                low, high, both.turned > 0 ? ", one factor for each pair that positions turn" : "");
    proposal.rewrite = [both, factors](Model& model) {
      scale_projection(model, both.queries, [&](std::size_t c) { return 1 / factors[c]; });
      scale_projection(model, both.keys, [&](std::size_t c) { return factors[c]; });
    };
  }
  return proposals;
}

}  // namespace vernier
