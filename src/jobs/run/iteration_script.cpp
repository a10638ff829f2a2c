#include "jobs/run/iteration_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/text.h"
#include "scripts/programs.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

using Kind = IterationScript::Kind;

const char* option_of(Kind kind) {
  return kind == Kind::Compare ? "‹compare-func-script›" : "‹postprocess-func-script›";
}

ScriptLocation location_of(const std::string& script, Kind kind) {
  const std::string function = kind == Kind::Compare ? "compare_outputs" : "postprocess_outputs";
  if (const auto location = script_location(script, function)) return *location;
  throw Error(ErrorCode::NoPythonFile, fmt::format("{}: '{}' names no Python file", option_of(kind), printable(script)),
              fmt::format("compare.py (its function is {}), or compare.py:function", function));
}

SourceOptions interruptible(SourceOptions how, const JobSinks& sinks) {
  how.interrupted = sinks.interrupted;
  return how;
}

void save(const Iteration& iteration, const std::filesystem::path& path) {
  RunWriter writer(path, {"outputs"});
  writer.add(0, iteration);
  writer.finish();
}

}  // namespace

IterationScript::IterationScript(const std::string& script, Kind kind, const SourceOptions& how, const JobSinks& sinks)
    : session_(location_of(script, kind),
               {iterations_program(), {kind == Kind::Compare ? "compare" : "postprocess"}, option_of(kind), "results"},
               interruptible(how, sinks)) {}

Json IterationScript::call(std::size_t index, Json work) {
  return session_.call(fmt::format("iteration {}", index), std::move(work));
}

Iteration IterationScript::postprocess(std::size_t index, const std::string& run, const Iteration& iteration) {
  const std::filesystem::path given = folder_ / "given.npz";
  const std::filesystem::path changed = folder_ / "changed.npz";
  save(iteration, given);
  const Json::Array runs{Json::Array{run, given.string()}};
  call(index, Json::Object{{"runs", runs}, {"out", changed.string()}});
  Iteration result = open_runs(changed).front()->at(0);
  result.seconds = iteration.seconds;
  return result;
}

void IterationScript::judge(IterationComparison& comparison, const std::string& run, const std::string& reference,
                            const Iteration& got, const Iteration& ref) {
  const std::filesystem::path got_file = folder_ / "got.npz";
  const std::filesystem::path ref_file = folder_ / "ref.npz";
  save(got, got_file);
  save(ref, ref_file);
  const Json::Array runs{Json::Array{run, got_file.string()}, Json::Array{reference, ref_file.string()}};
  const Json said = call(comparison.iteration, Json::Object{{"runs", runs}, {"out", ""}});
  std::vector<OutputComparison> judged;
  for (const Json& verdict : said.at("verdicts").items()) {
    FunctionResult result;
    result.function = CompareFunction::Script;
    result.compared = false;  // no figures that could be held against another threshold
    result.passed = verdict.at(1).boolean();
    result.reason = verdict.at(2).text();
    const std::string name = verdict.at(0).text();
    const auto known = std::find_if(comparison.outputs.begin(), comparison.outputs.end(),
                                    [&](const OutputComparison& output) { return output.output == name; });
    OutputComparison output;
    if (known != comparison.outputs.end()) output = std::move(*known);
    output.output = name;
    if (output.reference.empty()) output.reference = name;
    output.passed = result.passed;
    output.results = {std::move(result)};
    judged.push_back(std::move(output));
  }
  comparison.outputs = std::move(judged);
  comparison.passed =
      !comparison.outputs.empty() && std::all_of(comparison.outputs.begin(), comparison.outputs.end(),
                                                 [](const OutputComparison& output) { return output.passed; });
}

}  // namespace vernier
