#include "options/peer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>

namespace vernier::cli {
namespace {

enum class Takes { Nothing, One, Many };

struct IgnoredRow {
  std::string_view names;  // separated by spaces
  Takes takes;
  std::string_view why;
};

constexpr std::string_view kBuilder =
    "it tells a TensorRT builder how to build, and no engine is built with it here; vernier run --trt=native takes it, "
    "and so does trtexec";
constexpr std::string_view kBuilderElsewhere =
    "it tells a TensorRT builder how to build, and no engine is built with it here; tell trtexec, which builds one";
constexpr std::string_view kRuntime = "it tells an engine how to run; values are the same";
constexpr std::string_view kTyped = "every model written here is strongly typed";

constexpr std::array<IgnoredRow, 22> kIgnored{{
    {"--plugins --staticPlugins --dynamicPlugins", Takes::Many, "nothing runs on TensorRT"},
    {"--setPluginsToSerialize", Takes::Many, "engines hold no plugins here; --plugins loads them where they are"},
    {"--strongly-typed --stronglyTyped", Takes::Nothing, kTyped},
    {"--tf32", Takes::Nothing, "this command computes float32 layers in full float32"},
    {"--noTF32", Takes::Nothing,
     "float32 layers are computed in full float32 unless --tf32 or --accumulate float16 is given"},
    {"--sparse-weights --version-compatible --exclude-lean-runtime --refittable --strip-plan --direct-io "
     "--error-on-timing-cache-miss --disable-compilation-cache --allow-gpu-fallback --weight-streaming",
     Takes::Nothing, kBuilder},
    {"--load-timing-cache --builder-optimization-level --hardware-compatibility-level "
     "--max-aux-streams --runtime-platform --tiling-optimization-level --engine-capability --maxTactics --workspace",
     Takes::One, kBuilder},
    {"--tactic-sources --pool-limit --memory-pool-limit --preview-features", Takes::Many, kBuilder},
    {"--trt-safety-restricted --plugin-instancenorm --decomposable-attentions --directIO --separateProfileRun "
     "--skipInference --cpuOnly --restricted --weightless",
     Takes::Nothing, kBuilderElsewhere},
    {"--profiling-verbosity --load-runtime --dla-workspace-allocation-strategy --sparsity --profilingVerbosity "
     "--timingCacheFile --builderOptimizationLevel --calibProfile",
     Takes::One, kBuilderElsewhere},
    {"--onnx-flags --tensor-formats --all-tensor-formats", Takes::Many, kBuilderElsewhere},
    {"--optimization-profile --allocation-strategy --weight-streaming-budget --warm-up --warmUp --avgRuns --duration "
     "--percentile",
     Takes::One, kRuntime},
    {"--useCudaGraph --noCudaGraph --useSpinWait --noSpinWait --noDataTransfers --includeDataTransfers "
     "--sequential-runners --use-subprocess",
     Takes::Nothing, kRuntime},
    {"--trt-logger-severity", Takes::One, "there is no TensorRT logger here"},
    {"--load-tactics --load-tactic-replay", Takes::One,
     "tactics are TensorRT's choice of kernels, and version 11 has no such files"},
    {"--calib-base-cls --calibration-base-class --quantile --regression-cutoff", Takes::One,
     "calibrators are TensorRT's up to version 10; the scheme line says how ranges are chosen here"},
    {"--quantization-flags", Takes::Many,
     "calibrators are TensorRT's up to version 10; the scheme line says how ranges are chosen here"},
    {"--data-loader-backend-module", Takes::One, "random data are NumPy's"},
    {"--shape-inference --no-shape-inference --no-onnxruntime-shape-inference --force-fallback-shape-inference",
     Takes::Nothing, "shapes are inferred where they are needed"},
    {"--verbosity --log-format", Takes::Many, "messages have one form here; -v and -q say how many"},
    {"--model-type", Takes::One, "files are known by their content"},
    {"--external-data-dir --load-external-data --ext", Takes::One,
     "external data are read from where the model says, inside its own folder"},
}};

struct RefusedRow {
  std::string_view names;
  Refusal refusal;
  /// Of which commands the reason is true: those with one of these options, or of these names ("inspect/model"). Empty:
  /// of every command that knows the peers' options.
  std::string_view of = {};
};

// An option that only commands with a requirement have, one of all that measure, and one of all that choose a
// precision.
constexpr std::string_view kWithRequirement = "--max-mse";
constexpr std::string_view kMeasures = "--min-sqnr";
constexpr std::string_view kWithPrecision = "--int8";

constexpr std::string_view kThreshold = "one of --min-sqnr --max-abs-error --max-mse --min-cosine --min-top1-agreement";
constexpr std::string_view kTask =
    "vernier diagnose, verify and debug precision take metric scripts and labels; here one of --min-sqnr "
    "--max-abs-error --max-mse "
    "--min-cosine --min-top1-agreement";
constexpr Refusal kPeerMetric{"comparisons are stated as a requirement here", kThreshold};
constexpr Refusal kComparesRuns{"an option of commands that compare two runs",
                                "vernier run MODEL --onnxrt --load-outputs FILE"};
constexpr Refusal kProfile{"optimization profiles have no meaning without TensorRT",
                           "--input-shapes x:[1,3,224,224] for the shape of random data"};
constexpr Refusal kCalibrationCache{"nothing is calibrated here: a typed file holds its scales",
                                    "vernier convert, diagnose and calibrate take calibration caches"};
constexpr Refusal kStreamed{"inputs and outputs are compared as they stream here, and not saved",
                            "vernier run saves them; --json or -o DIR for every figure"};
constexpr Refusal kNoPrecision{
    "no precision is chosen here",
    "vernier convert and diagnose take --int8, --fp16, --bf16, --fp8 and --layer-precisions"};
constexpr Refusal kNotBuiltSo{"no engine is built with it here", "trtexec, with the file that vernier convert writes"};
constexpr Refusal kNetworkScript{"a typed model says itself which layer runs in which format",
                                 "vernier run MODEL --trt, vernier convert or vernier diagnose takes these scripts"};
constexpr Refusal kConfigScript{"scripts that configure a TensorRT builder are not run",
                                "--int8, --fp16, --bf16 or --fp8, and --layer-precisions NAME:FORMAT"};
constexpr Refusal kProbe{"every layer is measured anyway, without being marked as an output",
                         "--outputs NAME chooses the outputs that are judged; vernier run marks tensors"};
constexpr Refusal kNotMarked{"no tensor is marked as an output here",
                             "vernier run MODEL --onnx-outputs NAME --save-outputs FILE"};
constexpr Refusal kTensorTypes{"tensors have the type of the layer that makes them",
                               "--layer-precisions NAME:FORMAT for that layer"};
constexpr Refusal kOtherTool{"belongs to another program", "the program that it comes from"};
constexpr Refusal kSearchScript{"this command measures by itself and runs no outside check",
                                "vernier debug precision --check CMD...; here a requirement, --min-sqnr 20"};
constexpr Refusal kRunsChecks{"an option of commands that run a check again and again",
                              "vernier debug repeat --check CMD..., vernier debug reduce --check CMD..."};
constexpr Refusal kRunners{"this command measures one thing: the simulated target against float32",
                           "--target tensorrt or --target onnxruntime; vernier run has runners"};
constexpr Refusal kGraphEdit{"graphs are edited before, by vernier surgeon",
                             "vernier surgeon sanitize MODEL -o FILE.onnx, then this command with the result"};
constexpr Refusal kTrtexecData{"raw files have no shape and no type", "--data with .npy or .npz"};

// Names of rows that several kinds of commands refuse, each for a reason of its own.
constexpr std::string_view kPrecisionNames =
    "--best --fp-to-fp16 --precisionConstraints --layerPrecisions --layerOutputTypes --layerDeviceTypes "
    "--low-precision-type --quantize-mode --layer-precision";
constexpr std::string_view kSavedNames =
    "--save-inputs --save-input-data --save-input-blob --save-outputs --save-results --save-accuracy-results "
    "--exportOutput --dumpOutput";
constexpr std::string_view kMetricNames =
    "--atol --abs-tol --rtol --rel-tol --check-error-stat --error-quantile --infinities-compare-equal --compare "
    "--compare-func --compare-outputs --compare-func-script --check-average --index-tolerance --l2-threshold "
    "--l2-tolerance --cosine-similarity-threshold --psnr-threshold --psnr-tolerance --snr-threshold --snr-tolerance "
    "--lpips-threshold --lpips-tolerance --no-shape-check --accuracyAlgorithm --accuracyThreshold --threshold";
constexpr std::string_view kPostprocessNames = "--postprocess --postprocess-func --postprocess-func-script";
constexpr std::string_view kDebugTensorNames =
    "--mark-debug --mark-unfused-tensors-as-debug-tensors --markDebug --markUnfusedTensorsAsDebugTensors "
    "--saveDebugTensors --saveAllDebugTensors";
constexpr std::string_view kMarkNames =
    "--onnx-outputs --onnx-exclude-outputs --onnx-outputs-by-type --trt-outputs --trt-exclude-outputs "
    "--trt-outputs-by-type --mark-debug --mark-unfused-tensors-as-debug-tensors --markDebug "
    "--markUnfusedTensorsAsDebugTensors --saveDebugTensors --saveAllDebugTensors";
constexpr std::string_view kCheckNames =
    "--check --check-inference --fail-code --fail-returncode --ignore-fail-code --ignore-fail-returncode --fail-regex "
    "--show-output --hide-fail-output --artifacts --art-dir --artifacts-dir --iter-artifact --intermediate-artifact "
    "--no-remove-intermediate --iter-info --iteration-info --load-debug-replay --save-debug-replay --until";

/// The first row of a name whose reason is true of the command counts.
constexpr std::array kRefusedOptions{
    RefusedRow{"--best", {"low formats are named one by one", "--int8 --fp16, for example"}, kWithPrecision},
    RefusedRow{"--fp-to-fp16", {"has another name here", "--fp16"}, kWithPrecision},
    RefusedRow{"--precisionConstraints", {"has another name here", "--precision-constraints MODE"}, kWithPrecision},
    RefusedRow{"--layerPrecisions --layerOutputTypes --layerDeviceTypes",
               {"has another form here", "--layer-precisions NAME:FORMAT ..."},
               kWithPrecision},
    RefusedRow{"--low-precision-type --quantize-mode",
               {"has another name here", "--int8, --fp8, --fp16 or --bf16"},
               kWithPrecision},
    RefusedRow{"--layer-precision", {"has another name here", "--layer-precisions NAME:FORMAT"}, kWithPrecision},
    RefusedRow{kPrecisionNames, kNoPrecision},
    RefusedRow{"--tensor-dtypes --tensor-datatypes --all-tensor-dtypes --inputIOFormats --outputIOFormats",
               kTensorTypes},
    RefusedRow{"--labels --label-offset --min-top1 --min-top5 --metric-script",
               {"this command measures figures of its own only", kTask},
               kMeasures},
    RefusedRow{"--min --max", {"belongs to --metric-script, which this command has not", kTask}, kMeasures},
    RefusedRow{"--calibration-cache --calib --calibration-method", kCalibrationCache},
    RefusedRow{"--loadInputs --loadRefOutputs --refPair --dumpRawBindingsToFile", kTrtexecData},
    RefusedRow{"--minShapes --optShapes --maxShapes",
               {"has another name here", "--trt-min-shapes, --trt-opt-shapes and --trt-max-shapes"},
               "run"},
    RefusedRow{"--trt-min-shapes --trt-opt-shapes --trt-max-shapes --minShapes --optShapes --maxShapes "
               "--minShapesCalib --optShapesCalib --maxShapesCalib --shapes",
               kProfile},
    RefusedRow{"--onnx --onnx-path --loadEngine",
               {"the model is an argument here, without a name", "vernier COMMAND MODEL"}},
    RefusedRow{"--saveEngine --save-engine", {"the engine goes where -o says", "-o FILE.engine"}, "convert"},
    RefusedRow{"--saveEngine --save-engine --save-onnx --output-path",
               {"no engine is built here; the model goes where -o says", "-o"},
               "--save-external-data"},
    RefusedRow{"--saveEngine --save-engine", {"no engine is kept here", "vernier run MODEL --trt --save-engine FILE"}},
    RefusedRow{"--save-tactics --save-tactic-replay --save-timing-cache",
               {"no engine is built here, so nothing would be written", "vernier run MODEL --trt builds one"}},
    RefusedRow{"--save-onnx --output-path", {"models are not written here", "vernier convert MODEL -o FILE.onnx"}},
    RefusedRow{"--output --save-external-data --external-data-path --external-data-size-threshold "
               "--no-save-all-tensors-to-one-file",
               {"this command writes no model", "--json prints every figure on stdout"}},
    RefusedRow{"--convert-to", {"this command does not convert", "vernier convert MODEL --convert-to onnx"}},
    RefusedRow{"--outputs", {"has another name here", "--onnx-outputs NAME"}, "run"},
    RefusedRow{"--outputs",
               {"this command looks at every tensor", "--onnx-outputs of vernier run chooses tensors"},
               "debug/accuracy debug/loss calibrate"},
    RefusedRow{
        kDebugTensorNames,
        {"debug tensors are outputs here", "--onnx-outputs NAME, or --trt-outputs NAME, with --save-outputs FILE"},
        "run"},
    RefusedRow{kMarkNames, kProbe, kWithRequirement},
    RefusedRow{kMarkNames, kNotMarked},
    RefusedRow{"--golden --load-outputs --load-results",
               {"the reference is the float model itself",
                "vernier verify FLOAT TYPED; vernier run compares with saved outputs"},
               kWithRequirement},
    RefusedRow{kSavedNames, kStreamed, kWithRequirement},
    RefusedRow{kSavedNames,
               {"inputs and outputs are not saved here", "vernier run MODEL --onnxrt --save-outputs FILE"}},
    RefusedRow{kMetricNames, kPeerMetric, kWithRequirement},
    RefusedRow{"--validate",
               {"values that are not finite are counted in every run", "the columns of the table, and the report"},
               kWithRequirement},
    RefusedRow{
        "--fail-fast", {"every output is judged, so that the worst one is named", "leave it out"}, kWithRequirement},
    RefusedRow{kPostprocessNames,
               {"outputs are compared as they are", "--min-top1-agreement P compares classes"},
               kWithRequirement},
    RefusedRow{kMetricNames, kComparesRuns},
    RefusedRow{kPostprocessNames, kComparesRuns},
    RefusedRow{"--validate --fail-fast --save-heatmaps --show-heatmaps --save-error-metrics-plot "
               "--show-error-metrics-plot",
               kComparesRuns},
    RefusedRow{"--exportTimes --exportProfile --exportLayerInfo --dumpProfile --dumpLayerInfo",
               {"layers are not timed here", "vernier bench MODEL --trt times them where TensorRT is"}},
    RefusedRow{"--trt-network-postprocess-script --trt-npps --trt-network-func-script", kNetworkScript},
    RefusedRow{"--trt-config-script --trt-config-postprocess-script --trt-cpps", kConfigScript},
    RefusedRow{"--tf --tftrt --minimum-segment-size --dynamic-op --ckpt --tf-outputs --save-pb --save-tensorboard "
               "--freeze-graph --gpu-memory-fraction --allow-growth --xla --save-timeline --opset",
               {"TensorFlow is not run here", "export the model to ONNX"}},
    RefusedRow{
        "--pluginref",
        {"there are no reference implementations of plugins here", "vernier run MODEL --onnxrt --custom-ops LIB.so"}},
    RefusedRow{"--trt --onnxrt --sim --exec --openvino --providers --execution-providers --graph-optimization-level",
               kRunners, kWithRequirement},
    RefusedRow{"--plugin-dir --use-dla --enable-uint8-asymmetric-quantization-dla --refitFromOnnx", kNotBuiltSo},
    RefusedRow{kCheckNames, kSearchScript, "diagnose fix"},
    RefusedRow{kCheckNames, kRunsChecks},
    RefusedRow{"--mode --direction --dir",
               {"the search of this command is always the minimal one", "vernier debug precision --mode bisect"},
               "diagnose fix"},
    RefusedRow{
        "--mode",
        {"--show says what is printed", "--show layers for what basic printed, --show layers attrs weights for full"},
        "inspect/model"},
    RefusedRow{"--mode --direction --dir",
               {"no layers are searched for here", "vernier debug precision MODEL --mode bisect"}},
    RefusedRow{"--ignore-external-data", {"weights are needed here", "vernier inspect model MODEL"}},
    RefusedRow{"--gen --gen-script",
               {"no Python script is generated: the command line is the script",
                "--print-command prints it with all defaults"}},
    RefusedRow{"--setBuildRoute --helpBuildRoute --tuneBuildRoutes --tuneBuildRouteFile --tuningSearch "
               "--tuningCacheFile --tuningTimeOut --tuningResultFile --saveAllEngines --dryRun --continue",
               kOtherTool},
    RefusedRow{"--fold-constants --num-passes --num-const-fold-passes --partitioning --no-fold-shapes "
               "--no-per-pass-shape-inference --fold-size-threshold --cleanup --toposort --exclude-outputs "
               "--outputs-by-type --override-input-shapes --override-inputs --model-input-shapes --model-inputs "
               "--set-unbounded-dds-upper-bound",
               kGraphEdit},
};

/// True when `name` is one of the words of `names`.
bool among(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

/// Whether the reason of `row` is true of this command.
bool is_true_of(const RefusedRow& row, std::string command, const TakesOption& takes) {
  // Which every command that knows the peers' options takes, and none for a use of its own.
  if (row.of.empty()) return takes("--trt-logger-severity");
  std::replace(command.begin(), command.end(), ' ', '/');
  std::istringstream words{std::string(row.of)};
  for (std::string word; words >> word;) {
    if (word.starts_with('-') ? takes(word) : word == command) return true;
  }
  return false;
}

void add_ignored(CLI::App& app, const std::string& name, const IgnoredRow& row, const IgnoredOptions& ignored) {
  if (find_option(app, name)) return;
  const std::string text = fmt::format("{} has no effect here: {}", name, row.why);
  const auto note = [ignored, text] { ignored->push_back(text); };
  if (row.takes == Takes::Nothing) {
    add_flag(app, name, note).group("");  // hidden
    return;
  }
  // None is fine too: peers take some of these bare, and what follows may be an option that counts.
  add_values(app, name, [note](const std::vector<std::string>&) { note(); })
      .values(0, row.takes == Takes::Many ? kMostValues : 1)
      .group("");
}

}  // namespace

IgnoredOptions add_ignored_options(CLI::App& app) {
  auto ignored = std::make_shared<std::vector<std::string>>();
  // There are hundreds, and only the command that is typed needs them.
  before_parsing(app, [&app, ignored] {
    for (const IgnoredRow& row : kIgnored) {
      std::string_view names = row.names;
      while (!names.empty()) {
        const std::size_t end = std::min(names.find(' '), names.size());
        add_ignored(app, std::string(names.substr(0, end)), row, ignored);
        names.remove_prefix(std::min(end + 1, names.size()));
      }
    }
  });
  return ignored;
}

std::optional<Refusal> refusal_of(std::string_view name, const std::string& command, const TakesOption& takes) {
  for (const RefusedRow& row : kRefusedOptions) {
    if (among(row.names, name) && is_true_of(row, command, takes)) return row.refusal;
  }
  return std::nullopt;
}

}  // namespace vernier::cli
