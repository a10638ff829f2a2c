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
    "it is for TensorRT's builder, which this command does not use; vernier run --trt=native and trtexec accept it";
constexpr std::string_view kBuilderElsewhere =
    "it is for TensorRT's builder, which this command does not use; pass it to trtexec";
constexpr std::string_view kRuntime = "it sets how an engine runs and does not change values";
constexpr std::string_view kTyped = "every model that vernier writes is strongly typed";

constexpr std::array<IgnoredRow, 22> kIgnored{{
    {"--plugins --staticPlugins --dynamicPlugins", Takes::Many, "nothing runs on TensorRT"},
    {"--setPluginsToSerialize", Takes::Many, "vernier does not store plugins in engines; --plugins loads them"},
    {"--strongly-typed --stronglyTyped", Takes::Nothing, kTyped},
    {"--tf32", Takes::Nothing, "this command computes FP32 layers in full FP32"},
    {"--noTF32", Takes::Nothing, "FP32 layers compute in full FP32, unless --tf32 or --accumulate float16 is given"},
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
    {"--trt-logger-severity", Takes::One, "this command does not use TensorRT's logger"},
    {"--load-tactics --load-tactic-replay", Takes::One,
     "tactics are TensorRT's choice of kernels; TensorRT 11 has no such files"},
    {"--calib-base-cls --calibration-base-class --quantile --regression-cutoff", Takes::One,
     "calibrators belong to TensorRT up to version 10; vernier prints its own method in the scheme line"},
    {"--quantization-flags", Takes::Many,
     "calibrators belong to TensorRT up to version 10; vernier prints its own method in the scheme line"},
    {"--data-loader-backend-module", Takes::One, "random data come from NumPy"},
    {"--shape-inference --no-shape-inference --no-onnxruntime-shape-inference --force-fallback-shape-inference",
     Takes::Nothing, "shapes are inferred if needed"},
    {"--verbosity --log-format", Takes::Many, "vernier has one form of messages; -v and -q set how many"},
    {"--model-type", Takes::One, "files are recognized by their content"},
    {"--external-data-dir --load-external-data --ext", Takes::One,
     "external data are read from the path in the model, inside its folder"},
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
    "use --min-sqnr, --max-abs-error, --max-mse, --min-cosine or --min-top1-agreement; vernier diagnose, verify and "
    "debug precision also accept metric scripts and labels";
constexpr Refusal kPeerMetric{"this command compares with a requirement", kThreshold};
constexpr Refusal kComparesRuns{"an option of commands that compare two runs",
                                "vernier run MODEL --onnxrt --load-outputs FILE"};
constexpr Refusal kProfile{"optimization profiles have no meaning without TensorRT",
                           "--input-shapes x:[1,3,224,224] for the shape of random data"};
constexpr Refusal kCalibrationCache{"this command does not calibrate: a typed file holds its scales",
                                    "vernier convert, diagnose and calibrate accept calibration caches"};
constexpr Refusal kStreamed{"this command compares inputs and outputs as they stream, and does not save them",
                            "vernier run saves them; --json or -o DIR for every figure"};
constexpr Refusal kNoPrecision{
    "this command does not choose precisions",
    "vernier convert and diagnose accept --int8, --fp16, --bf16, --fp8 and --layer-precisions"};
constexpr Refusal kNotBuiltSo{"this command does not build engines with it",
                              "trtexec, with the file that vernier convert writes"};
constexpr Refusal kNetworkScript{"a typed model already holds the format of each layer",
                                 "vernier run MODEL --trt, vernier convert and vernier diagnose accept these scripts"};
constexpr Refusal kConfigScript{"scripts that configure a TensorRT builder are not run",
                                "--int8, --fp16, --bf16 or --fp8, and --layer-precisions NAME:FORMAT"};
constexpr Refusal kProbe{"every layer is measured anyway, without becoming an output",
                         "--outputs NAME chooses the measured outputs; vernier run adds tensors as outputs"};
constexpr Refusal kNotMarked{"this command does not add outputs",
                             "vernier run MODEL --onnx-outputs NAME --save-outputs FILE"};
constexpr Refusal kTensorTypes{"tensors have the type of the layer that computes them",
                               "--layer-precisions NAME:FORMAT for that layer"};
constexpr Refusal kOtherTool{"belongs to another program", "the program that it comes from"};
constexpr Refusal kSearchScript{
    "this command measures by itself and runs no outside check",
    "pass a requirement, such as --min-sqnr 20, or use vernier debug precision --check CMD..."};
constexpr Refusal kRunsChecks{"an option of commands that repeat a check",
                              "vernier debug repeat --check CMD..., vernier debug reduce --check CMD..."};
constexpr Refusal kRunners{"this command compares only the simulated target with FP32",
                           "--target tensorrt or --target onnxruntime; vernier run has runners"};
constexpr Refusal kGraphEdit{"edit the graph first, with vernier surgeon",
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

// What peers load, build and feed where Vernier only writes a script, or only looks at the graph.
constexpr std::string_view kScripts = "template/trt-network template/trt-config template/onnx-gs";
constexpr std::string_view kPlugins = "plugin/match plugin/list plugin/replace";

/// The first row of a name whose reason is true of the command counts.
constexpr std::array kRefusedOptions{
    RefusedRow{"--data-loader-script --data-loader-backend-module --input-shapes --inputs --iterations --iters "
               "--load-inputs --load-input-data --save-inputs --seed --val-range --do-shape-inference",
               {"patterns are matched on the graph, and nothing is run", "leave it out"},
               kPlugins},
    RefusedRow{"--do-shape-inference --shape-inference --no-shape-inference --no-onnxruntime-shape-inference "
               "--input-shapes --inputs",
               {"the script reads the model as it is", "vernier surgeon sanitize MODEL -o FILE.onnx, before it"},
               "template/onnx-gs"},
    RefusedRow{"--calibration-cache --calib-base-cls --calibration-base-class --data-loader-script "
               "--data-loader-backend-module --input-shapes --inputs --iterations --iters --load-inputs "
               "--load-input-data --save-inputs --seed --val-range --quantile --quantization-flags "
               "--regression-cutoff",
               {"the script does not calibrate: TensorRT 11 has no calibrators",
                "vernier convert MODEL --int8 --data DATA writes a file with scales"},
               "template/trt-network template/trt-config"},
    RefusedRow{"--calibration-cache --calib-base-cls --calibration-base-class --data-loader-script "
               "--data-loader-backend-module --iterations --iters --load-inputs --load-input-data --save-inputs "
               "--seed --val-range --quantile --quantization-flags --regression-cutoff",
               {"the script edits a graph, and runs nothing", "leave it out"},
               "template/onnx-gs"},
    RefusedRow{"--load-tactics --load-tactic-replay --save-tactics --save-tactic-replay",
               {"tactics are TensorRT's choice of kernels; TensorRT 11 has no such files",
                "--load-timing-cache FILE keeps its choice"},
               kScripts},
    RefusedRow{"--trt-config-script --trt-config-postprocess-script --trt-cpps --trt-network-postprocess-script "
               "--trt-npps --trt-network-func-script",
               {"the script that is written is the place for your own code", "call your function at its end"},
               kScripts},
    RefusedRow{"--external-data-dir --load-external-data --ext --ignore-external-data --model-type --onnx-flags",
               {"the script reads the model", "change the line of the script that reads it"},
               kScripts},
    RefusedRow{"--onnx-outputs --onnx-exclude-outputs --onnx-outputs-by-type --fp-to-fp16",
               {"the script reads the model as it is",
                "vernier surgeon extract or vernier convert --fp16 writes another one, before it"},
               kScripts},
    RefusedRow{"--trt-outputs-by-type --decomposable-attentions --enable-uint8-asymmetric-quantization-dla",
               {"the script has no line for it", "set it where the script has its network and its parser"},
               "template/trt-network"},
    RefusedRow{"--tensor-datatypes --all-tensor-datatypes --all-tensor-dtypes --all-tensor-formats",
               {"tensors are named one by one", "--tensor-dtypes NAME:TYPE, --tensor-formats NAME:[FORMAT]"},
               "template/trt-network"},
    RefusedRow{"--precision-constraints",
               {"a strongly typed network has the types of its file", "vernier convert MODEL --layer-precisions"},
               "template/trt-network template/trt-config"},
    RefusedRow{"--memory-pool-limit", {"it has another name in vernier", "--pool-limit"}, "template/trt-config"},
    RefusedRow{"--strongly-typed",
               {"it is set where the network is made", "vernier template trt-network"},
               "template/trt-config"},
    RefusedRow{"--weight-streaming-budget --optimization-profile --allocation-strategy",
               {"it belongs to a run of the engine, not to its builder", "vernier run MODEL --trt"},
               kScripts},
    RefusedRow{"--ckpt --tf-outputs --freeze-graph --opset",
               {"vernier does not run TensorFlow", "export the model to ONNX"},
               kScripts},
    RefusedRow{"--verbosity --log-format",
               {"vernier has one form of messages", "-v and -q set how many there are"},
               "template/trt-network template/trt-config template/onnx-gs plugin/match plugin/list plugin/replace"},
    RefusedRow{
        "--best", {"this command needs the name of each low format", "--int8 --fp16, for example"}, kWithPrecision},
    RefusedRow{"--fp-to-fp16", {"it has another name in vernier", "--fp16"}, kWithPrecision},
    RefusedRow{
        "--precisionConstraints", {"it has another name in vernier", "--precision-constraints MODE"}, kWithPrecision},
    RefusedRow{"--layerPrecisions --layerOutputTypes --layerDeviceTypes",
               {"it has another form in vernier", "--layer-precisions NAME:FORMAT ..."},
               kWithPrecision},
    RefusedRow{"--low-precision-type --quantize-mode",
               {"it has another name in vernier", "--int8, --fp8, --fp16 or --bf16"},
               kWithPrecision},
    RefusedRow{
        "--layer-precision", {"it has another name in vernier", "--layer-precisions NAME:FORMAT"}, kWithPrecision},
    RefusedRow{kPrecisionNames, kNoPrecision},
    RefusedRow{"--tensor-dtypes --tensor-datatypes --all-tensor-dtypes --inputIOFormats --outputIOFormats",
               kTensorTypes},
    RefusedRow{"--labels --label-offset --min-top1 --min-top5 --metric-script",
               {"this command measures only its own figures", kTask},
               kMeasures},
    RefusedRow{"--min --max", {"it belongs to --metric-script, which this command does not have", kTask}, kMeasures},
    RefusedRow{"--calibration-cache --calib --calibration-method", kCalibrationCache},
    RefusedRow{"--loadInputs --loadRefOutputs --refPair --dumpRawBindingsToFile", kTrtexecData},
    RefusedRow{"--minShapes --optShapes --maxShapes",
               {"it has another name in vernier", "--trt-min-shapes, --trt-opt-shapes and --trt-max-shapes"},
               "run"},
    RefusedRow{"--trt-min-shapes --trt-opt-shapes --trt-max-shapes --minShapes --optShapes --maxShapes "
               "--minShapesCalib --optShapesCalib --maxShapesCalib --shapes",
               kProfile},
    RefusedRow{"--onnx --onnx-path --loadEngine", {"the model is an argument without a name", "vernier COMMAND MODEL"}},
    RefusedRow{"--saveEngine --save-engine", {"the engine goes where -o says", "-o FILE.engine"}, "convert"},
    RefusedRow{"--output-path", {"the model that runs goes where --save-onnx says", "--save-onnx FILE.onnx"}, "run"},
    RefusedRow{"--saveEngine --save-engine --save-onnx --output-path",
               {"this command builds no engine; -o names the output model", "-o"},
               "--save-external-data"},
    RefusedRow{"--saveEngine --save-engine",
               {"this command does not keep engines", "vernier run MODEL --trt --save-engine FILE"}},
    RefusedRow{"--save-tactics --save-tactic-replay --save-timing-cache",
               {"this command builds no engine, so nothing would be written", "vernier run MODEL --trt builds one"}},
    RefusedRow{"--save-onnx --output-path",
               {"this command does not write models", "vernier convert MODEL -o FILE.onnx"}},
    RefusedRow{"--output", {"--save-onnx names the file of the model", "--save-onnx FILE.onnx"}, "run"},
    RefusedRow{"--output --save-external-data --external-data-path --external-data-size-threshold "
               "--no-save-all-tensors-to-one-file",
               {"this command writes no model", "--json prints every figure on stdout"}},
    RefusedRow{"--convert-to", {"this command does not convert", "vernier convert MODEL --convert-to onnx"}},
    RefusedRow{"--outputs", {"it has another name in vernier", "--onnx-outputs NAME"}, "run"},
    RefusedRow{"--outputs",
               {"this command reads every tensor", "--onnx-outputs of vernier run chooses tensors"},
               "debug/accuracy debug/loss calibrate"},
    RefusedRow{kDebugTensorNames,
               {"debug tensors are outputs in vernier",
                "--onnx-outputs NAME, or --trt-outputs NAME, with --save-outputs FILE"},
               "run"},
    RefusedRow{kMarkNames, kProbe, kWithRequirement},
    RefusedRow{kMarkNames, kNotMarked},
    RefusedRow{"--golden --load-outputs --load-results",
               {"the reference is the float model itself",
                "vernier verify FLOAT TYPED; vernier run compares with saved outputs"},
               kWithRequirement},
    RefusedRow{kSavedNames, kStreamed, kWithRequirement},
    RefusedRow{kSavedNames,
               {"this command does not save inputs or outputs", "vernier run MODEL --onnxrt --save-outputs FILE"}},
    RefusedRow{kMetricNames, kPeerMetric, kWithRequirement},
    RefusedRow{"--validate",
               {"values that are not finite are counted in every run", "see the columns of the table, and the report"},
               kWithRequirement},
    RefusedRow{
        "--fail-fast", {"every output is compared, so that the worst one is named", "leave it out"}, kWithRequirement},
    RefusedRow{kPostprocessNames,
               {"outputs are compared as they are", "--min-top1-agreement P compares classes"},
               kWithRequirement},
    RefusedRow{kMetricNames, kComparesRuns},
    RefusedRow{kPostprocessNames, kComparesRuns},
    RefusedRow{"--validate --fail-fast --save-heatmaps --show-heatmaps --save-error-metrics-plot "
               "--show-error-metrics-plot",
               kComparesRuns},
    RefusedRow{"--exportTimes --exportProfile --exportLayerInfo --dumpProfile --dumpLayerInfo",
               {"this command does not time layers", "vernier bench MODEL --trt times them, if TensorRT is installed"}},
    RefusedRow{"--trt-network-postprocess-script --trt-npps --trt-network-func-script", kNetworkScript},
    RefusedRow{"--trt-config-script --trt-config-postprocess-script --trt-cpps", kConfigScript},
    RefusedRow{"--tf --tftrt --minimum-segment-size --dynamic-op --ckpt --tf-outputs --save-pb --save-tensorboard "
               "--freeze-graph --gpu-memory-fraction --allow-growth --xla --save-timeline --opset",
               {"vernier does not run TensorFlow", "export the model to ONNX"}},
    RefusedRow{"--pluginref",
               {"vernier has no reference implementations of plugins",
                "vernier run MODEL --onnxrt, with --custom-ops LIB.so for operators that ONNX lacks"}},
    RefusedRow{"--providers --execution-providers",
               {"check lint runs the model on the CPU", "vernier run MODEL --onnxrt --providers NAME"},
               "check/lint"},
    RefusedRow{"--trt --onnxrt --sim --exec --openvino --providers --execution-providers --graph-optimization-level",
               kRunners, kWithRequirement},
    RefusedRow{"--plugin-dir --use-dla --enable-uint8-asymmetric-quantization-dla --refitFromOnnx", kNotBuiltSo},
    RefusedRow{kCheckNames, kSearchScript, "diagnose fix"},
    RefusedRow{kCheckNames, kRunsChecks},
    RefusedRow{"--mode --direction --dir",
               {"the search of this command is always the minimal one", "vernier debug precision --mode bisect"},
               "diagnose fix"},
    RefusedRow{"--mode",
               {"--show selects what is printed",
                "--show layers for what basic printed, --show layers attrs weights for full"},
               "inspect/model"},
    RefusedRow{"--mode --direction --dir",
               {"this command does not search for layers", "vernier debug precision MODEL --mode bisect"}},
    RefusedRow{"--ignore-external-data", {"this command needs the weights", "vernier inspect model MODEL"}},
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
  const std::string text = fmt::format("{} has no effect in this command: {}", name, row.why);
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
