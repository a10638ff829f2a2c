#include "jobs/scripting/model_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/output_files.h"
#include "json/json.h"
#include "model/prepare.h"
#include "scripts/programs.h"
#include "scripts/script_process.h"
#include "scripts/script_reply.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/marks.h"

namespace vernier {
namespace {

class Conversation {
 public:
  Conversation(const ScriptLocation& script, const std::set<Format>& formats, const SourceOptions& how)
      : file_name_(script.file.substr(script.file.rfind('/') + 1)), formats_(formats), process_(script, how) {
    process_.program = load_model_program();
    process_.kind = "model scripts";
    process_.announces = "models";
    process_.inherited = {reply_.reading_end()};
    process_.said = [this](const Json& said) { take(said); };
  }

  ScriptedModel run(const Warn& warn) {
    process_.run(scratch_);
    ScriptedModel model;
    model.path = path_of(answer_.at("model"));
    if (const Json& set = answer_.at("set"); !set.empty()) {
      model.settings = settings_of(set, networks_.at(json_text(answer_.at("model"))), warn);
    }
    model.keep = std::move(folder_);
    return model;
  }

 private:
  void take(const Json& said) {
    if (said.contains("end")) answer_ = said;
    if (!said.contains("describe")) return;
    const Json& source = said.at("describe");
    Json told;
    try {
      PrepareOptions options;
      options.formats = formats_;
      const Prepared prepared = prepare(read_model(path_of(source)), options, evaluator(Runtime::load()));
      told = network_json(prepared.model, find_layers(prepared.model), {});
      networks_[json_text(source)] = told;
    } catch (const Error& error) {
      told = Json::Object{{"error", command_words(error.what())}, {"hint", command_words(error.hint())}};
    }
    reply_.send(scratch_, json_text(told));
  }

  /// Of the file that the program names, or of a new one with the bytes that it wrote.
  std::filesystem::path path_of(const Json& source) {
    if (const Json* const path = source.find("path")) return path->text();
    const Json& place = source.at("bytes");
    const auto first = place.at(0).integer<std::size_t>();
    const auto count = place.at(1).integer<std::size_t>();
    if (!folder_) folder_ = std::make_unique<ScratchFolder>();
    const std::filesystem::path path = *folder_ / (file_name_ + ".onnx");
    const auto file = MappedFile::of(scratch_.descriptor(), process_.where());
    if (first + count > file->bytes().size()) {
      throw Error(ErrorCode::Script,
                  fmt::format("{}: announced a model of {} bytes and gave less", process_.where(), count));
    }
    const auto bytes = file->bytes().subspan(first, count);
    replace_file(path, [&](std::ostream& out) {
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    });
    return path;
  }

  std::string file_name_;
  const std::set<Format>& formats_;
  ScratchFile scratch_;
  ScriptReply reply_;
  ScriptProcess process_;
  std::unique_ptr<ScratchFolder> folder_;
  std::map<std::string, Json> networks_;  // by where their models are
  Json answer_;
};

}  // namespace

bool is_model_script(const OnnxModel& model) {
  return !model.in_memory() && script_location(model.file().string(), "").has_value();
}

ScriptedModel run_model_script(const std::filesystem::path& model, const std::set<Format>& formats,
                               const SourceOptions& how, const JobSinks& sinks, const Warn& warn) {
  SourceOptions running = how;
  running.interrupted = sinks.interrupted;
  return Conversation(script_location(model.string(), "").value(), formats, running).run(warn);
}

void keep_model_script(const std::filesystem::path& output, const std::filesystem::path& model) {
  if (const auto script = script_location(model.string(), "")) refuse_to_overwrite(output, {script->file});
}

}  // namespace vernier
