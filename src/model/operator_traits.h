// What operators do with values, whatever their attributes: one table, a row an operator, and the questions that
// layers, plans, ranges and repairs ask of it. Ask here before you compare op_type() with a list of names.
//
// Not here: what one input is for (input_role.h), what an engine runs (plan/target.h, plan/rules, plan/operators), and
// rewrites that look for one certain operator.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace vernier {

enum class Trait : std::uint32_t {
  /// Every element of every output is an element of the first input: in another place, once more, or not at all.
  Moves = 1U << 0U,
  /// The same, with zeros or another constant beside them: the result may leave the range of the input.
  Fills = 1U << 1U,
  /// Every element of the first output is an element of the first input, picked by comparing.
  Selects = 1U << 2U,
  /// The elements of all inputs, one behind the other.
  Joins = 1U << 3U,
  /// Computes, and what it gives is exact in the float type of what it reads: rounding it again changes nothing.
  /// (No Clip: before opset 11 its bounds are attributes in float32.)
  StaysOnGrid = 1U << 4U,
  /// Cuts its input to a range. A quantizer behind it that saturates at the same ends does its work.
  Clips = 1U << 5U,

  /// Each element of the result is made of the elements at the same place, after broadcasting.
  Elementwise = 1U << 6U,
  /// Each channel (dimension 1) of the result is made of the same channel of the first input.
  ByChannel = 1U << 7U,
  /// f(s x) = s f(x) for s > 0, where all inputs get the factor.
  Homogeneous = 1U << 8U,
  /// The same where the first input alone gets it; of a Mul either input.
  HomogeneousInFirst = 1U << 9U,
  /// All values of the result lie in [0, 1].
  UnitRange = 1U << 10U,

  /// A product with a weight at input 1: Conv, ConvTranspose, Gemm, MatMul, the operators of the default INT8 scheme.
  Weighted = 1U << 11U,
  /// Of those the convolutions: channels are dimension 1 of data and result, however many dimensions there are.
  Convolves = 1U << 12U,
  /// Has a state that goes from step to step inside of it.
  Recurrent = 1U << 13U,
  /// Codes in, and codes or sums of codes out.
  ComputesOnCodes = 1U << 14U,
  /// Float in and out, with codes of a weight inside.
  StoresCodes = 1U << 15U,

  /// Only the shape of what it reads decides what it gives, random numbers included.
  ReadsShape = 1U << 16U,
  /// Gives other values every time.
  Random = 1U << 17U,
  /// Gives the places of the largest or smallest elements: output 0, or 1 of an operator that Selects.
  GivesPlaces = 1U << 18U,
  /// The values of its first input in another type, which an attribute, a scale or another tensor says.
  ChangesType = 1U << 19U,
  /// Turns values into codes or codes into values, one way or both.
  Quantizes = 1U << 20U,
  /// On the float data path, and yet no layer: its output's type is no choice, or it makes a tensor out of sizes.
  NeverLayer = 1U << 21U,
};

/// A set of traits. Empty for operators that the table does not have: nothing is assumed of them.
class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(Trait trait) : bits_(static_cast<std::uint32_t>(trait)) {}  // NOLINT: a set of one
  constexpr bool any(Traits wanted) const { return (bits_ & wanted.bits_) != 0; }
  constexpr Traits operator|(Traits other) const {
    Traits both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }
  constexpr bool operator==(const Traits&) const = default;

 private:
  std::uint32_t bits_ = 0;
};
constexpr Traits operator|(Trait a, Trait b) { return Traits(a) | Traits(b); }

/// Moves or selects values without arithmetic: a layer of this kind takes the format of its inputs.
inline constexpr Traits kFollows = Trait::Moves | Trait::Fills | Trait::Selects | Trait::Joins;

/// Traits of an operator of a domain, "ai.onnx" the same as "". Cost: one look-up by hash.
Traits traits_of(std::string_view op_type, std::string_view domain = {});
Traits traits_of(const onnx::NodeProto& node);

/// True when the node's operator has any of these traits.
inline bool has(const onnx::NodeProto& node, Traits any) { return traits_of(node).any(any); }

/// True for operators that neither ONNX nor ONNX Runtime defines: of other domains, whose library is the user's.
bool is_custom(const onnx::NodeProto& node);

/// True for operators that ONNX does not define, at any opset: its inference knows nothing of what they give.
bool unknown_to_onnx(const onnx::NodeProto& node);

/// True for operators of ONNX itself. Messages of nodes spell its domain "" or "ai.onnx".
bool of_onnx(const onnx::NodeProto& node);
bool is_onnx_domain(std::string_view domain);
/// True for that operator of ONNX itself.
bool is_onnx(const onnx::NodeProto& node, std::string_view op_type);
/// True for one of those.
bool is_onnx(const onnx::NodeProto& node, std::initializer_list<std::string_view> op_types);

struct OperatorRow {
  std::string_view op_type;
  Traits traits;
  std::string_view domain = {};  // empty: ONNX's own
  bool removed = false;          // ONNX has it no more; ONNX Runtime runs it still
};

/// The whole table, for those who look at all of it.
std::span<const OperatorRow> operator_table();

}  // namespace vernier
