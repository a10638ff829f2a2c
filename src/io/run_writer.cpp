#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "io/iteration_folder.h"
#include "io/npz_writer.h"
#include "io/spool.h"
#include "json/json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

constexpr const char* kFileStart = "{\n    \"lst\": ";
constexpr const char* kFileEnd = ",\n    \"polygraphy_class\": \"RunResults\"\n}";

std::string run_start(bool first, const std::string& name) {
  return fmt::format("{}\n        [\n            {},\n            ", first ? "[" : ",",
                     json_quoted(name, /*ascii=*/true));
}
// `count`: iterations of the run.
std::string iteration_start(std::size_t count) {
  return fmt::format("{}\n{:{}}", count == 0 ? "[" : ",", "", kIterationIndent);
}
std::string run_end(std::size_t count) { return fmt::format("{}\n        ]", count == 0 ? "[]" : "\n            ]"); }
std::string list_end(std::size_t runs) { return runs == 0 ? "[]" : "\n    ]"; }

class RunsForm {
 public:
  virtual ~RunsForm() = default;
  virtual void add(std::size_t run, const Iteration& iteration) = 0;
  virtual void finish() = 0;
};

// The first run goes straight to the file; the others wait for its end.
class JsonFile final : public RunsForm {
 public:
  JsonFile(const std::filesystem::path& path, const std::vector<std::string>& runs)
      : runs_(runs), counts_(runs.size()), file_(path) {
    for (std::size_t i = 1; i < runs.size(); ++i) waiting_.emplace_back(folder_of(path), path);
    file_.write(kFileStart);
    if (!runs.empty()) file_.write(run_start(true, runs.front()));
  }

  void add(std::size_t run, const Iteration& iteration) override {
    const TextSink out = run == 0 ? sink() : waiting_.at(run - 1).sink();
    out(iteration_start(counts_[run]));
    put_iteration(out, iteration, runs_[run]);
    ++counts_[run];
  }

  void finish() override {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (run > 0) {
        file_.write(run_start(false, runs_[run]));
        waiting_[run - 1].copy(0, waiting_[run - 1].size(), sink());
        waiting_[run - 1].clear();
      }
      file_.write(run_end(counts_[run]));
    }
    file_.write(list_end(runs_.size()) + kFileEnd);
    file_.commit();
  }

 private:
  TextSink sink() {
    return [this](std::string_view text) { file_.write(text); };
  }

  std::vector<std::string> runs_;
  std::vector<std::size_t> counts_;
  NewFile file_;
  std::vector<Spool> waiting_;
};

// An iteration's file is written when every run has added it.
class Folder final : public RunsForm {
 public:
  Folder(const std::filesystem::path& path, const std::vector<std::string>& runs) : runs_(runs), folder_(path) {
    for (std::size_t i = 0; i < runs.size(); ++i) waiting_.emplace_back(Spool(folder_.temporary(), path));
  }

  void add(std::size_t run, const Iteration& iteration) override {
    Waiting& waiting = waiting_.at(run);
    const std::uint64_t first = waiting.text.size();
    put_iteration(waiting.text.sink(), iteration, runs_[run]);
    waiting.parts.emplace_back(first, waiting.text.size() - first);
    while (std::all_of(waiting_.begin(), waiting_.end(), [](const Waiting& each) { return !each.parts.empty(); })) {
      write_file();
    }
  }

  void finish() override {
    // A run that has fewer iterations is left out of the last files, as the peer does.
    while (std::any_of(waiting_.begin(), waiting_.end(), [](const Waiting& each) { return !each.parts.empty(); })) {
      write_file();
    }
    folder_.commit();
  }

 private:
  struct Waiting {
    explicit Waiting(Spool spool) : text(std::move(spool)) {}
    Spool text;
    std::deque<std::pair<std::uint64_t, std::uint64_t>> parts;  // first byte, size
  };

  // The next iteration of every run that has one.
  void write_file() {
    folder_.add([this](const TextSink& out) {
      out(kFileStart);
      bool first = true;
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        Waiting& waiting = waiting_[run];
        if (waiting.parts.empty()) continue;
        out(run_start(first, runs_[run]) + iteration_start(0));
        first = false;
        waiting.text.copy(waiting.parts.front().first, waiting.parts.front().second, out);
        out(run_end(1));
        waiting.parts.pop_front();
        if (waiting.parts.empty()) waiting.text.clear();
      }
      out(list_end(runs_.size()) + kFileEnd);
    });
  }

  std::vector<std::string> runs_;
  IterationFolder folder_;
  std::vector<Waiting> waiting_;
};

class Npz final : public RunsForm {
 public:
  Npz(const std::filesystem::path& path, const std::vector<std::string>& runs)
      : writer_((check(path, runs), path), NpzWriter::Content::Iterations) {}
  void add(std::size_t, const Iteration& iteration) override { writer_.add(iteration.outputs); }
  void finish() override { writer_.commit(); }

 private:
  static void check(const std::filesystem::path& path, const std::vector<std::string>& runs) {
    if (runs.size() == 1) return;
    throw Error(
        ErrorCode::WithoutEffect,
        fmt::format("{}: a .npz holds the outputs of one run, and there are {}", printable(path.string()), runs.size()),
        "a name that ends in .json, or has no extension, holds any number");
  }
  NpzWriter writer_;
};

std::unique_ptr<RunsForm> form_of(const std::filesystem::path& path, const std::vector<std::string>& runs) {
  if (names_a_folder(path)) return std::make_unique<Folder>(path, runs);
  if (path.extension() == ".npz") return std::make_unique<Npz>(path, runs);
  return std::make_unique<JsonFile>(path, runs);
}

}  // namespace

struct RunWriter::State {
  std::unique_ptr<RunsForm> form;
};

RunWriter::RunWriter(const std::filesystem::path& path, const std::vector<std::string>& runs)
    : state_(new State{form_of(path, runs)}) {}
RunWriter::~RunWriter() = default;
void RunWriter::add(std::size_t run, const Iteration& iteration) { state_->form->add(run, iteration); }
void RunWriter::finish() { state_->form->finish(); }

}  // namespace vernier
