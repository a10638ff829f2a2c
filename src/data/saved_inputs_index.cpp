#include "data/saved_inputs_index.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// A list, a sample, an array's object, and one more object around it for the peer's LazyArray.
constexpr std::size_t kDeepest = 4;
constexpr std::string_view kLegacyMarker = "__polygraphy_encoded_";

// Walks over the bytes and tells how far the JSON reader has come: its own callbacks carry no positions.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

class Indexer final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Indexer(const char* begin, const char* const& reached, const std::string& where)
      : begin_(begin), reached_(reached), where_(where) {}

  std::vector<std::map<std::string, SavedArray>> take() { return std::move(samples_); }

  bool null() override { return other_value("null"); }
  bool boolean(bool) override {
    // The peer's older files mark the class with a key, whose value says nothing.
    if (key_.starts_with(kLegacyMarker)) return check_class(key_.substr(kLegacyMarker.size()));
    return other_value("a truth value");
  }
  bool number_integer(number_integer_t) override { return other_value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return other_value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other_value("a number"); }
  bool binary(binary_t&) override { return other_value("binary data"); }

  bool string(string_t& value) override {
    if (key_ == "polygraphy_class") return check_class(value);
    if (key_.starts_with(kLegacyMarker)) return check_class(key_.substr(kLegacyMarker.size()));
    if (key_ != "array" || depth() <= sample_depth_ || !sample_depth_) return other_value("a text");
    // Just behind the closing quote. Base64 holds no quote, so the opening one is the nearest before it.
    const char* first = reached_ - 1;
    while (first > begin_ && first[-1] != '"') --first;
    --first;
    const SavedArray array{static_cast<std::size_t>(first - begin_), static_cast<std::size_t>(reached_ - begin_)};
    if (!samples_.back().emplace(input_, array).second) {
      fail(fmt::format("sample {} has two arrays for input '{}'", samples_.size() - 1, printable(input_)));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    enter();
    if (!sample_depth_ || depth() == *sample_depth_) {
      sample_depth_ = depth();
      samples_.emplace_back();
    }
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    if (depth() == sample_depth_) input_ = value;
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    enter();
    if (depth() != 1) fail("holds a list where saved inputs have an array");
    return true;
  }
  bool end_array() override { return leave(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("is not valid JSON, at byte {}", position));
  }

 private:
  [[noreturn]] void fail(const std::string& why, std::string hint = {}) const {
    throw Error(ErrorKind::Input, fmt::format("{}: {}", where_, why), std::move(hint));
  }

  std::size_t depth() const { return depth_; }
  void enter() {
    if (++depth_ > kDeepest) fail("is nested deeper than saved inputs are");
    key_.clear();
  }
  bool leave() {
    --depth_;
    key_.clear();
    return true;
  }

  bool check_class(std::string_view name) const {
    if (name == "Tensor") {
      fail(fmt::format("input '{}' is a saved PyTorch tensor, which only PyTorch can read", printable(input_)),
           "save it as a numpy array: tensor.numpy()");
    }
    const bool is_array = name == "ndarray" || name == "LazyArray" || name == "LazyNumpyArray";
    if (depth() == sample_depth_ || !is_array) {
      fail(fmt::format("holds saved '{}', not inputs", printable(name)),
           "inputs are what --save-inputs writes; --save-outputs writes results");
    }
    return true;
  }

  bool other_value(std::string_view what) const {
    if (!sample_depth_) fail(fmt::format("holds {} where saved inputs have samples", what));
    fail(fmt::format("sample {}, input '{}': {} where saved inputs have an array", samples_.size() - 1,
                     printable(input_), what));
  }

  const char* begin_;
  const char* const& reached_;
  const std::string& where_;
  std::size_t depth_ = 0;
  std::optional<std::size_t> sample_depth_;  // 1 for a bare sample, 2 in a list; unknown before the first
  std::string input_;
  std::string key_;
  std::vector<std::map<std::string, SavedArray>> samples_;
};

}  // namespace

std::vector<std::map<std::string, SavedArray>> index_saved_inputs(std::span<const std::byte> file,
                                                                  const std::string& where) {
  const auto* begin = reinterpret_cast<const char*>(file.data());
  const char* reached = begin;
  Indexer indexer(begin, reached, where);
  nlohmann::json::sax_parse(CountingIterator(begin, &reached), CountingIterator(begin + file.size(), &reached),
                            &indexer);
  return indexer.take();
}

}  // namespace vernier
