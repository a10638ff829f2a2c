// Scripts for TensorRT's builder. Values come from command lines and untrusted files: they appear as Python literals,
// or as names of an enum.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "json/json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/templates.h"

namespace vernier {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view text, const char* what) {
  throw Error(ErrorCode::BadValue, fmt::format("--{}: '{}' is not {}", option, text, what));
}

/// "ampere_plus" -> "AMPERE_PLUS"
std::string enum_name(std::string_view option, const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') refuse(option, text, "a name of TensorRT's");
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    refuse(option, text, "a name of TensorRT's");
  }
  return name;
}

double number(std::string_view option, std::string_view whole, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 9e18)) {
    refuse(option, whole, "a size or number");
  }
  return value;
}

/// "1G" -> 1073741824
std::int64_t bytes(std::string_view option, std::string_view text) {
  static const std::map<char, double> kUnits{{'B', 1}, {'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
  std::string_view digits = text;
  double unit = 1;
  if (!text.empty()) {
    const auto found = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (found != kUnits.end()) {
      unit = found->second;
      digits.remove_suffix(1);
    }
  }
  return static_cast<std::int64_t>(number(option, text, digits) * unit);
}

/// "x:fp16" -> {"x", "fp16"}, at the last colon.
std::pair<std::string, std::string> pair_of(std::string_view option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) refuse(option, text, "NAME:VALUE");
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string type_of(std::string_view option, const std::string& text) {
  static const std::map<std::string_view, std::string_view> kTypes{
      {"float32", "float32"}, {"fp32", "float32"},  {"float16", "float16"},   {"fp16", "float16"},
      {"half", "float16"},    {"int32", "int32"},   {"int8", "int8"},         {"bool", "bool"},
      {"int64", "int64"},     {"bf16", "bfloat16"}, {"bfloat16", "bfloat16"}, {"fp8", "fp8"}};
  const auto found = kTypes.find(text);
  if (found == kTypes.end()) refuse(option, text, "a type of TensorRT's");
  return fmt::format("trt.{}", found->second);
}

/// "[linear,chw4]" -> the sum of their bits.
std::string formats_of(std::string_view option, std::string text) {
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  std::vector<std::string> bits;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    bits.push_back(fmt::format("1 << int(trt.TensorFormat.{})", enum_name(option, text.substr(from, end - from))));
    from = end + 1;
  }
  return fmt::format("{}", fmt::join(bits, " | "));
}

std::string list_of(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) quoted.push_back(json_quoted(value));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

const std::map<std::string_view, std::string_view> kFlags{{"tf32", "TF32"},
                                                          {"sparse-weights", "SPARSE_WEIGHTS"},
                                                          {"version-compatible", "VERSION_COMPATIBLE"},
                                                          {"exclude-lean-runtime", "EXCLUDE_LEAN_RUNTIME"},
                                                          {"trt-safety-restricted", "SAFETY_SCOPE"},
                                                          {"refittable", "REFIT"},
                                                          {"strip-plan", "STRIP_PLAN"},
                                                          {"direct-io", "DIRECT_IO"},
                                                          {"error-on-timing-cache-miss", "ERROR_ON_TIMING_CACHE_MISS"},
                                                          {"disable-compilation-cache", "DISABLE_COMPILATION_CACHE"},
                                                          {"weight-streaming", "WEIGHT_STREAMING"},
                                                          {"allow-gpu-fallback", "GPU_FALLBACK"}};
const std::map<std::string_view, std::string_view> kNumbers{
    {"builder-optimization-level", "builder_optimization_level"}, {"max-aux-streams", "max_aux_streams"}};
const std::map<std::string_view, std::pair<std::string_view, std::string_view>> kChoices{
    {"hardware-compatibility-level", {"hardware_compatibility_level", "HardwareCompatibilityLevel"}},
    {"tiling-optimization-level", {"tiling_optimization_level", "TilingOptimizationLevel"}},
    {"runtime-platform", {"runtime_platform", "RuntimePlatform"}},
    {"engine-capability", {"engine_capability", "EngineCapability"}},
    {"profiling-verbosity", {"profiling_verbosity", "ProfilingVerbosity"}}};

/// What a setting of a configuration is in Python, line by line.
std::vector<std::string> config_lines(const std::string& option, const std::vector<std::string>& values) {
  if (const auto flag = kFlags.find(option); flag != kFlags.end()) {
    return {fmt::format("config.set_flag(trt.BuilderFlag.{})", flag->second)};
  }
  if (const auto member = kNumbers.find(option); member != kNumbers.end()) {
    const double value = number(option, values.back(), values.back());
    return {fmt::format("config.{} = {}", member->second, static_cast<std::int64_t>(value))};
  }
  if (const auto choice = kChoices.find(option); choice != kChoices.end()) {
    const auto& [member, kind] = choice->second;
    return {fmt::format("config.{} = trt.{}.{}", member, kind, enum_name(option, values.back()))};
  }
  std::vector<std::string> lines;
  if (option == "use-dla") {
    lines = {"config.default_device_type = trt.DeviceType.DLA", "config.DLA_core = 0"};
  } else if (option == "precision-constraints") {
    const std::string mode = enum_name(option, values.back());
    if (mode != "NONE") lines = {fmt::format("config.set_flag(trt.BuilderFlag.{}_PRECISION_CONSTRAINTS)", mode)};
  } else if (option == "pool-limit") {
    for (const std::string& value : values) {
      const auto [pool, size] = pair_of(option, value);
      lines.push_back(fmt::format("config.set_memory_pool_limit(trt.MemoryPoolType.{}, {})", enum_name(option, pool),
                                  bytes(option, size)));
    }
  } else if (option == "tactic-sources") {
    lines.emplace_back("sources = 0");
    for (const std::string& value : values) {
      if (value.empty()) continue;  // the option alone: no library
      lines.push_back(fmt::format("sources |= 1 << int(trt.TacticSource.{})", enum_name(option, value)));
    }
    lines.emplace_back("config.set_tactic_sources(sources)");
  } else if (option == "preview-features") {
    for (const std::string& value : values) {
      lines.push_back(fmt::format("config.set_preview_feature(trt.PreviewFeature.{}, True)", enum_name(option, value)));
    }
  } else if (option == "load-timing-cache") {
    lines = {fmt::format("with open({}, \"rb\") as file:", json_quoted(values.back())),
             "    cache = config.create_timing_cache(file.read())", "config.set_timing_cache(cache, False)"};
  } else {
    throw Error(ErrorCode::BadValue, fmt::format("--{}: no setting of a configuration", option));
  }
  return lines;
}

/// What is named and not there ends the script.
constexpr const char* kTensorsOf =
    "\n\ndef tensors_of(network):\n"
    "    layers = [network.get_layer(i) for i in range(network.num_layers)]\n"
    "    made = [layer.get_output(j) for layer in layers for j in range(layer.num_outputs)]\n"
    "    read = [network.get_input(i) for i in range(network.num_inputs)]\n"
    "    return {tensor.name: tensor for tensor in read + made}\n";

/// What a setting of a network is, behind the parser.
std::vector<std::string> network_lines(const std::string& option, const std::vector<std::string>& values) {
  std::vector<std::string> lines;
  const auto for_each = [&](const std::string& list, const char* body) {
    lines = {fmt::format("for name in {}:", list), fmt::format("    {}", body)};
  };
  const auto of_pairs = [&](const auto& line) {
    for (const std::string& value : values) {
      const auto [name, what] = pair_of(option, value);
      lines.push_back(line(json_quoted(name), what));
    }
  };
  if (option == "trt-outputs") {
    lines = {"for i in reversed(range(network.num_outputs)):", "    network.unmark_output(network.get_output(i))",
             fmt::format("for name in {}:", list_of(values)), "    network.mark_output(tensors_of(network)[name])"};
  } else if (option == "trt-exclude-outputs") {
    for_each(list_of(values), "network.unmark_output(tensors_of(network)[name])");
  } else if (option == "mark-debug") {
    for_each(list_of(values), "network.mark_debug(tensors_of(network)[name])");
  } else if (option == "mark-unfused-tensors-as-debug-tensors") {
    lines = {"network.mark_unfused_tensors_as_debug_tensors()"};
  } else if (option == "layer-precisions") {
    lines = {"layers = {network.get_layer(i).name: network.get_layer(i) for i in range(network.num_layers)}"};
    of_pairs([&](const std::string& name, const std::string& type) {
      return fmt::format("layers[{}].precision = {}", name, type_of(option, type));
    });
  } else if (option == "tensor-dtypes") {
    of_pairs([&](const std::string& name, const std::string& type) {
      return fmt::format("tensors_of(network)[{}].dtype = {}", name, type_of(option, type));
    });
  } else if (option == "tensor-formats") {
    of_pairs([&](const std::string& name, const std::string& formats) {
      return fmt::format("tensors_of(network)[{}].allowed_formats = {}", name, formats_of(option, formats));
    });
  } else {
    throw Error(ErrorCode::BadValue, fmt::format("--{}: no setting of a network", option));
  }
  return lines;
}

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("    {}\n", line);
  return text;
}

/// Before the model is parsed.
std::string parser_lines(const EngineSettings& settings) {
  std::vector<std::string> lines;
  if (const auto flags = settings.find("onnx-flags"); flags != settings.end()) {
    for (const std::string& flag : flags->second) {
      lines.push_back(fmt::format("parser.set_flag(trt.OnnxParserFlag.{})", enum_name("onnx-flags", flag)));
    }
  }
  if (settings.contains("plugin-instancenorm")) {
    lines.emplace_back("parser.clear_flag(trt.OnnxParserFlag.NATIVE_INSTANCENORM)");
  }
  return indented(lines);
}

/// Settings that are not told to a network behind its parser.
bool is_earlier(const std::string& option) {
  static const std::set<std::string_view> kEarlier{"onnx-flags", "plugin-instancenorm", "strongly-typed", "plugins"};
  return kEarlier.contains(option);
}

}  // namespace

std::vector<TrtSetting> trt_network_settings() {
  return {{"strongly-typed", nullptr, "The types in the model decide, not the builder"},
          {"plugins", "FILE", "Load plugin libraries", true},
          {"onnx-flags", "NAME", "Set flags of the ONNX parser", true},
          {"plugin-instancenorm", nullptr, "Parse InstanceNormalization as a plugin"},
          {"trt-outputs", "NAME", "Make these tensors the outputs", true},
          {"trt-exclude-outputs", "NAME", "These tensors are no longer outputs", true},
          {"layer-precisions", "NAME:TYPE", "Set the precision of layers, up to TensorRT 10", true},
          {"tensor-dtypes", "NAME:TYPE", "Set types of inputs and outputs, up to TensorRT 10", true},
          {"tensor-formats", "NAME:[FORMAT,...]", "Set memory formats of inputs and outputs", true},
          {"mark-debug", "NAME", "Make these tensors debug tensors", true},
          {"mark-unfused-tensors-as-debug-tensors", nullptr, "Make all tensors between kernels debug tensors"}};
}

std::vector<TrtSetting> trt_config_settings() {
  return {{"tf32", nullptr, "Allow TF32"},
          {"precision-constraints", "MODE", "obey, prefer or none, up to TensorRT 10"},
          {"sparse-weights", nullptr, "Use kernels for 2:4 sparse weights"},
          {"version-compatible", nullptr, "Build an engine that newer releases can load"},
          {"exclude-lean-runtime", nullptr, "Leave the lean runtime out of such an engine"},
          {"trt-safety-restricted", nullptr, "Allow only layers of the safety scope"},
          {"refittable", nullptr, "Build an engine with weights that can be replaced"},
          {"strip-plan", nullptr, "Leave the weights that can be replaced out of the engine"},
          {"weight-streaming", nullptr, "Let the engine stream its weights"},
          {"direct-io", nullptr, "Forbid reformatting at inputs and outputs"},
          {"use-dla", nullptr, "Run on DLA"},
          {"allow-gpu-fallback", nullptr, "Run layers that DLA does not support on the GPU"},
          {"pool-limit", "POOL:SIZE", "Memory limit of a build, such as workspace:1G", true},
          {"tactic-sources", "NAME", "Libraries to take kernels from; none: no library", true},
          {"preview-features", "NAME", "Features to turn on", true},
          {"builder-optimization-level", "N", "0 to 5: how long the builder looks for kernels"},
          {"max-aux-streams", "N", "Streams next to the main one"},
          {"hardware-compatibility-level", "LEVEL", "GPUs that the engine runs on, such as ampere_plus"},
          {"tiling-optimization-level", "LEVEL", "How long the builder looks for tilings, such as fast"},
          {"runtime-platform", "NAME", "Platform that the engine runs on, such as windows_amd64"},
          {"engine-capability", "NAME", "standard, safety or dla_standalone"},
          {"profiling-verbosity", "NAME", "Details of layers in the engine, such as detailed"},
          {"load-timing-cache", "FILE", "Read kernel times of an earlier build"},
          {"error-on-timing-cache-miss", nullptr, "Refuse to time kernels that the cache lacks"},
          {"disable-compilation-cache", nullptr, "Compile all kernels again"}};
}

std::string trt_network_template(const std::string& model, const EngineSettings& settings) {
  std::string load, edits;
  for (const auto& [option, values] : settings) {
    if (!is_earlier(option)) edits += indented(network_lines(option, values));
    if (!model.empty() || option == "strongly-typed" || option == "plugins") continue;
    throw Error(ErrorCode::WithoutEffect, fmt::format("--{}: a script without a model parses nothing", option),
                "name the model");
  }
  const auto plugins = settings.find("plugins");
  if (plugins != settings.end()) {
    load = fmt::format(
        "    for library in {}:\n        ctypes.CDLL(library)\n    trt.init_libnvinfer_plugins(logger, \"\")\n",
        list_of(plugins->second));
  }
  const char* const flags = settings.contains("strongly-typed")
                                ? "    flags |= 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)\n"
                                : "";
  const bool names = edits.find("tensors_of(") != std::string::npos;
  const std::string begin = fmt::format(
      "# Builds a TensorRT network: load_network() is the function that Polygraphy and vernier run call.\n"
      "{}import tensorrt as trt\n{}\n\n"
      "def load_network():\n"
      "    logger = trt.Logger(trt.Logger.WARNING)\n{}"
      "    builder = trt.Builder(logger)\n"
      "    # From TensorRT 10 on, every network has an explicit batch dimension.\n"
      "    explicit = getattr(trt.NetworkDefinitionCreationFlag, \"EXPLICIT_BATCH\", None)\n"
      "    flags = 0 if explicit is None else 1 << int(explicit)\n{}"
      "    network = builder.create_network(flags)\n",
      load.empty() ? "" : "import ctypes\n\n", names ? kTensorsOf : "", load, flags);
  if (model.empty()) {
    return begin +
           "    # Add layers, for example:\n"
           "    #   x = network.add_input(\"x\", trt.float32, (1, 3, 224, 224))\n"
           "    #   y = network.add_activation(x, trt.ActivationType.RELU)\n"
           "    #   network.mark_output(y.get_output(0))\n"
           "    return builder, network\n";
  }
  return begin + "    parser = trt.OnnxParser(network, logger)\n" + parser_lines(settings) +
         fmt::format(
             "    if not parser.parse_from_file({}):\n"
             "        raise RuntimeError(\"\\n\".join(str(parser.get_error(i)) for i in "
             "range(parser.num_errors)))\n{}"
             "    # Change the network, for example:\n"
             "    #   for layer in network:\n"
             "    #       layer.precision = trt.float32\n"
             "    return builder, network, parser\n",
             json_quoted(model), edits);
}

std::string trt_config_template(const std::set<Format>& formats, const EngineSettings& settings,
                                const std::map<std::string, ShapeRange>& profile) {
  std::vector<std::string> lines;
  for (const Format format : formats) {
    const char* flag = format == Format::Float16        ? "FP16"
                       : format == Format::BFloat16     ? "BF16"
                       : format == Format::Int8         ? "INT8"
                       : format == Format::Float8E4M3FN ? "FP8"
                                                        : nullptr;
    if (flag == nullptr) {
      throw Error(ErrorCode::WithoutEffect,
                  fmt::format("a builder of TensorRT has no flag for {}", format_name(format)),
                  "fp16, bf16, int8 or fp8");
    }
    lines.push_back(fmt::format("config.set_flag(trt.BuilderFlag.{})", flag));
  }
  for (const auto& [option, values] : settings) {
    for (std::string& line : config_lines(option, values)) lines.push_back(std::move(line));
  }
  if (!profile.empty()) lines.emplace_back("profile = builder.create_optimization_profile()");
  for (const auto& [name, range] : profile) {
    const auto tuple = [](const Shape& shape) {
      return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
    };
    // As in Polygraphy: what is not given is as what is, the usual shape first.
    const Shape& usual = !range.opt.empty() ? range.opt : !range.max.empty() ? range.max : range.min;
    const auto end = [&](const Shape& shape) { return tuple(shape.empty() ? usual : shape); };
    lines.push_back(fmt::format("profile.set_shape({}, {}, {}, {})", json_quoted(name), end(range.min), end(range.opt),
                                end(range.max)));
  }
  if (!profile.empty()) lines.emplace_back("config.add_optimization_profile(profile)");
  return "# Configures a TensorRT builder: load_config() is the function that Polygraphy calls.\n"
         "import tensorrt as trt\n\n\n"
         "def load_config(builder, network):\n"
         "    config = builder.create_builder_config()\n" +
         indented(lines) +
         "    # Change the configuration, for example:\n"
         "    #   config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)\n"
         "    return config\n";
}

}  // namespace vernier
