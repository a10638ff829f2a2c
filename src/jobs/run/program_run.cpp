#include "jobs/run/program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/process.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

void replace(std::string& text, std::string_view placeholder, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += value.size()) {
    text.replace(at, placeholder.size(), value);
  }
}

}  // namespace

ProgramRun::ProgramRun(std::string name, std::string command, const OnnxModel& model,
                       std::shared_ptr<const SampleSource> samples, double timeout_seconds,
                       std::function<bool()> interrupted)
    : LiveRun(std::move(name), std::move(samples)),
      command_(std::move(command)),
      model_(model),
      timeout_seconds_(timeout_seconds),
      interrupted_(std::move(interrupted)) {
  for (const char* wanted : {"{inputs}", "{outputs}"}) {
    if (command_.find(wanted) != std::string::npos) continue;
    throw Error(ErrorCode::MissingArgument, fmt::format("‹exec›: {} is missing in '{}'", wanted, printable(command_)),
                "‹exec› 'python3 mine.py {model} {inputs} {outputs}'");
  }
}

Iteration ProgramRun::of(std::size_t index, Sample sample) const {
  const ScratchFolder folder;
  const std::filesystem::path inputs = folder / "inputs.npz";
  const std::filesystem::path outputs = folder / "outputs.npz";
  Iteration fed;
  for (const auto& [input, tensor] : sample) fed.outputs.push_back({input, tensor});
  RunWriter writer(inputs, {"inputs"});
  writer.add(0, fed);
  writer.finish();

  std::string command = command_;
  // As arguments of the shell: whatever a path holds, it stays one word.
  replace(command, "{model}", "\"$1\"");
  replace(command, "{inputs}", "\"$2\"");
  replace(command, "{outputs}", "\"$3\"");
  ProcessOptions process;
  process.timeout_seconds = timeout_seconds_;
  process.interrupted = interrupted_;
  const auto start = std::chrono::steady_clock::now();
  const ProcessEnd end = run_process({"/bin/sh", "-c", command, "sh", std::filesystem::absolute(model_.path()).string(),
                                      inputs.string(), outputs.string()},
                                     process);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
  if (!end.succeeded()) {
    throw Error(ErrorCode::ProgramFails, fmt::format("{}, iteration {}: the program {}", name(), index, end_text(end)),
                printable(command_));
  }
  if (!std::filesystem::exists(outputs)) {
    throw Error(ErrorCode::ProgramFails, fmt::format("{}, iteration {}: the program wrote no outputs", name(), index),
                "it must write arrays by output name with numpy.savez to the path in {outputs}");
  }
  Iteration iteration = open_runs(outputs).front()->at(0);
  iteration.seconds = seconds.count();
  return iteration;
}

}  // namespace vernier
