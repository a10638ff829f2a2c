#include "json/json_fault.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace vernier {
namespace {

// Accepts everything, keeps the first error.
class FaultFinder final : public nlohmann::json_sax<nlohmann::json> {
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
    // "[json.exception.parse_error.101] parse error at line 1, column 2: <what> - <why>; last read: '<token>'"
    std::string why = error.what();
    if (const std::size_t from = why.find(" - "); from != std::string::npos) why.erase(0, from + 3);
    if (const std::size_t end = why.find("; last read"); end != std::string::npos) why.erase(end);
    fault_ = {at, printable(why)};
    return false;
  }

 private:
  std::string_view text_;
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text) {
  FaultFinder finder(text);
  nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  return finder.fault();
}

}  // namespace vernier
