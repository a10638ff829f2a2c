// OpenVINO's published list of ONNX operators: the names it has a translation for, by domain, and the oldest version.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "plan/operators/operators.h"

namespace vernier {
namespace {

struct DomainRow {
  std::string_view domain;
  std::string_view names;  // separated by spaces
};

constexpr std::array<DomainRow, 7> kTakenByDomain = {{
    {"",
     "ATen Abs Acos Acosh Add Affine AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool "
     "BatchNormalization BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu "
     "CenterCropPad Clip Col2Im Compress Concat Constant ConstantFill ConstantOfShape Conv ConvInteger ConvTranspose "
     "Cos Cosh Crop CumSum DFT DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf "
     "Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
     "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid "
     "HardSwish "
     "Hardmax Identity If ImageScaler InstanceNormalization IsFinite IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu "
     "Less LessOrEqual Log LogSoftmax Loop LpNormalization MatMul MatMulInteger Max MaxPool MaxRoiPool Mean "
     "MeanVarianceNormalization Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero "
     "Not "
     "OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal "
     "RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
     "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign "
     "RotaryEmbedding Round STFT Scan Scatter ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign "
     "SimplifiedLayerNormalization Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth "
     "Split SplitToSequence Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze "
     "Upsample Where Xor"},
    {"com.microsoft",
     "Attention BiasAdd BiasGelu BifurcationDetector DequantizeLinear DynamicQuantizeMatMul EmbedLayerNormalization "
     "FastGelu FusedConv FusedGemm FusedMatMul GatherND Gelu GroupNorm GroupQueryAttention MatMulIntegerToFloat "
     "MatMulNBits Pad QLinearAdd QLinearAveragePool QLinearConcat QLinearLeakyRelu QLinearMul QLinearReduceMean "
     "QLinearSigmoid QLinearSoftmax QLinearWhere QuantizeLinear QuickGelu Range RotaryEmbedding "
     "SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization Trilu"},
    {"org.openvinotoolkit",
     "DeformableConv2D DetectionOutput ExperimentalDetectronDetectionOutput "
     "ExperimentalDetectronGenerateProposalsSingleImage ExperimentalDetectronGroupNorm "
     "ExperimentalDetectronPriorGridGenerator ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs "
     "FakeQuantize GenerateProposals GroupNorm Normalize PriorBox PriorBoxClustered Swish"},
    {"org.pytorch.aten", "adaptive_avg_pool2d"},
    {"mmdeploy", "MMCVRoIAlignRotated NMSRotated"},
    {"ai.onnx.ml", "Normalizer"},
    {"pattern",  // of the default domain
     "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength"},
}};

bool among(std::string_view names, std::string_view name) {
  for (std::size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1)) {
    const bool begins = at == 0 || names[at - 1] == ' ';
    const std::size_t end = at + name.size();
    if (begins && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

OperatorVerdict openvino_verdict(const NodeSurroundings& /*around*/, const onnx::NodeProto& node) {
  const std::string_view domain = node.domain() == "ai.onnx" ? std::string_view() : std::string_view(node.domain());
  const auto listed = [&](std::string_view wanted) {
    return std::any_of(kTakenByDomain.begin(), kTakenByDomain.end(),
                       [&](const DomainRow& row) { return row.domain == wanted && among(row.names, node.op_type()); });
  };
  if (domain.empty() && listed("pattern")) return {true, "", "taken in certain patterns only"};
  if (domain != "pattern" && listed(domain)) return {true, "", ""};
  return {false,
          domain.empty() ? "the list has no translation of it"
                         : fmt::format("the list has no translation of it in domain {}", printable(node.domain())),
          ""};
}

}  // namespace vernier
