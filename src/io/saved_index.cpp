#include "io/saved_index.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/base64.h"
#include "base/text.h"
#include "io/npy.h"
#include "json/json.h"
#include "json/json_fault.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kClass = "polygraphy_class";
constexpr std::string_view kLegacyMarker = "__polygraphy_encoded_";
// What is skipped: keys that newer versions may add. The walk is recursive, hence a limit.
constexpr std::size_t kDeepest = 32;

bool is_array_class(std::string_view name) {
  return name == "ndarray" || name == "LazyArray" || name == "LazyNumpyArray";
}

class Indexer {
 public:
  Indexer(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  SavedFile index() {
    if (text_.size() > simdjson::SIMDJSON_MAXSIZE_BYTES) {
      fail(fmt::format("holds {:.1f} GB, and one JSON file is read up to 4.3 GB",
                       static_cast<double>(text_.size()) / 1e9),
           "save to a name without extension: that makes a folder with one file an iteration, of any size");
    }
    try {
      static_assert(MappedFile::kPadding >= simdjson::SIMDJSON_PADDING);
      document_ = parser_.iterate(
          simdjson::padded_string_view(text_.data(), text_.size(), text_.size() + MappedFile::kPadding));
      opened_ = true;
      walk_document();
    } catch (const simdjson::simdjson_error& error) {
      if (error.error() == simdjson::MEMALLOC) {
        fail(fmt::format("there is no memory to look through its {} bytes", text_.size()),
             "save to a name without extension: that makes a folder with one file an iteration");
      }
      invalid(reached(), simdjson::error_message(error.error()));
    }
    return std::move(file_);
  }

 private:
  void walk_document() {
    const ondemand::json_type type = document_.type();
    if (type == ondemand::json_type::array) {
      file_.runs.emplace_back();
      for (ondemand::value sample : document_.get_array()) read_sample(sample);
    } else if (type == ondemand::json_type::object) {
      const std::string name = class_of_document();
      document_.rewind();
      if (name == "RunResults") {
        file_.kind = SavedFile::Kind::Results;
        for (ondemand::field field : document_.get_object()) read_root_field(field);
        if (!have_list_) fail("has no list of runs ('lst')");
      } else if (!name.empty()) {
        other_class(name);
      } else {
        file_.runs.emplace_back();
        start_iteration();
        for (ondemand::field field : document_.get_object()) read_named_array(field);
      }
    } else {
      fail("holds a single value, neither saved inputs nor saved results");
    }
    if (const auto rest = reached()) invalid(rest, "something follows its end");
  }

  // The class stands last in the file, yet decides how the rest is read. Going over the brackets twice is cheap.
  std::string class_of_document() {
    for (ondemand::field field : document_.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (auto name = class_in(key, field.value())) return *name;
    }
    return {};
  }

  // --- results ---

  void read_root_field(ondemand::field& field) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (class_in(key, value)) return;
    if (key != "lst") return skip(value, 0);
    if (have_list_) fail("has two lists of runs ('lst')");
    have_list_ = true;
    need(value, '[', "a list of runs");
    for (ondemand::value run : value.get_array()) read_run(run);
  }

  void read_run(ondemand::value run) {
    SavedRun& made = file_.runs.emplace_back();
    need(run, '[', "a pair of a runner's name and its iterations");
    std::size_t part = 0;
    for (ondemand::value value : run.get_array()) {
      if (part == 0) {
        need(value, '"', "a runner's name");
        made.name = std::string_view(value.get_string());
      } else if (part == 1) {
        need(value, '[', "a list of iterations");
        for (ondemand::value iteration : value.get_array()) read_iteration(iteration);
      } else {
        fail(fmt::format("{}: holds more than a runner's name and its iterations", place()));
      }
      ++part;
    }
    if (part < 2) fail(fmt::format("{}: lacks a runner's name or its iterations", place()));
  }

  void read_iteration(ondemand::value value) {
    SavedIteration& made = start_iteration();
    need(value, '{', "an iteration");
    bool have_outputs = false;
    bool have_runtime = false;
    for (ondemand::field field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value part = field.value();
      if (const auto name = class_in(key, part)) {
        if (*name != "IterationResult") other_class(*name);
      } else if (key == "outputs") {
        if (have_outputs) fail(fmt::format("{}: has two sets of outputs", place()));
        have_outputs = true;
        need(part, '{', "a set of outputs");
        for (ondemand::field output : part.get_object()) read_named_array(output);
      } else if (key == "runtime") {
        if (have_runtime) fail(fmt::format("{}: has two run times", place()));
        have_runtime = true;
        made.seconds = read_seconds(part);
      } else {
        skip(part, 0);  // the runner's name again, and what newer versions may add
      }
    }
    if (!have_outputs) fail(fmt::format("{}: has no outputs", place()));
  }

  std::optional<double> read_seconds(ondemand::value& value) {
    const std::string_view token = token_of(value);
    if (token == "null") return std::nullopt;
    if (token == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (token == "Infinity") return std::numeric_limits<double>::infinity();
    if (token == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (token[0] != '-' && (token[0] < '0' || token[0] > '9')) unexpected(value, "a run time");
    return double(value.get_double());
  }

  // --- inputs ---

  void read_sample(ondemand::value& value) {
    start_iteration();
    need(value, '{', "a sample");
    for (ondemand::field field : value.get_object()) read_named_array(field);
  }

  // --- what both share ---

  SavedIteration& start_iteration() {
    seen_.clear();
    name_ = nullptr;
    return file_.runs.back().iterations.emplace_back();
  }

  void read_named_array(ondemand::field& field) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (const auto name = class_in(key, value)) other_class(*name);
    const auto [known, is_new] = numbers_.try_emplace(std::string(key), file_.names.size());
    if (is_new) file_.names.emplace_back(key);
    name_ = &known->first;
    SavedArray found{known->second, 0, 0};
    if (!seen_.insert(found.name).second) {
      fail(fmt::format("{}: there are two arrays of this name", place()));
    }
    read_array(value, found, 0);
    file_.runs.back().iterations.back().arrays.push_back(found);
    name_ = nullptr;
  }

  void read_array(ondemand::value& value, SavedArray& found, std::size_t wrappers) {
    need(value, '{', "an array");
    bool have = false;
    for (ondemand::field field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value part = field.value();
      if (const auto name = class_in(key, part)) {
        if (!is_array_class(*name)) other_class(*name);
      } else if (key == "array" || key == "values") {
        if (have) fail(fmt::format("{}: holds two arrays", place()));
        have = true;
        if (key == "values") {
          if (wrappers > 0) fail(fmt::format("{}: an array is nested deeper than arrays are", place()));
          read_array(part, found, wrappers + 1);
        } else {
          need(part, '"', "the text of an array");
          const std::string_view token = token_of(part);
          found.first = offset_of(token) + 1;
          found.end = found.first + token.size() - 2;
          part.get_raw_json_string().value();
        }
      } else {
        skip(part, 1);
      }
    }
    if (!have) fail(fmt::format("{}: holds no array", place()));
  }

  // The class when `key` marks one; consumes its value.
  std::optional<std::string> class_in(std::string_view key, ondemand::value value) {
    if (key.starts_with(kLegacyMarker)) {
      const std::string name(key.substr(kLegacyMarker.size()));
      skip(value, 0);
      return name;
    }
    // An input may well be called so.
    if (key != kClass || token_of(value)[0] != '"') return std::nullopt;
    return std::string(std::string_view(value.get_string()));
  }

  // Visits a value that means nothing here, so that it is valid JSON at least.
  void skip(ondemand::value& value, std::size_t depth) {
    if (depth > kDeepest) fail(fmt::format("{}: is nested deeper than saved data is", place()));
    switch (const std::string_view token = token_of(value); token[0]) {
      case '{':
        for (ondemand::field field : value.get_object()) {
          field.unescaped_key().value();
          skip(field.value(), depth + 1);
        }
        return;
      case '[':
        for (ondemand::value item : value.get_array()) skip(item, depth + 1);
        return;
      case '"':
        value.get_string().value();
        return;
      case '-':
        if (token == "-Infinity") return;
        value.get_double().value();
        return;
      default:
        if (token[0] >= '0' && token[0] <= '9') {
          value.get_double().value();
        } else if (token != "true" && token != "false" && token != "null" && token != "NaN" && token != "Infinity") {
          invalid(offset_of(token), "this is not a value");
        }
    }
  }
  void skip(ondemand::value&& value, std::size_t depth) { skip(value, depth); }

  // The text of a value up to the next bracket, comma or colon; for a bracket, it alone. Does not consume it.
  static std::string_view token_of(ondemand::value& value) {
    std::string_view token = value.raw_json_token();
    return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  }

  void need(ondemand::value& value, char start, std::string_view what) {
    const std::string_view token = token_of(value);
    if (token[0] != start) unexpected(value, what);
    // A text ends with its quote by construction; this keeps arithmetic on its length safe come what may.
    if (start == '"' && (token.size() < 2 || token.back() != '"')) invalid(offset_of(token), "a text has no end");
  }

  [[noreturn]] void unexpected(ondemand::value& value, std::string_view wanted) {
    const std::string_view token = token_of(value);
    std::string_view found;
    switch (token[0]) {
      case '{':
        found = "an object";
        break;
      case '[':
        found = "a list";
        break;
      case '"':
        found = "a text";
        break;
      case 't':
      case 'f':
        found = "a truth value";
        break;
      case 'n':
        found = "null";
        break;
      case '}':
      case ']':
      case ',':
      case ':':
        invalid(offset_of(token), "a value is missing");
      default:
        found = "a number";
    }
    const std::string at = place();
    fail(fmt::format("{}{}{} where {} belongs", at, at.empty() ? "holds " : ": ", found, wanted));
  }

  [[noreturn]] void other_class(const std::string& name) {
    if (name == "Tensor") {
      fail(fmt::format("{}: is a saved PyTorch tensor, which only PyTorch can read", place()),
           "save it as a numpy array: tensor.numpy()");
    }
    const bool results = file_.kind == SavedFile::Kind::Results;
    const std::string at = place();
    fail(fmt::format("{}{}a saved '{}', not {}", at, at.empty() ? "holds " : ": ", printable(name),
                     results ? "results" : "inputs"),
         "‹vernier run --save-inputs› writes inputs, ‹vernier run --save-outputs› results");
  }

  // "run 'a', iteration 3, output 'y'", as far as it is known.
  std::string place() const {
    if (file_.runs.empty()) return {};
    const SavedRun& run = file_.runs.back();
    const bool results = file_.kind == SavedFile::Kind::Results;
    std::string text;
    if (results)
      text = run.name.empty() ? fmt::format("run {}", file_.runs.size() - 1)
                              : fmt::format("run '{}'", printable(run.name));
    if (run.iterations.empty()) return text;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", results ? "iteration" : "sample", run.iterations.size() - 1);
    if (name_ != nullptr) text += fmt::format(", {} '{}'", results ? "output" : "input", printable(*name_));
    return text;
  }

  [[noreturn]] void fail(const std::string& why, std::string hint = {}) const {
    throw Error(ErrorCode::SampleFile, fmt::format("{}: {}", where_, why), std::move(hint));
  }

  /// `at` and `why` as this parser knows them: it finds some faults before it has a position. A strict parser then says
  /// it better; it takes ten times as long, but only here.
  [[noreturn]] void invalid(std::optional<std::size_t> at, const std::string& why) const {
    const JsonFault fault = find_json_fault(text_).value_or(JsonFault{at.value_or(0), why});
    const char* cause =
        "its start is JSON: the rest was cut off and continued, edited, or written by two programs at once";
    if (fault.at == 0) cause = "saved inputs and results are JSON, a .npz or a .npy";
    if (fault.at >= text_.size()) cause = "the file is cut short: still being written, or the disk was full";
    fail(fmt::format("is not valid JSON, at byte {} of {}: {}", fault.at, text_.size(), fault.why), cause);
  }

  // Where the parser stands; nullopt at the end, and before it began.
  std::optional<std::size_t> reached() {
    const char* at = nullptr;
    if (!opened_ || document_.current_location().get(at) != simdjson::SUCCESS) return std::nullopt;
    return static_cast<std::size_t>(at - text_.data());
  }

  std::size_t offset_of(std::string_view token) const { return static_cast<std::size_t>(token.data() - text_.data()); }

  std::string_view text_;
  const std::string& where_;
  ondemand::parser parser_;
  ondemand::document document_;
  SavedFile file_;
  bool opened_ = false;
  bool have_list_ = false;
  std::unordered_map<std::string, std::size_t> numbers_;  // of names
  std::unordered_set<std::size_t> seen_;                  // names of this iteration
  const std::string* name_ = nullptr;                     // of the array that is being read
};

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

SavedFile index_saved_file(const MappedFile& file, const std::string& where) {
  return Indexer(text_of(file), where).index();
}

SavedFile index_saved_file(const MappedFile& file, const std::string& where, SavedFile::Kind kind) {
  SavedFile found = index_saved_file(file, where);
  if (found.kind == kind) return found;
  if (kind == SavedFile::Kind::Inputs) {
    throw Error(ErrorCode::SampleFile, fmt::format("{}: holds saved results ('RunResults'), not inputs", where),
                "‹vernier data to-input› makes inputs of results");
  }
  throw Error(ErrorCode::SampleFile, fmt::format("{}: holds saved inputs, not results", where),
              "‹vernier run --save-inputs› writes inputs, ‹vernier run --save-outputs› results");
}

}  // namespace vernier
