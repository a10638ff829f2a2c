// The subcommands of `vernier surgeon`.

#include "vernier/surgeon.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/external_data_options.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "table/measure.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier::cli {
namespace {

CLI::App& surgeon(CLI::App& root, const std::string& name, const std::string& description) {
  return add_command(command_group(root, "surgeon", "Edit a model's graph"), name, description);
}

/// MODEL, -o, --save-external-data, and --external-data-dir unless the options of samples have it.
struct Files {
  std::string model, output;
  Texts texts;
  ExternalDataGroup external_data;

  void add(CLI::App& app, bool has_samples = false) {
    add_argument(app, "MODEL", model, "ONNX file");
    add_value(app, "-o,--output", output, "FILE", "File to write (required)").writes().group("Output");
    external_data.add(app);
    if (!has_samples) add_row(app, table::kExternalDataDir, "Model", texts);
  }
  template <class Options>
  void put(Options& options, const char* command) const {
    if (output.empty())
      throw Error(ErrorCode::MissingArgument, fmt::format("vernier surgeon {}: -o is missing", command), "-o out.onnx");
    require_writable_file(output);
    options.model = model;
    options.output = output;
    options.external_data = external_data.values();
    if constexpr (requires { options.external_data_dir; }) {
      read_value(table::kExternalDataDir, texts, options.external_data_dir);
    }
  }
};

constexpr std::array kDtypes = {Dtype::Float32,    Dtype::UInt8,  Dtype::Int8,   Dtype::UInt16,   Dtype::Int16,
                                Dtype::Int32,      Dtype::Int64,  Dtype::String, Dtype::Bool,     Dtype::Float16,
                                Dtype::Float64,    Dtype::UInt32, Dtype::UInt64, Dtype::BFloat16, Dtype::Float8E4M3FN,
                                Dtype::Float8E5M2, Dtype::UInt4,  Dtype::Int4};

std::optional<Dtype> dtype_named(const std::string& text) {
  for (const Dtype dtype : kDtypes) {
    if (dtype_name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

/// "x:[1,3]:float32", "x:auto:auto", "x:float32" (outputs), "x". What is behind the last colons and is neither shape
/// nor type nor auto belongs to the name.
TensorChoice parse_tensor(const char* option, std::string text, bool with_shape) {
  TensorChoice choice;
  const auto last = [&text]() -> std::optional<std::string> {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) return std::nullopt;
    return text.substr(colon + 1);
  };
  const auto drop = [&text] { text.resize(text.rfind(':')); };
  if (const auto part = last(); part && (*part == "auto" || dtype_named(*part))) {
    choice.dtype = dtype_named(*part);
    drop();
  }
  if (const auto part = last(); with_shape && part) {
    // A lone 0 is no shape: it numbers an output, as in "Relu:0".
    const bool numbers = !part->empty() && *part != "0" && part->find_first_not_of("0123456789x-") == std::string::npos;
    if (*part == "auto") {
      drop();
    } else if (part->starts_with('[') || numbers) {
      choice.shape = parse_open_shape(option, text).second;
      drop();
    }
  }
  if (text.empty())
    throw Error(ErrorCode::MissingArgument, fmt::format("{}: a name is missing", option), "NAME:SHAPE:DTYPE");
  choice.name = text;
  return choice;
}

int finish(Console& console, const SurgeonResult& result) {
  print_result(console, result_to_text(result));
  return 0;
}

struct ExtractLine {
  Files files;
  std::vector<std::string> inputs, outputs, input_shapes;
  std::string with_data;
  bool fix_open_sizes = false;
  Texts texts;
  MessageGroup messages;
};

void add_fallback(CLI::App& app, bool& fix_open_sizes, const char* group) {
  add_flag(app, "--force-fallback-shape-inference", fix_open_sizes,
           "Set dynamic sizes of the inputs to 1, and infer the shapes of other tensors")
      .group(group);
}

struct SanitizeLine {
  Files files;
  bool fold = false, no_fold_shapes = false, cleanup = false, toposort = false, simplify = false;
  bool per_pass = false, fix_open_sizes = false;
  std::string passes, partitioning, size_limit;
  std::vector<std::string> shapes, outputs, excluded, by_type, bounds;
  DataGroup data;
  MessageGroup messages;
};

SanitizeOptions options_of(const SanitizeLine& line) {
  SanitizeOptions options;
  options.fold_constants = line.fold;
  if (!line.passes.empty()) options.passes = static_cast<int>(parse_count("--num-passes", line.passes, 1, 1000));
  if (!line.partitioning.empty()) {
    options.partitioning = parse_choice<Partitioning>("--partitioning", line.partitioning);
  }
  options.fold_shapes = !line.no_fold_shapes;
  if (line.size_limit == "0") {
    options.fold_size_limit = -1;
  } else if (!line.size_limit.empty()) {
    options.fold_size_limit = parse_bytes("--fold-size-threshold", line.size_limit);
  }
  if (!line.fold && !line.simplify &&
      (options.passes > 0 || options.partitioning.has_value() || options.fold_size_limit != 0)) {
    throw Error(ErrorCode::WithoutEffect, "options of constant folding without --fold-constants",
                "add --fold-constants");
  }
  options.cleanup = line.cleanup;
  options.simplify = line.simplify;
  for (const std::string& text : line.shapes) {
    options.input_shapes.insert(parse_open_shape("--override-input-shapes", text));
  }
  options.fix_open_sizes = line.fix_open_sizes;
  options.outputs.names = line.outputs;
  options.outputs.excluded = line.excluded;
  options.outputs.op_types = line.by_type;
  for (const std::string& text : line.bounds) {
    const std::size_t colon = text.rfind(':');
    const std::string name = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::string bound = colon == std::string::npos ? text : text.substr(colon + 1);
    options.size_bounds[name] =
        static_cast<std::int64_t>(parse_count("--set-unbounded-dds-upper-bound", bound, 1, std::uint64_t{1} << 40U));
  }
  options.measure = line.data.values();
  return options;
}

}  // namespace

Command add_surgeon_extract(CLI::App& root) {
  auto line = std::make_shared<ExtractLine>();
  CLI::App& app = surgeon(root, "extract", "Extract the part of a graph between tensors as a model");
  line->files.add(app);
  add_values(app, "--inputs", line->inputs, "NAME:SHAPE:DTYPE",
             "Inputs of the part; auto: as in the model (default: the model's inputs)")
      .group("Part");
  add_values(app, "--outputs", line->outputs, "NAME:DTYPE",
             "Outputs of the part; auto: as in the model (default: the model's outputs)")
      .group("Part");
  add_value(app, "--with-data", line->with_data, "SOURCE",
            "Run the whole model on these samples, in any form of --data, and write the part's inputs and outputs to "
            "STEM_inputs.json and STEM_outputs.json (default: not run)")
      .group("Part");
  add_values(app, "--model-input-shapes,--model-inputs", line->input_shapes, "NAME:[D0,D1]",
             "Shapes of the whole model's inputs, which the part's shapes are inferred from (default: as in the file)")
      .group("Part");
  add_fallback(app, line->fix_open_sizes, "Part");
  add_row(app, table::kCustomOps, "Part", line->texts);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier surgeon extract model.onnx --inputs conv1_out:auto:auto --outputs relu5_out -o "
             "part.onnx\nExit code: 0 done; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            ExtractOptions options;
            line->files.put(options, "extract");
            for (const std::string& text : line->inputs) options.inputs.push_back(parse_tensor("--inputs", text, true));
            for (const std::string& text : line->outputs) {
              options.outputs.push_back(parse_tensor("--outputs", text, false));
            }
            options.fix_open_sizes = line->fix_open_sizes;
            for (const std::string& text : line->input_shapes) {
              options.input_shapes.insert(parse_open_shape("--model-input-shapes", text));
            }
            if (!line->with_data.empty()) options.with_data.emplace().data.location = line->with_data;
            read_value(table::kCustomOps, line->texts, options.custom_operators);
            return finish(console, extract_model(options, console.sinks()));
          },
          ignored};
}

Command add_surgeon_sanitize(CLI::App& root) {
  auto line = std::make_shared<SanitizeLine>();
  CLI::App& app = surgeon(root, "sanitize", "Fold constants, clean up and simplify; both models are run and compared");
  line->files.add(app, /*has_samples=*/true);
  add_flag(app, "--fold-constants", line->fold, "Compute tensors that do not depend on inputs, bit for bit")
      .group("Folding");
  add_value(app, "--num-passes,--num-const-fold-passes", line->passes, "N",
            "Maximum number of folding passes (default: until nothing is left)")
      .group("Folding");
  add_value(app, "--partitioning", line->partitioning, "HOW",
            "basic or recursive: try each node alone if folding everything at once fails (default: no)")
      .group("Folding");
  add_flag(app, "--no-fold-shapes", line->no_fold_shapes, "Leave Shape nodes as they are").group("Folding");
  add_flag(app, "--no-per-pass-shape-inference", line->per_pass,
           "Accepted, without effect: shapes are inferred in each pass")
      .group("Folding");
  add_value(app, "--fold-size-threshold", line->size_limit, "BYTES",
            "Largest value to fold; K, M and G are powers of 1024 (default: 64M; 1M for values 8 times larger than "
            "their inputs)")
      .group("Folding");
  add_flag(app, "--simplify", line->simplify,
           "Also fuse (BatchNormalization into Conv, Add into a bias) and drop nodes without effect; the change in the "
           "outputs is measured and printed")
      .group("Editing");
  add_flag(app, "--cleanup", line->cleanup, "Remove nodes that no output needs").group("Editing");
  add_flag(app, "--toposort", line->toposort, "Sort nodes; vernier does so anyway when it reads a model")
      .group("Editing");
  add_values(app, "--override-input-shapes,--override-inputs", line->shapes, "NAME:[D0,D1]",
             "Fix the shape of inputs (default: as in the file)")
      .group("Editing");
  add_fallback(app, line->fix_open_sizes, "Editing");
  add_values(app, "--outputs", line->outputs, "NAME", "New outputs, wildcards allowed; '*' or mark all: every tensor")
      .group("Editing");
  add_values(app, "--exclude-outputs", line->excluded, "NAME", "Outputs to remove (default: none)").group("Editing");
  add_values(app, "--outputs-by-type", line->by_type, "OPERATOR",
             "New outputs: those of all nodes with these operator types (default: none)")
      .group("Editing");
  add_values(app, "--set-unbounded-dds-upper-bound", line->bounds, "[NAME:]N",
             "Insert a Min that bounds sizes that depend on data (default: none)")
      .group("Editing");
  line->data.add(app, "Samples to compare the original and the result on");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier surgeon sanitize model.onnx --fold-constants -o folded.onnx\nExit code: 0 done; 2 "
             "usage; 3 input; 4 backend; 70 internal error; 130 interrupted");
  return {&app, &line->messages,
          [line](Console& console) {
            SanitizeOptions options = options_of(*line);
            line->files.put(options, "sanitize");
            return finish(console, sanitize_model(options, console.sinks()));
          },
          ignored};
}

namespace {

struct InsertLine {
  Files files;
  std::vector<std::string> inputs, outputs, attributes;
  std::string op_type, name;
  MessageGroup messages;
};

struct WeightLine {
  Files files;
  std::string exclude_list;
  MessageGroup messages;
};

using WeightJob = SurgeonResult (*)(const WeightEditOptions&);

Command add_weight_command(CLI::App& root, const std::string& name, const std::string& description, WeightJob job,
                           bool excludes) {
  auto line = std::make_shared<WeightLine>();
  CLI::App& app = surgeon(root, name, description);
  line->files.add(app);
  if (excludes) {
    add_value(app, "--exclude-list", line->exclude_list, "FILE",
              "File with initializers that keep their values, one name per line (default: none)")
        .group("Weights");
  }
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      fmt::format(
          "Example: vernier surgeon {} model.onnx -o out.onnx\nExit code: 0 done; 2 usage; 3 input; 70 internal error",
          name));
  return {&app, &line->messages,
          [line, job, name](Console& console) {
            WeightEditOptions options;
            line->files.put(options, name.c_str());
            if (!line->exclude_list.empty()) {
              std::ifstream file = open_input(line->exclude_list);
              for (std::string text; std::getline(file, text);) {
                if (!text.empty()) options.excluded.push_back(text);
              }
            }
            return finish(console, job(options));
          },
          ignored};
}

}  // namespace

Command add_surgeon_insert(CLI::App& root) {
  auto line = std::make_shared<InsertLine>();
  CLI::App& app = surgeon(root, "insert", "Insert a node between tensors");
  line->files.add(app);
  add_values(app, "--inputs", line->inputs, "NAME", "Inputs of the node, in order (required)").group("Node");
  add_values(app, "--outputs", line->outputs, "NAME",
             "Outputs of the node; nodes that read a tensor of this name then read the new one (required)")
      .group("Node");
  add_value(app, "--op", line->op_type, "OPERATOR", "Operator of the node (required)").group("Node");
  add_value(app, "--name", line->name, "NAME", "Name of the node (default: vernier_inserted_OPERATOR)").group("Node");
  add_values(app, "--attrs", line->attributes, "KEY=VALUE",
             "Attributes of the node: a number, a text, or [1,2] (default: none)")
      .group("Node");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier surgeon insert model.onnx --op Relu --inputs x --outputs conv1_in -o out.onnx\nExit "
             "code: 0 done; 2 usage; 3 input; 70 internal error");
  return {&app, &line->messages,
          [line](Console& console) {
            InsertOptions options;
            line->files.put(options, "insert");
            if (line->op_type.empty() || line->inputs.empty() || line->outputs.empty()) {
              throw Error(ErrorCode::MissingArgument, "vernier surgeon insert: --op, --inputs and --outputs are needed",
                          "--op Relu --inputs x --outputs y");
            }
            options.inputs = line->inputs;
            options.outputs = line->outputs;
            options.op_type = line->op_type;
            options.name = line->name;
            for (const std::string& text : line->attributes) {
              const std::size_t equals = text.find('=');
              if (equals == std::string::npos || equals == 0) {
                throw Error(ErrorCode::BadValue, fmt::format("--attrs: '{}' is not KEY=VALUE", printable(text)));
              }
              options.attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            }
            return finish(console, insert_node(options, console.sinks()));
          },
          ignored};
}

Command add_surgeon_prune(CLI::App& root) {
  return add_weight_command(root, "prune", "Prune weights to 2:4 sparsity", prune_weights, false);
}
Command add_surgeon_weight_strip(CLI::App& root) {
  return add_weight_command(root, "weight-strip", "Write the model without the values of its weights", strip_weights,
                            true);
}
Command add_surgeon_weight_reconstruct(CLI::App& root) {
  return add_weight_command(root, "weight-reconstruct", "Fill stripped weights with made-up values",
                            reconstruct_weights, false);
}

}  // namespace vernier::cli
