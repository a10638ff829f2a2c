// deploy.md: how to take the result to each engine, and the record of what it is. Each section is one function. Options
// come from the tools' own parsers and documentation; what was not executed here says so.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/layout.h"
#include "base/quote.h"
#include "base/text.h"
#include "report/export/other_tools.h"
#include "report/export/trtexec_shapes.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/note_text.h"
#include "vernier/report/typed.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

struct Files {
  std::string original;
  std::string model;
  std::string engine;
  std::string directory;  // with its slash, empty for the current one

  std::string beside(const std::string& name) const { return directory + name; }
};

Files files_of(const DiagnoseReport& report) {
  const std::filesystem::path model = report.files.at("model");
  const std::string parent = model.parent_path().string();
  return {report.model_file, model.string(), std::filesystem::path(model).replace_extension(".engine").string(),
          parent.empty() ? "" : parent + "/"};
}

/// Float32 layers run in TF32 (10 mantissa bits) on Ampere and later unless this is said.
std::string full_float32(const DiagnoseReport& report) {
  return report.high == Format::Float32 ? " \\\n  --noTF32" : "";
}

std::string computed_otherwise(const DiagnoseReport& report, Target engine) {
  if (!report.not_simulated || report.not_simulated->engine != engine) return {};
  const NotSimulated& nodes = *report.not_simulated;
  return fmt::format("\n{} {}, first {}: {}. Cure: {}.\n",
                     nodes.refused ? std::string(nodes.engine_name()) + " rejects" : "The figures do not hold for",
                     plural(nodes.nodes, "node"), inline_code(nodes.first), markdown_text(told(nodes.why)),
                     markdown_text(told(nodes.cure)));
}

std::string shapes_text(const DiagnoseReport& report) {
  if (report.open_inputs.empty()) return "\n";
  const bool given = report.open_inputs.front().usual && !report.usual_sample;
  return fmt::format(
      "\nThese are the shapes of the samples{}. The engine accepts only them, so widen them to your own inputs. "
      "`--optShapes`, for which it is fast, is {}. ",
      given ? " and what you gave" : "",
      report.usual_sample ? fmt::format("that of sample {}, the median by size", *report.usual_sample)
      : given             ? "what you gave"
                          : "that of the first sample");
}

std::string trtexec_11(const DiagnoseReport& report, const Files& files) {
  return "## TensorRT 11, trtexec (documented, not run)\n\n"
         "Version 11 has no precision flags: the types in the file are the types of the engine.\n\n" +
         code_block("sh",
                    fmt::format("trtexec --onnx={} \\\n  --saveEngine={}{}{}", shell_quote(files.model),
                                shell_quote(files.engine), trtexec_shapes(report, " \\\n  "), full_float32(report))) +
         shapes_text(report) +
         "`--profilingVerbosity=detailed --exportLayerInfo=layers.json` lists the type of each layer.\n" +
         computed_otherwise(report, Target::TensorRt);
}

std::string trtexec_10(const DiagnoseReport& report, const Files& files) {
  return "## TensorRT 10, trtexec (documented, not run)\n\n" +
         code_block("sh",
                    fmt::format("trtexec --onnx={} --stronglyTyped \\\n  --saveEngine={}{}{}", shell_quote(files.model),
                                shell_quote(files.engine), trtexec_shapes(report, " \\\n  "), full_float32(report))) +
         (report.high == Format::Float32
              ? "\n`--noTF32` keeps the kept layers in full FP32, as they were measured. Without it they run faster in "
                "TF32, with 10 mantissa bits: measure before you drop it. TensorRT-RTX uses TF32 despite the flag: "
                "`--tf32` simulates that.\n"
              : "");
}

std::string weak_precision(Format format) {
  return format == Format::Float16 ? "fp16" : format == Format::BFloat16 ? "bf16" : "fp32";
}

/// A trtexec list is split at commas and quotes, and * is a wildcard: such names cannot be said.
bool sayable_to_trtexec(const std::string& name) { return name.find_first_of(",'*") == std::string::npos; }

std::string trtexec_weak(const DiagnoseReport& report, const Files& files, const std::vector<std::string>& kept) {
  std::string text = "## TensorRT 8 to 10, weakly typed, from the original model (documented, not run)\n\n";
  std::string flags;
  bool quantized = false;
  for (const Format format : report.low) {
    if (format == Format::Float16) flags += " --fp16";
    if (format == Format::BFloat16) flags += " --bf16";
    if (format == Format::Int8 || format == Format::UInt8) quantized = true;
    if (needs_scale(format) && format != Format::Int8 && format != Format::UInt8) {
      return text + fmt::format("This way does not support {}, which needs the typed model.\n", format_title(format));
    }
  }
  if (quantized) flags += " --int8 --calib=calibration.cache";
  std::string precisions;
  std::string types;
  std::string unsaid;
  for (const std::string& name : kept) {
    if (!sayable_to_trtexec(name)) {
      unsaid += "- " + inline_code(name) + "\n";
      continue;
    }
    const std::string item = name + ":" + weak_precision(report.high);
    precisions += (precisions.empty() ? "" : ",") + item;
    types += (types.empty() ? "" : ",") + item;
  }
  text +=
      "The builder chooses types, except for the listed layers. TensorRT renames and fuses layers, so check its log "
      "for names that it did not find. Its accuracy was not measured" +
      std::string(quantized
                      ? ". The calibration cache is TensorRT's own, with ranges that differ from those of Vernier.\n\n"
                      : ".\n\n");
  std::string command =
      fmt::format("trtexec --onnx={}{} \\\n  --saveEngine={}{}{}", shell_quote(files.original), flags,
                  shell_quote(files.beside("weak.engine")), trtexec_shapes(report, " \\\n  "), full_float32(report));
  if (!precisions.empty()) {
    command += fmt::format(" \\\n  --precisionConstraints=obey \\\n  {} \\\n  {}",
                           shell_quote("--layerPrecisions=" + precisions), shell_quote("--layerOutputTypes=" + types));
  }
  text += code_block("sh", command);
  if (!unsaid.empty()) {
    text +=
        "\nThese names contain a comma, a quote or a star, which that list cannot express. Rename the nodes "
        "first:\n\n" +
        unsaid;
  }
  return text;
}

/// "0.03", "scores:0.1 boxes:0.03": the limits as Polygraphy's thresholds take them.
std::string polygraphy_limits(const Requirement& requirement) {
  std::string text;
  for (const Limit& limit : requirement.limits) {
    const std::string value = fmt::format("{:.12g}", limit.value);
    text += text.empty() ? "" : " ";
    text += limit.output.empty() ? value : shell_quote(limit.output + ":" + value);
  }
  return text;
}

/// Polygraphy's comparison that comes nearest to the requirement.
std::string polygraphy_compare(const std::optional<Requirement>& requirement) {
  if (!requirement) return "--compare snr";
  const std::string limits = polygraphy_limits(*requirement);
  switch (requirement->metric) {
    case Metric::MinSqnrDb:
      return "--compare snr --snr-threshold " + limits;
    case Metric::MinCosine:
      return "--compare cosine_similarity --cosine-similarity-threshold " + limits;
    case Metric::MaxAbsError:
      return fmt::format("--compare simple --check-error-stat max --atol {} --rtol 0", limits);
    case Metric::MinTop1Agreement:
      return "--postprocess top-1 --compare indices";
    case Metric::MaxMse:
      break;
  }
  return "--compare snr";
}

/// How that comparison differs from the requirement, in words; empty: it does not.
std::string polygraphy_differs(const DiagnoseReport& report) {
  if (!report.requirement) return {};
  if (report.requirement->metric == Metric::MinTop1Agreement) {
    return "\nPolygraphy has no limit for top-1 agreement: every sample must agree, in every output.\n";
  }
  if (report.requirement->metric == Metric::MaxMse) {
    return "\nPolygraphy has no limit for a mean squared error. The last command compares by SNR, by default 20 dB.\n";
  }
  std::vector<std::string> free;
  for (const OutputFigure& output : report.all_low.outputs) {
    if (!report.requirement->limit_for(output.name)) free.push_back(inline_code(output.name));
  }
  return free.empty()
             ? ""
             : fmt::format("\nPolygraphy also checks {} by default, unlike your requirement.\n", list_some(free));
}

std::string polygraphy(const DiagnoseReport& report, const Files& files) {
  return "## Polygraphy (documented, not run)\n\nThis builds the engine and compares it with the float model on your "
         "inputs. `load_data()` in `load_data.py` yields one dictionary of arrays by input name per sample. Polygraphy "
         "checks each sample alone, your requirement pools them. `--strongly-typed` does nothing on TensorRT 11, where "
         "every network is strongly typed.\n\n" +
         code_block("sh", fmt::format("polygraphy convert {model} --strongly-typed -o {engine}\n"
                                      "polygraphy run {original} --onnxrt --data-loader-script load_data.py \\\n"
                                      "  --save-inputs inputs.json --save-outputs reference.json\n"
                                      "polygraphy run {engine} --trt --load-inputs inputs.json \\\n"
                                      "  --load-outputs reference.json {compare}",
                                      fmt::arg("model", shell_quote(files.model)),
                                      fmt::arg("engine", shell_quote(files.engine)),
                                      fmt::arg("original", shell_quote(files.original)),
                                      fmt::arg("compare", polygraphy_compare(report.requirement)))) +
         polygraphy_differs(report);
}

bool has_int8(const DiagnoseReport& report) {
  return std::ranges::any_of(report.low, [](Format f) { return f == Format::Int8 || f == Format::UInt8; });
}

std::string onnxruntime(const DiagnoseReport& report, const Files& files) {
  const bool timed = report.latency && report.latency->engine.empty() && report.latency->repaired_ms;
  const bool fp8 =
      std::ranges::any_of(report.low, [](Format f) { return f == Format::Float8E4M3FN || f == Format::Float8E5M2; });
  std::string text = timed ? fmt::format(
                                 "## ONNX Runtime\n\nThe model was run and timed on ONNX Runtime {}; this program "
                                 "is documented, not run.\n\n",
                                 markdown_text(report.onnxruntime_version))
                           : "## ONNX Runtime (documented, not run)\n\n";
  text += code_block(
      "python", fmt::format("import numpy as np\n"
                            "import onnxruntime as ort\n\n{1}"
                            "session = ort.InferenceSession({0}, {2}providers=[\"CPUExecutionProvider\"])\n"
                            "sample = np.load(\"sample.npz\")  # one array per input, by name\n"
                            "outputs = session.run(None, {{i.name: sample[i.name] for i in session.get_inputs()}})",
                            python_quote(files.model),
                            fp8 ? "options = ort.SessionOptions()\n"
                                  "options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC\n"
                                : "",
                            fp8 ? "options, " : ""));
  bool crashes = false;
  if (report.typed && report.typed->onnxruntime && !report.typed->onnxruntime->refused.empty()) {
    const RuntimeCheck& check = *report.typed->onnxruntime;
    crashes = !check.crashing_optimizers.empty();
    const std::string cure = crashes
                                 ? inline_code(session_that_runs(check))
                                 : "`options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL`";
    text += fmt::format("\nONNX Runtime {} on this machine's CPU does not run the file{}:\n\n{}\n",
                        markdown_text(report.onnxruntime_version),
                        check.runs_unoptimized ? " with its default optimizations. It does with " + cure : "",
                        code_block("", printable(check.refused)));
  }
  if (report.typed && report.typed->onnxruntime && report.typed->onnxruntime->changed_db) {
    text += fmt::format(
        "\nWith its default optimizations, ONNX Runtime {} on this machine's CPU returns different results: {:.1f} dB "
        "against the same file without them. Set `options.graph_optimization_level = "
        "ort.GraphOptimizationLevel.ORT_DISABLE_ALL`.\n",
        markdown_text(report.onnxruntime_version), *report.typed->onnxruntime->changed_db);
  }
  if (report.target == Target::OnnxRuntime && has_int8(report)) {
    text +=
        "\nThe file is made for its integer kernels. A kept Conv, ConvTranspose or Gemm between quantized tensors has "
        "a Sum of one input in front of it. Without it, ONNX Runtime 1.31 quantizes the layer's weights when it loads "
        "the file, unless you pass `disabled_optimizers=[\"WeightBiasQuantization\"]` to the session.\n";
  }
  if (fp8) {
    text +=
        "\nOnly its basic optimizations work with FP8, hence the options. Above them, version 1.32 silently drops a "
        "Relu before an FP8 QuantizeLinear, which changes the results. Version 1.31 fuses an FP8 layer into an integer "
        "one and then refuses the file (`INVALID_GRAPH`).\n";
  }
  const bool casts = report.high != Format::Float32 ||
                     std::any_of(report.low.begin(), report.low.end(), [](Format f) { return !needs_scale(f); });
  if (casts) {
    text +=
        "\nIts CPU provider computes most FP16 layers in FP32 without rounding in between, so its figures say little "
        "about an accelerator. It refuses files with BF16 layers without a kernel, such as convolutions "
        "(`NOT_IMPLEMENTED`). Use `CUDAExecutionProvider` or `TensorrtExecutionProvider`.\n";
  }
  if (casts && !crashes) {
    text +=
        "\nSome versions, such as 1.31.1, crash on x86 CPUs while they load a graph with casts after a Transpose (its "
        "issue 28392). Pass `InferenceSession(..., disabled_optimizers=[\"NchwcTransformer\"])`.\n";
  }
  return text;
}

/// Schemes with zero points, which TensorRT's does not know.
std::string no_tensorrt(const std::string& engine) {
  return "## TensorRT\n\nThis file is made for " + engine +
         ": asymmetric UINT8. TensorRT quantizes symmetrically and refuses its zero points (documented, not run). For "
         "a TensorRT engine, run the diagnosis again with `--target tensorrt`, which has another scheme and keeps "
         "other layers.\n";
}

std::string openvino(const DiagnoseReport& report, const Files& files) {
  const std::string xml = std::filesystem::path(files.model).replace_extension(".xml").string();
  return "## OpenVINO (documented, not run)\n\n" +
         code_block("sh", fmt::format("ovc {} --output_model {} --compress_to_fp16=False\n"
                                      "benchmark_app -m {} -d CPU -hint latency -infer_precision f32",
                                      shell_quote(files.model), shell_quote(xml), shell_quote(xml))) +
         "\nKept layers stay in their format only with both options. By default `ovc` stores weights in FP16, and "
         "devices with FP16 or BF16 units compute everything outside Q/DQ in those formats. `-infer_precision f32` (in "
         "programs: `INFERENCE_PRECISION_HINT`) turns that off. Casts to FP16 in the file then compute in FP32, which "
         "costs speed, never accuracy.\n" +
         computed_otherwise(report, Target::OpenVino);
}

std::string kept_list(const DiagnoseReport& report, const std::vector<std::string>& kept) {
  if (report.kept && report.kept->ladder && !kept.empty()) {
    std::string text = fmt::format("## Raised layers ({})\n\n", kept.size());
    for (const RaisedLayer& layer : report.kept->ladder->raised) {
      text += fmt::format("- {}: {}\n", inline_code(layer.layer), format_title(layer.format));
    }
    return text;
  }
  if (kept.empty()) return "## Kept layers\n\nNone: every layer runs in its low format.\n";
  std::string text = fmt::format("## Kept layers ({}, in {})\n\n", kept.size(), format_title(report.high));
  for (const std::string& name : kept) text += "- " + inline_code(name) + "\n";
  return text;
}

/// Words of a paragraph; a span of code is one word.
std::vector<std::string> words_of_markdown(std::string_view line) {
  std::vector<std::string> words(1);
  bool code = false;
  for (const char c : line) {
    if (c == '`') code = !code;
    if (c == ' ' && !code) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// Whether a line that starts with it would be a heading, an item of a list or another block.
bool starts_block(const std::string& word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  return word.empty() || std::string_view("#-+*>=|~").find(word.front()) != std::string_view::npos ||
         word.starts_with("```") ||
         (digits != 0 && digits != std::string::npos && (word[digits] == '.' || word[digits] == ')'));
}

/// Paragraphs in lines of at most 100 columns. Code blocks, tables, lists and headings stay as they are.
std::string wrapped_markdown(const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::string wrapped;
  std::string fence;  // that ends the code block
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence.empty() ? ticks >= 3 : line == fence) fence = fence.empty() ? line.substr(0, ticks) : "";
    const bool prose = fence.empty() && ticks < 3 && !line.empty() && !starts_block(line) && line.front() != ' ';
    std::size_t used = 0;
    for (const std::string& word : prose ? words_of_markdown(line) : std::vector{line}) {
      const std::size_t width = display_width(word);
      const bool breaks = used > 0 && used + 1 + width > kColumns && !starts_block(word);
      if (used > 0) wrapped += breaks ? "\n" : " ";
      wrapped += word;
      used = breaks || used == 0 ? width : used + 1 + width;
    }
    wrapped += "\n";
  }
  return wrapped;
}

std::string record(const DiagnoseReport& report) {
  std::string text = "## Record\n\n| | |\n|---|---|\n";
  const auto line = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) text += fmt::format("| {} | {} |\n", what, value);
  };
  const auto hash = [](const std::string& sha256) {
    return sha256.empty() ? std::string{} : ", sha256 " + inline_code(sha256);
  };
  line("original model", markdown_text(report.model_file) + hash(report.model_sha256));
  for (const auto& [what, path] : report.files) line(markdown_text(what), markdown_text(path));
  line("data", markdown_text(report.data) + hash(report.data_sha256));
  line("scheme", markdown_text(scheme_words(report.scheme)));
  line("target", std::string(word_of(report.target)));
  line("formats", fmt::format("{} low, {} kept", low_text(report), format_title(report.high)));
  if (report.requirement) line("requirement", markdown_text(requirement_text(*report.requirement)));
  if (report.final_figures) {
    const std::string figure = figure_text(*report.final_figures, report.requirement) +
                               bound_clause(*report.final_figures, report.requirement);
    line("verify of the output model",
         markdown_text(report.in_sample ? fmt::format("on these samples: {}; on held-out samples: {}",
                                                      figure_text(*report.in_sample, report.requirement), figure)
                                        : figure));
  } else {
    line("verify of the output model", "not measured");
  }
  if (report.other_sums) {
    line(sums_text(report.other_sums->accumulate),
         markdown_text(figure_text(report.other_sums->figures, report.requirement)));
  }
  if (report.kept) {
    const char* const certified = !report.kept->certified ? "not certified"
                                  : report.kept->not_cheaper > 0
                                      ? "certified by cost: no smaller set that passes costs less"
                                      : "certified 1-minimal";
    line("kept set", fmt::format("{}, {}", plural(report.kept->layers.size(), "layer"), certified));
  }
  if (report.typed) {
    line("casts", std::to_string(report.typed->casts));
    line("quantized", pairs_text(*report.typed));
    line("weights", fmt::format("{}, were {}", bytes_text(report.typed->weight_bytes),
                                bytes_text(report.typed->original_weight_bytes)));
  }
  line("runner", markdown_text(runner_text(report.runner, report.on_gpu)));
  line("versions", fmt::format("vernier {}, ONNX Runtime {}, onnx {}", markdown_text(report.vernier_version),
                               markdown_text(report.onnxruntime_version), markdown_text(report.onnx_version)));
  line("machine", markdown_text(report.machine));
  // A bar would end the cell even inside code.
  if (!report.command.empty()) text += "\nCommand:\n\n" + code_block("sh", printable(report.command));
  return text;
}

}  // namespace

std::string deploy_markdown(const DiagnoseReport& report) {
  std::string text = "# Deploying the result\n\n" + markdown_text(answer_of(report).sentence) + "\n\n";
  if (!report.files.contains("model")) {
    return wrapped_markdown(text + "No model was written, so there is nothing to deploy.\n\n" + record(report));
  }
  const Files files = files_of(report);
  const std::vector<std::string> kept = report.kept ? report.kept->layers : std::vector<std::string>{};
  text += fmt::format(
      "{} is strongly typed: its Casts and Q/DQ nodes hold all formats, so no engine needs a list of layers. Run the "
      "commands in the folder in which you ran vernier. \"Documented, not run\" means: from the documentation of the "
      "tool, and "
      "not executed.\n\n",
      inline_code(files.model));
  const std::vector<std::string> sections =
      report.target == Target::OnnxRuntime && has_int8(report)
          ? std::vector{onnxruntime(report, files), openvino(report, files), no_tensorrt("ONNX Runtime")}
      : report.target == Target::OpenVino && has_int8(report)
          ? std::vector{openvino(report, files), onnxruntime(report, files), no_tensorrt("OpenVINO")}
          : std::vector{trtexec_11(report, files),  trtexec_10(report, files), polygraphy(report, files),
                        onnxruntime(report, files), openvino(report, files),   trtexec_weak(report, files, kept)};
  // Other tools, and weakly typed builds, know two formats.
  const bool two = !report.kept || !report.kept->ladder;
  const std::string weak = trtexec_weak(report, files, kept);
  for (const std::string& section : sections) text += two || section != weak ? section + "\n" : "";
  if (two) text += other_quantizers(report, kept) + "\n";
  text += kept_list(report, kept) + "\n";
  return wrapped_markdown(text + record(report));
}

}  // namespace vernier
