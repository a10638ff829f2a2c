// Each job of the installed library, called with a model that is not there: all of them are exported, take what their
// headers say, and throw an Error that crosses the library's border.
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "vernier/vernier.h"

namespace {

using namespace vernier;

const OnnxModel kMissing("missing.onnx");

template <class Options>
Options about(OnnxModel Options::*model) {
  Options options;
  options.*model = kMissing;
  return options;
}

const std::map<std::string, std::function<void()>> kJobs{
    {"bench",
     [] {
       BenchOptions options;
       options.runners.emplace_back().model = kMissing;
       bench(options);
     }},
    {"bundle_layer", [] { bundle_layer(about(&BundleOptions::model)); }},
    {"calibrate", [] { calibrate(about(&CalibrateOptions::model)); }},
    {"check_accuracy", [] { check_accuracy({}); }},
    {"check_data", [] { check_data(about(&CheckDataOptions::model)); }},
    {"check_placement", [] { check_placement(about(&CheckPlacementOptions::model)); }},
    {"concat_data",
     [] {
       concat_data({{"missing.json"}, "out.json"});
     }},
    {"quantize",
     [] {
       QuantizeOptions options = about(&QuantizeOptions::model);
       options.precision.low = {Format::Int8};
       quantize(options);
     }},
    {"compare", [] { compare({}); }},
    {"debug_accuracy", [] { debug_accuracy({}); }},
    {"debug_loss", [] { debug_loss(about(&DebugLossOptions::float_model)); }},
    {"debug_reduce", [] { debug_reduce(about(&ReduceOptions::model)); }},
    {"debug_repeat",
     [] {
       RepeatOptions options = about(&RepeatOptions::model);
       debug_repeat(options, {}, {});
     }},
    {"diagnose", [] { diagnose(about(&DiagnoseOptions::model)); }},
    {"diff_tactics",
     [] {
       diff_tactics({"missing", {}, {}});
     }},
    {"draw_model", [] { draw_model(about(&DrawOptions::model)); }},
    {"evaluate", [] { evaluate(about(&EvalOptions::model)); }},
    {"extract_model", [] { extract_model(about(&ExtractOptions::model)); }},
    {"fix",
     [] {
       FixOptions options;
       options.model = kMissing;
       fix(options);
     }},
    {"insert_node", [] { insert_node(about(&InsertOptions::model)); }},
    {"inspect_capability", [] { inspect_capability(about(&CapabilityOptions::model)); }},
    {"inspect_data",
     [] {
       InspectDataOptions options;
       options.path = "missing.json";
       inspect_data(options);
     }},
    {"inspect_engine",
     [] {
       InspectEngineOptions options;
       options.file = "missing.engine";
       inspect_engine(options);
     }},
    {"inspect_formats", [] { inspect_formats(kMissing); }},
    {"inspect_model", [] { inspect_model(about(&InspectOptions::model)); }},
    {"inspect_plan", [] { inspect_plan("missing.json", kMissing); }},
    {"inspect_sparsity", [] { inspect_sparsity(kMissing); }},
    {"inspect_tactics", [] { inspect_tactics("missing.json"); }},
    {"lint", [] { lint(about(&LintOptions::model)); }},
    {"list_unbounded_sizes", [] { list_unbounded_sizes(kMissing); }},
    {"match_plugins", [] { match_plugins(MatchPluginsOptions()); }},
    {"merge_data",
     [] {
       merge_data({{"missing.json"}, "out.json"});
     }},
    {"pipeline", [] { pipeline({}); }},
    {"plan_template", [] { plan_template(about(&QuantizeOptions::model)); }},
    {"prune_weights", [] { prune_weights(about(&WeightEditOptions::model)); }},
    {"reconstruct_weights", [] { reconstruct_weights(about(&WeightEditOptions::model)); }},
    {"run",
     [] {
       RunOptions options;
       options.runners.emplace_back().model = kMissing;
       run(options);
     }},
    {"replace_by_plugins", [] { replace_by_plugins(ReplaceByPluginsOptions()); }},
    {"sanitize_model", [] { sanitize_model(about(&SanitizeOptions::model)); }},
    {"search_precision", [] { search_precision(about(&DiagnoseOptions::model)); }},
    {"strip_weights", [] { strip_weights(about(&WeightEditOptions::model)); }},
    {"verify", [] { verify(about(&VerifyOptions::float_model)); }},
};

}  // namespace

int main() {
  int failed = 0;
  for (const auto& [name, job] : kJobs) {
    try {
      job();
      std::cout << name << ": nothing was refused\n";
      ++failed;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Input || error.kind() == ErrorKind::Usage || error.kind() == ErrorKind::Backend)
        continue;
      std::cout << name << ": " << error.what() << '\n';
      ++failed;
    }
  }
  std::cout << kJobs.size() << " jobs refused a missing model\n";
  return failed;
}
