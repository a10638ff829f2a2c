// Sources: the operator Attention of ONNX, opsets 23 to 25; ContribOperators.md of ONNX Runtime.
#include "jobs/diagnose/attention_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "model/model.h"
#include "model/onnx_runtime_operators.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

/// Where an operator has what its scores come from, besides queries and keys; -1: it has no such input.
struct Form {
  const char *heads, *key_heads, *causal;
  bool causal_by_default = false;
  int bias = -1;     // of queries, keys and values
  int padding = -1;  // 0 where a key does not count, or how many count
  int mask = -1;     // added to scores
  int past = -1;     // keys of earlier tokens
  int lengths = -1;  // of each batch: how many keys count, `more` than it says
  int total = -1;    // keys of all tokens, the largest of the batches
  int cosines = -1, sines = -1;
  int more = 0;

  std::vector<int> given(const onnx::NodeProto& node) const {
    std::vector<int> found{0, 1};
    for (const int i : {bias, padding, mask, past, lengths, total, cosines, sines}) {
      if (i >= 0 && i < node.input_size() && !node.input(i).empty()) found.push_back(i);
    }
    return found;
  }
};

std::optional<Form> form_of(const onnx::NodeProto& node) {
  if (is_onnx(node, "Attention"))
    return Form{
        .heads = "q_num_heads", .key_heads = "kv_num_heads", .causal = "is_causal", .mask = 3, .past = 4, .lengths = 6};
  if (is_onnx_runtime(node, "MultiHeadAttention"))
    return Form{.heads = "num_heads",
                .key_heads = "num_heads",
                .causal = "unidirectional",
                .bias = 3,
                .padding = 4,
                .mask = 5,
                .past = 6};
  if (is_onnx_runtime(node, "GroupQueryAttention"))
    return Form{.heads = "num_heads",
                .key_heads = "kv_num_heads",
                .causal = "causal",
                .causal_by_default = true,
                .mask = 10,
                .past = 3,
                .lengths = 5,
                .total = 6,
                .cosines = 7,
                .sines = 8,
                .more = 1};
  return std::nullopt;
}

std::size_t at(std::int64_t size) { return static_cast<std::size_t>(size); }

/// Queries or keys: [batch, heads, tokens, width], or [batch, tokens, heads * width].
struct Heads {
  std::span<const float> values;
  std::size_t batch = 0, heads = 0, tokens = 0, width = 0;
  bool apart = false;

  Heads(const Tensor& tensor, std::int64_t head_count) : values(tensor.floats()) {
    const Shape& shape = tensor.shape();
    apart = shape.size() == 4;
    if (!apart && (shape.size() != 3 || head_count < 1 || shape[2] % head_count != 0)) return;
    batch = at(shape[0]);
    heads = apart ? at(shape[1]) : at(head_count);
    tokens = at(shape[apart ? 2 : 1]);
    width = apart ? at(shape[3]) : at(shape[2]) / heads;
  }
  std::vector<float> of(std::size_t b, std::size_t head, std::size_t token) const {
    const std::size_t row = apart ? (b * heads + head) * tokens + token : (b * tokens + token) * heads + head;
    const std::span<const float> found = values.subspan(row * width, width);
    return {found.begin(), found.end()};
  }
};

class Attending {
 public:
  Attending(const onnx::NodeProto& node, const Form& form, std::span<const Tensor> read, bool keeps)
      : form_(form),
        keeps_(keeps),
        queries_(read[0], attribute_int(node, form.heads, 0)),
        keys_(read[1], attribute_int(node, form.key_heads, attribute_int(node, form.heads, 0))),
        causal_(attribute_int(node, form.causal, form.causal_by_default ? 1 : 0) != 0),
        window_(attribute_int(node, "local_window_size", -1)),
        interleaved_(attribute_int(node, "rotary_interleaved", 0) != 0),
        rotates_(attribute_int(node, "do_rotary", 0) != 0),
        filter_(attribute_float(node, "mask_filter_value", -10000)),
        scale_(attribute_float(node, "scale", 0)) {
    const std::vector<int> given = form.given(node);
    for (std::size_t i = 2; i < given.size(); ++i) inputs_.emplace(given[i], &read[i]);
    if (const Tensor* past = input(form.past)) past_.emplace(*past, 0);
    if (scale_ == 0) scale_ = static_cast<float>(1 / std::sqrt(static_cast<double>(queries_.width)));
  }

  ScoreRows rows() const {
    ScoreRows found;
    if (!fits()) return found;
    const std::size_t rows = queries_.batch * queries_.heads * queries_.tokens;
    for (std::size_t r = 0; r < rows; r += step_between(rows)) {
      const std::size_t token = r % queries_.tokens, head = r / queries_.tokens % queries_.heads;
      found.push_back(row(r / queries_.tokens / queries_.heads, head, token));
    }
    return found;
  }

 private:
  const Tensor* input(int index) const {
    const auto found = inputs_.find(index);
    return found == inputs_.end() ? nullptr : found->second;
  }

  bool fits() const {
    if (keys_.heads == 0 || queries_.heads % keys_.heads != 0 || queries_.width != keys_.width) return false;
    if (keys_.batch != queries_.batch) return false;
    if (past_ && (past_->heads != keys_.heads || past_->width != keys_.width || past_->batch != keys_.batch))
      return false;
    if (const Tensor* bias = input(form_.bias); bias != nullptr) {
      if (keys_.apart || at(bias->count()) < 2 * queries_.heads * queries_.width) return false;
    }
    if (const Tensor* lengths = input(form_.lengths); lengths != nullptr && at(lengths->count()) != keys_.batch)
      return false;
    if (form_.total >= 0 && (input(form_.total) == nullptr || input(form_.lengths) == nullptr)) return false;
    if (rotates_ && (input(form_.cosines) == nullptr || input(form_.sines) == nullptr)) return false;
    const Tensor* padding = input(form_.padding);
    if (padding == nullptr) return true;
    const std::size_t rank = padding->shape().size();
    return at(padding->shape()[0]) == keys_.batch && (rank == 1 || at(padding->shape().back()) == places(0));
  }

  /// Keys that count: those of GroupQueryAttention fill a part of what is past.
  std::size_t valid(std::size_t b) const {
    const Tensor* lengths = input(form_.lengths);
    if (lengths == nullptr) return past(b) + keys_.tokens;
    return at(std::lround(lengths->floats()[b]) + form_.more);
  }
  std::size_t past(std::size_t b) const {
    if (form_.total < 0) return past_ ? past_->tokens : 0;
    const bool first = at(std::lround(input(form_.total)->floats()[0])) == queries_.tokens;
    const std::size_t all = valid(b);
    return first || all < queries_.tokens || !past_ ? 0 : std::min(all - queries_.tokens, past_->tokens);
  }
  std::size_t places(std::size_t b) const { return past(b) + keys_.tokens; }

  std::vector<float> row(std::size_t b, std::size_t head, std::size_t token) const {
    const std::size_t all = places(b), count = std::min(valid(b), all);
    // Of a cache that is all keys, as ONNX has it, queries are the last of those that count.
    const bool in_keys = form_.total < 0 && input(form_.lengths) != nullptr;
    const std::int64_t place = static_cast<std::int64_t>(token) +
                               (in_keys ? static_cast<std::int64_t>(count) - static_cast<std::int64_t>(queries_.tokens)
                                        : static_cast<std::int64_t>(past(b)));
    if (form_.total >= 0 && place >= static_cast<std::int64_t>(count)) return {};  // padding
    std::vector<float> found(all, -INFINITY);
    bool any = false;
    const std::vector<float> query = turned(biased(queries_, b, head, token, 0), place);
    for (std::size_t k = 0; k < count; ++k) {
      const auto key_place = static_cast<std::int64_t>(k);
      if (causal_ && (key_place > place || (window_ > 0 && key_place + window_ <= place))) continue;
      const std::array<std::size_t, 4> places_of_mask{b, head, token, k};
      const Tensor* mask = input(form_.mask);
      const float added = mask == nullptr ? 0 : mask_at(*mask, places_of_mask);
      if (keeps_ ? mask != nullptr && !(added > 0) : added == -INFINITY) continue;
      any = true;
      const std::vector<float> key = key_of(b, head * keys_.heads / queries_.heads, k);
      float sum = 0;
      for (std::size_t i = 0; i < query.size(); ++i) sum += query[i] * key[i];
      found[k] = sum * scale_ + (keeps_ ? 0 : added) + padded(b, token, k);
    }
    return any ? found : std::vector<float>();
  }

  std::vector<float> key_of(std::size_t b, std::size_t head, std::size_t k) const {
    const std::size_t before = past(b);
    if (k < before) return past_->of(b, head, k);
    return turned(biased(keys_, b, head, k - before, queries_.heads * queries_.width), static_cast<std::int64_t>(k));
  }

  std::vector<float> biased(const Heads& heads, std::size_t b, std::size_t head, std::size_t token,
                            std::size_t first) const {
    std::vector<float> values = heads.of(b, head, token);
    if (const Tensor* bias = input(form_.bias)) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += bias->floats()[first + head * heads.width + i];
    }
    return values;
  }

  /// By the angles of that place: pairs of neighbours, or of the two halves.
  std::vector<float> turned(std::vector<float> values, std::int64_t place) const {
    if (!rotates_ || place < 0) return values;
    const Tensor &cosines = *input(form_.cosines), &sines = *input(form_.sines);
    const std::size_t pairs = at(cosines.shape().back()), first = at(place) * pairs;
    if (2 * pairs > values.size() || first + pairs > at(cosines.count())) return values;
    for (std::size_t i = 0; i < pairs; ++i) {
      float& one = values[interleaved_ ? 2 * i : i];
      float& two = values[interleaved_ ? 2 * i + 1 : i + pairs];
      const float c = cosines.floats()[first + i], s = sines.floats()[first + i], before = one;
      one = before * c - two * s;
      two = two * c + before * s;
    }
    return values;
  }

  /// Broadcast to [batch, heads, tokens, keys]; places behind its last key have none.
  static float mask_at(const Tensor& mask, const std::array<std::size_t, 4>& place) {
    std::size_t index = 0;
    const std::size_t missing = 4 - std::min<std::size_t>(mask.shape().size(), 4);
    for (std::size_t d = missing; d < 4; ++d) {
      const std::size_t size = at(mask.shape()[d - missing]);
      if (size != 1 && place[d] >= size) return -INFINITY;
      index = index * size + (size == 1 ? 0 : place[d]);
    }
    return mask.floats()[index];
  }

  float padded(std::size_t b, std::size_t token, std::size_t k) const {
    const Tensor* padding = input(form_.padding);
    if (padding == nullptr) return 0;
    const std::size_t rank = padding->shape().size(), all = places(b);
    const float value = padding->floats()[rank == 1   ? b
                                          : rank == 2 ? b * all + k
                                                      : (b * queries_.tokens + token) * all + k];
    const bool counts = rank == 1 ? static_cast<float>(k) < value : value != 0;
    return counts ? 0 : filter_;
  }

  const Form& form_;
  const bool keeps_;
  const Heads queries_, keys_;
  std::optional<Heads> past_;
  const bool causal_;
  const std::int64_t window_;
  const bool interleaved_, rotates_;
  const float filter_;
  float scale_;
  std::map<int, const Tensor*> inputs_;
};

}  // namespace

bool attends(const onnx::NodeProto& node) {
  constexpr std::array kKnown{"q_num_heads",
                              "kv_num_heads",
                              "num_heads",
                              "scale",
                              "is_causal",
                              "causal",
                              "unidirectional",
                              "local_window_size",
                              "do_rotary",
                              "softcap",
                              "rotary_interleaved",
                              "mask_filter_value",
                              "qk_output",
                              "smooth_softmax",
                              "qk_matmul_output_mode",
                              "softmax_precision"};
  const std::optional<Form> form = form_of(node);
  if (!form) return false;
  const std::vector<int> given = form->given(node);
  const auto is_known = [&](int i) {
    const bool values = i == 2 || (i == form->past + 1 && form->past >= 0);
    return node.input(i).empty() || values || std::ranges::find(given, i) != given.end();
  };
  for (int i = 0; i < node.input_size(); ++i) {
    if (!is_known(i)) return false;
  }
  const bool both_caches = is_onnx(node, "Attention") && std::ranges::find(given, 4) != given.end() &&
                           std::ranges::find(given, 6) != given.end();
  return node.input_size() > 1 && !node.input(1).empty() && !both_caches && attribute_float(node, "softcap", 0) == 0 &&
         attribute_int(node, "smooth_softmax", -1) <= 0 &&
         std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
           return std::ranges::find(kKnown, attribute.name()) != kKnown.end();
         });
}

std::vector<int> attention_inputs(const onnx::NodeProto& node) { return form_of(node)->given(node); }

int mask_input(const onnx::NodeProto& node) {
  const std::vector<int> given = attention_inputs(node);
  const int mask = form_of(node)->mask;
  return std::ranges::find(given, mask) == given.end() ? -1 : mask;
}

ScoreRows attention_rows(const onnx::NodeProto& node, std::span<const Tensor> read, bool keeps) {
  const Form form = *form_of(node);
  return Attending(node, form, read, keeps).rows();
}

}  // namespace vernier
