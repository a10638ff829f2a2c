// The steps of prepare(), one function and one file each. A step edits the model in place and says what it did; the
// table in prepare.cpp says in which order and when they run.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "model/prepare.h"
#include "vernier/note.h"

namespace vernier::passes {

/// What fold_constants leaves alone.
struct FoldLimits {
  int rounds = 0;              // at most so many; 0: until nothing is left
  std::int64_t max_bytes = 0;  // values above stay nodes; 0: 64 MB, or 1 MB where they grow 8 times; below: all
  bool shapes = true;          // Shape nodes are folded, too
  bool outputs = false;        // outputs of the model become initializers, too; else their nodes stay
  bool apart = false;          // where the evaluator refuses all constant nodes together, each one is tried alone
};

struct Context {
  const PrepareOptions& options;
  const Evaluator& evaluate;
  int target_opset = 0;  // what raise_opset raises to; the model's own when nothing asks for more
  FoldLimits fold = {};
};

struct Outcome {
  std::vector<Note> notes;          // empty: nothing was done
  bool changed_arithmetic = false;  // the graph may now compute other bits, or holds for some inputs only
};

/// f(x) -> the nodes of f. Model-local functions only; the inliner of ONNX does it. It would drop the defaults of a
/// function's attributes, which every call gets before, and converts between opsets only where it knows all types:
/// nodes of functions of another opset than the model's are raised afterwards, to the highest of these opsets.
Outcome inline_functions(Model& model, const Context& context);

/// ImageScaler, Affine, Crop, ParametricSoftplus, ScaledTanh -> Mul, Add, Slice, Softplus, Tanh, valid at the model's
/// own opset. These were experimental and are in no opset since: nothing but ONNX Runtime at old opsets knows them.
///
///   ImageScaler  y[n,c,h,w] = scale * x[n,c,h,w] + bias[c]      Affine  y = alpha * x + beta
///   Crop         border [left, top, right, bottom] of NCHW, or from (top, left) on `scale` = [height, width]
///   ParametricSoftplus  y = alpha * log(exp(beta * x) + 1)      ScaledTanh  y = alpha * tanh(beta * x)
///
/// The last new node keeps the name and the output. Errors: Input when an attribute does not make sense.
Outcome replace_removed_operators(Model& model, const Context& context);

/// ConvTranspose with auto_pad VALID and an output_shape -> one with pads of 0 and output_padding, where sizes are
/// known. TensorRT-RTX 1.6 and 1.7 read such a node as if it had no output_shape (compiled, and run: 717 x 717 for 720
/// x 720), and say nothing. ONNX Runtime gives the same bits for both.
Outcome pad_transposed(Model& model, const Context& context);

/// For OpenVINO: RoiAlign with the default of its sampling_ratio written out; the padding of an AveragePool with
/// ceil_mode and count_include_pad as a Pad in front; MaxPool without ceil_mode where ONNX drops the last window.
Outcome spell_out_for_openvino(Model& model, const Context& context);

/// OptionalGetElement(Optional(x)) -> Identity(x), and OptionalHasElement(Optional(x)) -> true: an optional has no type
/// that layers could be found behind. Optionals that may be empty, and those that leave a body, stay.
Outcome unwrap_optionals(Model& model, const Context& context);

/// Constant -> initializer, and readers of Identity(initializer) -> readers of the initializer, in all graphs.
/// Constants that are themselves a graph's output stay nodes, except with FoldLimits::outputs.
Outcome constants_to_initializers(Model& model, const Context& context);

/// Outputs whose nodes stay, of bodies too.
std::set<std::string> outputs_left_alone(const Model& model, const FoldLimits& limits);

/// Nodes that read initializers only -> initializers with the value that the evaluator finds for them, all in one run;
/// Shape of a tensor of known shape likewise. Repeats until nothing is left. QuantizeLinear and DequantizeLinear are
/// left alone: they are what a typed model says. Values over 64 MB, or over 1 MB and 8 times what they are made of,
/// stay nodes. An evaluator that fails is noted, and the nodes stay.
Outcome fold_constants(Model& model, const Context& context);

/// What does nothing -> nothing, bit for bit: Identity, Dropout and Cast that change no value, Transpose, Reshape,
/// Expand and Tile to what is there already, Concat and Sum of one, Pad by zero, Transpose of Transpose, Slice of Slice
/// along another axis, and nodes that nothing needs. Main graph and bodies; names of graph outputs stay.
Outcome remove_idle_nodes(Model& model, const Context& context);

/// Nodes that compute the same from the same -> one of them, bit for bit; equal initializers likewise.
Outcome merge_equal_nodes(Model& model, const Context& context);

/// Nodes that no output needs -> nothing.
Outcome remove_dead_nodes(Model& model, const Context& context);

/// The same, but nodes that one of the tensors `wanted` needs stay, too.
Outcome keep_nodes_for(Model& model, std::set<std::string> wanted);

/// Add(Conv(x), c) -> Conv(x) with c as its bias, where c has one value a channel; MatMul(x, w) + c -> Gemm for x of
/// rank 2. The sums are the same, in another order.
Outcome fuse_bias(Model& model, const Context& context);

/// If(constant) -> the nodes of the branch taken. With `inline_ifs`, also an If of the main graph whose condition is
/// the same for all samples; the prepared model is then right for such inputs only.
Outcome inline_ifs(Model& model, const Context& context);

/// SimplifiedLayerNormalization, which ONNX Runtime's optimizer writes into ONNX's own domain, in operators that ONNX
/// has:
///
///   y = x / sqrt(mean(x^2) + epsilon) * scale, the mean over the last dimension
///
/// Only where data and scale are float32, the scale is an initializer, `axis` is -1 and there is no second output. The
/// last new node keeps the name and the output.
Outcome spell_out_simplified_norms(Model& model, const Context& context);

/// Refuses a node that ONNX has no operator for at the model's opset, so that it is said with its name and before any
/// engine is asked. Operators of other domains than ONNX's own are the engine's to know.
/// Errors: Input with node, operator and opset.
Outcome refuse_unknown_operators(Model& model, const Context& context);

/// A Sum of one input, which changes nothing, for the values that each KV cache of the main graph holds: past and new
/// ones, as the next step and this step's products read them. It bears the name of the graph output that it makes.
///
///   Concat(past, new) -> present                     Sum(Concat(past, new)) -> present
///   TensorScatter(past, new, ...) -> present         the same
///   Attention(q, k, v, mask, past k, past v)         Attention(q, present k, present v, mask), where `past` are graph
///     -> y, present k, present v                     inputs; a causal one gets both parts of `present`
///
/// `past` is a graph input and the first of a Concat, `present` a graph output. The Concat of an Attention is a new
/// node. One whose keys have three dimensions, and MultiHeadAttention of com.microsoft, get both parts too, with their
/// heads split off and joined again around the Concat. What has packed keys, a MultiHeadAttention with a bias, and a
/// GroupQueryAttention, whose other inputs say how much of a cache counts, stay.
Outcome enter_caches(Model& model, const Context& context);

/// BatchNormalization(Conv(x)) -> Conv(x), likewise ConvTranspose and Gemm:
///
///   f = scale / sqrt(var + epsilon);  w' = w * f (per output channel);  b' = (b - mean) * f + bias
///
/// in double, rounded once. Only when nothing else reads the layer's output, all parameters are float32 initializers,
/// and rounding the weight makes at most 1 dB more noise, 6 dB in any channel (fold_noise.h): where channels share a
/// scale, as those of the groups of a ConvTranspose, unequal f leave the small ones no codes. The layer keeps its name
/// and makes the BatchNormalization's output. A weight that others read too is copied.
Outcome fold_batch_norm(Model& model, const Context& context);

/// alpha * x W -> x (alpha W), for Gemm and MatMul with a result of rank 2 and a constant float32 weight:
///
///   Gemm(alpha)                    alpha becomes 1
///   Mul, Div by a constant behind  one value, or one for each output channel; a constant Add may lie between
///
/// Rounded once to float32, with at most 120 dB of noise; powers of two are exact. Only when nothing else reads the
/// result. The layer keeps its name and makes the output of the Mul. OpenVINO 2026.4 returns garbage for some quantized
/// products with such a factor (docs/records/truth-openvino.md).
Outcome fold_factors(Model& model, const Context& context);

/// x W -> Gemm(Transpose(x), W, transA=1), exact, for a Gemm or MatMul with a constant float32 weight whose data come,
/// by constants and operators by element alone, from another such product of a fixed size: at most 256 rows and columns
/// of its weight, 1 to 8 rows of data. Not where the first one has a bias that differs by channel, and at most one
/// operator lies between that is no factor. OpenVINO 2026.4 computes both in one kernel, which returns garbage for most
/// other forms; no operand of it may be transposed (docs/records/truth-openvino.md).
Outcome part_products(Model& model, const Context& context);

/// p v -> Squeeze(Unsqueeze(p) v), exact, for a MatMul of data with a result of four dimensions, as many heads as rows,
/// behind another MatMul of data: attention. OpenVINO 2026.4 computes it in one kernel, which confuses the two
/// dimensions in INT8 and BF16 if something is transposed in front or behind (docs/records/truth-openvino.md).
Outcome part_attention(Model& model, const Context& context);

/// Each node that means something else at the target opset is converted alone, by ONNX's version converter, in a model
/// of one node: names of all other nodes and tensors survive by construction, large weights never pass through it, and
/// a failure has a name. Nodes the converter adds are called `<node>/<Op>`. Errors: Input with node, operator and
/// opsets.
Outcome raise_opset(Model& model, const Context& context);

/// The same for nodes that were written for different opsets, `opset_of` them. Returns how many nodes were converted.
int raise_nodes(Model& model, const std::function<int(const onnx::NodeProto&)>& opset_of, int to);

}  // namespace vernier::passes
