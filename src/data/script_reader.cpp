// A data loader script: file.py[:function], run once in the user's Python when the source is opened. What it yields
// goes to a scratch file, one sample at a time, so that memory grows with samples on neither side and samples can be
// read again in any order.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/process.h"
#include "core/text.h"
#include "data/array_reader.h"
#include "data/fit.h"
#include "data/loader_program.h"
#include "data/mapped_file.h"
#include "data/npy.h"
#include "data/scratch_file.h"
#include "data/script_location.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Json = nlohmann::json;

constexpr const char* kMustYield = "it must yield, for each sample, a dict {input name: numpy array}";

struct KeptArray {
  std::string input;
  Dtype dtype = Dtype::Undefined;
  Shape shape;
  std::uint64_t offset = 0;
  std::size_t byte_size() const {
    return static_cast<std::size_t>(element_count(shape)) * static_cast<std::size_t>(dtype_bits(dtype) / 8);
  }
};

using KeptSample = std::vector<KeptArray>;

// What the loader program says, line by line; loader_program.h has its language. A sample that does not fit is refused
// as soon as it is announced: the script may have hours to go.
class Announcements {
 public:
  Announcements(const OpenRequest& request, std::string file, std::string where)
      : request_(request), file_(std::move(file)), where_(std::move(where)) {}

  void take(std::string_view text) {
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
      line_ += text.substr(0, end);
      read_line();
      line_.clear();
    }
    line_ += text;
  }

  bool ended() const { return ended_; }
  const std::optional<Error>& failure() const { return failure_; }
  std::vector<KeptSample>& samples() { return samples_; }

 private:
  void read_line() {
    try {
      const Json said = Json::parse(line_);
      if (said.contains("sample")) add(said["sample"]);
      // Thrown when the script has ended, so that it can close what it has open.
      if (said.contains("error") && !failure_) failure_ = failure_of(said);
      if (said.contains("end")) ended_ = true;
    } catch (const Json::exception&) {
      throw Error(ErrorKind::Input,
                  fmt::format("{}: something else wrote where samples are announced: {}", where_,
                              printable(line_.substr(0, 80))),
                  fmt::format("{} must be Python 3", printable(request_.options.python)));
    }
  }

  std::string here() const { return fmt::format("{}: sample {}", where_, samples_.size()); }

  void add(const Json& arrays) {
    KeptSample sample;
    std::vector<std::string> names;
    for (const Json& array : arrays) names.push_back(array.at(0).get<std::string>());
    check_names(request_.inputs, request_.options.carried, names, here());
    for (const Json& array : arrays) {
      KeptArray kept{array.at(0), Dtype::BFloat16, array.at(2), array.at(3)};
      const auto input = std::find_if(request_.inputs.begin(), request_.inputs.end(),
                                      [&](const InputInfo& info) { return info.name == kept.input; });
      if (array.at(1) != "bfloat16") {
        kept.dtype =
            npy_dtype(array.at(1).get<std::string>(), fmt::format("{}, input '{}'", here(), printable(kept.input)));
      }
      check_shape(*input, kept.shape, samples_.size(), where_);
      check_type(*input, kept.dtype, here());
      sample.push_back(std::move(kept));
    }
    samples_.push_back(std::move(sample));
  }

  Error failure_of(const Json& said) const {
    const std::string at = said.at("at");
    std::string hint = said.at("hint");
    if (const auto names = said.at("names").get<std::vector<std::string>>(); !names.empty()) {
      const std::vector<std::string> near = nearest_names(where_.substr(where_.rfind(':') + 1), names);
      hint = near.empty() ? fmt::format("it has {}", list_some(names)) : fmt::format("nearest: {}", list_some(near));
    } else if (hint.empty() && at == "script") {
      hint = "file.py:function names the function; load_data is the default";
    }
    return Error(ErrorKind::Input,
                 fmt::format("{}: {}", at == "script" ? file_ : (at == "sample" ? here() : where_),
                             printable(said.at("error").get<std::string>())),
                 printable(hint));
  }

  const OpenRequest& request_;
  std::string file_, where_;
  std::string line_;
  std::vector<KeptSample> samples_;
  bool ended_ = false;
  std::optional<Error> failure_;
};

class ScriptReader final : public ArrayReader {
 public:
  ScriptReader(std::vector<KeptSample> samples, std::shared_ptr<const MappedFile> file, std::string where)
      : samples_(std::move(samples)), file_(std::move(file)), where_(std::move(where)) {}

  std::size_t size() const override { return samples_.size(); }

  FoundSample read(std::size_t index) const override {
    FoundSample found{{}, where_};
    for (const KeptArray& kept : samples_[index]) {
      Tensor tensor(kept.dtype, kept.shape);
      if (tensor.byte_size() > 0) {
        // Copied and given back: resident pages of the file would make memory grow with the samples read.
        const auto bytes = file_->bytes().subspan(kept.offset, tensor.byte_size());
        std::copy(bytes.begin(), bytes.end(), tensor.mutable_bytes().begin());
        file_->forget(bytes);
      }
      found.arrays.emplace(kept.input, std::move(tensor));
    }
    return found;
  }

 private:
  std::vector<KeptSample> samples_;
  std::shared_ptr<const MappedFile> file_;  // null when every array is empty
  std::string where_;
};

// A pipe that ends when this process does, however it does.
class Lifeline {
 public:
  Lifeline() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorKind::Backend, fmt::format("no pipe can be made: {}", std::strerror(errno)));
    }
  }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;
  ~Lifeline() {
    for (const int fd : ends_) ::close(fd);
  }
  int held_by_the_other() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

ProcessEnd run_loader(const SourceOptions& options, const ScriptLocation& script, const ScratchFile& scratch,
                      Announcements& announcements) {
  const Lifeline lifeline;
  ProcessOptions process;
  process.output = [&](std::string_view text) { announcements.take(text); };
  process.inherited = {scratch.descriptor(), lifeline.held_by_the_other()};
  process.timeout_seconds = options.script_seconds;
  process.interrupted = options.interrupted;
  try {
    return run_process(
        {options.python, "-c", kLoaderStart, script.file, script.function, std::to_string(options.limit)}, process);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    throw Error(ErrorKind::Backend, error.what(), "data loader scripts need Python 3: --python PROGRAM names it");
  }
}

void check_end(const ProcessEnd& end, const Announcements& announcements, const std::string& where,
               const SourceOptions& options, std::size_t samples) {
  if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
  if (announcements.failure()) throw *announcements.failure();
  // What happens behind the last sample, in an exit handler, harms nobody.
  if (announcements.ended()) return;
  const std::string count = plural(samples, "sample");
  if (end.timed_out) {
    throw Error(ErrorKind::Input,
                fmt::format("{}: was still running after {} s and {}", where, options.script_seconds, count),
                "--timeout SECONDS says how long it may take");
  }
  std::string hint;
  if (end.signal == 9) hint = "the system kills what takes too much memory";
  if (end.signal == 0)
    hint = fmt::format("the script, or {} if it is no Python 3, ended itself", printable(options.python));
  throw Error(ErrorKind::Input, fmt::format("{}: {} after {}", where, end_text(end), count), hint);
}

}  // namespace

std::unique_ptr<ArrayReader> open_script(const OpenRequest& request) {
  const ScriptLocation script = script_location(request.options.location).value();
  const std::string file = printable(script.file);
  const std::string where = fmt::format("{}:{}", file, printable(script.function));
  const ScratchFile scratch;
  scratch.write(kLoaderProgram);
  Announcements announcements(request, file, where);
  const ProcessEnd end = run_loader(request.options, script, scratch, announcements);
  std::vector<KeptSample>& samples = announcements.samples();
  check_end(end, announcements, where, request.options, samples.size());
  if (samples.empty()) throw Error(ErrorKind::Input, fmt::format("{}: yields no samples", where), kMustYield);

  std::uint64_t size = 0;
  for (const KeptSample& sample : samples) {
    for (const KeptArray& kept : sample) size = std::max(size, kept.offset + kept.byte_size());
  }
  std::shared_ptr<const MappedFile> mapped;
  if (size > 0) mapped = MappedFile::of(scratch.descriptor(), where);
  if (size > 0 && mapped->bytes().size() < size) {
    throw Error(ErrorKind::Input,
                fmt::format("{}: announced {} bytes of samples and gave {}", where, size, mapped->bytes().size()));
  }
  return std::make_unique<ScriptReader>(std::move(samples), std::move(mapped), where);
}

}  // namespace vernier
