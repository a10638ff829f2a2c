// Texts become values: nlohmann reads, and tells what it finds piece by piece.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "json/json.h"
#include "json/json_fault.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// No document has a reason to be nested like that, and everything that walks through one calls itself for each level.
constexpr std::size_t kDeepest = 500;

using Sax = nlohmann::json_sax<nlohmann::json>;

/// What stands behind nlohmann's own number for it, in the words of its readers:
/// "[json.exception.parse_error.101] parse error at line 1, column 2: <what> - <why>; last read: '<token>'" and
/// "[json.exception.out_of_range.406] number overflow parsing '1e400'".
struct Fault {
  std::string place;  // "line 1, column 2", or empty
  std::string why;
};

Fault fault_of(const std::exception& error) {
  std::string why = error.what();
  if (const std::size_t from = why.find("] "); from != std::string::npos) why.erase(0, from + 2);
  std::string place;
  constexpr std::string_view kAt = "parse error at ";
  if (why.starts_with(kAt)) {
    const std::size_t colon = why.find(": ");
    place = why.substr(kAt.size(), colon - kAt.size());
    why.erase(0, colon + 2);
  }
  constexpr std::string_view kTooLarge = "number overflow parsing ";
  if (why.starts_with(kTooLarge)) why = fmt::format("{} is beyond float64", why.substr(kTooLarge.size()));
  if (const std::size_t from = why.find(" - "); from != std::string::npos) why.erase(0, from + 3);
  if (const std::size_t end = why.find("; last read"); end != std::string::npos) why.erase(end);
  return {place, printable(why)};
}

/// Of a key that comes twice the last value stands, in the place of the first. Returns one such key; empty: none.
std::string drop_repeated(Json::Object& members) {
  std::string found;
  std::map<std::string_view, std::size_t> first;
  std::vector<std::size_t> repeated;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto [known, fresh] = first.emplace(members[i].key, i);
    if (fresh) continue;
    found = members[i].key;
    members[known->second].value = std::move(members[i].value);
    repeated.push_back(i);
  }
  for (; !repeated.empty(); repeated.pop_back()) {
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(repeated.back()));
  }
  return found;
}

class Builder final : public Sax {
 public:
  explicit Builder(bool unique_keys = false) : unique_keys_(unique_keys) {}
  Json take() { return std::move(root_); }
  const std::string& fault() const { return fault_; }
  const std::string& repeated() const { return repeated_; }

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override {
    const std::string repeated = drop_repeated(open_.back()->members());
    if (unique_keys_ && !repeated.empty()) {
      repeated_ = repeated;
      return false;
    }
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    const Fault fault = fault_of(error);
    fault_ = fault.place.empty() ? fault.why : fmt::format("{}: {}", fault.place, fault.why);
    return false;
  }

 private:
  bool put(Json value) {
    add(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kDeepest) {
      fault_ = fmt::format("it is nested deeper than {} levels", kDeepest);
      return false;
    }
    open_.push_back(&add(std::move(value)));
    return true;
  }
  Json& add(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    // What is open is the last item of what it is in: it does not move before it is closed.
    Json& last = *open_.back();
    return last.is_array() ? last.add(std::move(value)) : last.add(std::move(key_), std::move(value));
  }

  bool unique_keys_;
  std::string repeated_;  // the key that ended the reading
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string fault_;
};

// Accepts everything, keeps the first error.
class FaultFinder final : public Sax {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}
  std::optional<JsonFault> fault() const { return fault_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }

  // `position` counts what was read, the byte that was one too many included.
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::size_t at = position == 0 ? 0 : position - 1;
    if (at >= text_.size()) {
      fault_ = {text_.size(), "it ends in the middle"};
      return false;
    }
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      const std::size_t start = text_.rfind(word, at);
      if (start != std::string_view::npos && start + word.size() > at) return false;
    }
    fault_ = {at, fault_of(error).why};
    return false;
  }

 private:
  std::string_view text_;
  std::optional<JsonFault> fault_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where, bool unique_keys) {
  Builder builder(unique_keys);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    if (!builder.repeated().empty()) {
      refuse(ErrorCode::JsonFile, where,
             fmt::format("the key '{}' comes twice in one object", printable(builder.repeated())));
    }
    refuse(ErrorCode::JsonFile, where, fmt::format("is not JSON: {}", builder.fault()));
  }
  return builder.take();
}

std::optional<Json> try_parse_json(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

std::optional<JsonFault> find_json_fault(std::string_view text) {
  FaultFinder finder(text);
  nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  return finder.fault();
}

}  // namespace vernier
