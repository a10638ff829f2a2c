#include "report/text/values_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/elements.h"

namespace vernier {
namespace {

constexpr std::size_t kWidth = 75;

std::vector<std::string> words_of(const Tensor& tensor) {
  std::vector<std::string> words;
  const auto count = static_cast<std::size_t>(tensor.count());
  const auto all = [&]<class T>(std::vector<T> room, const auto& word) {
    for (const T value : read_block(tensor, 0, count, room)) words.push_back(word(value));
  };
  switch (tensor.dtype()) {
    case Dtype::Float64:
      all(std::vector<double>(), [](double value) { return fmt::format("{}", value); });
      break;
    case Dtype::Float32:
      all(std::vector<float>(), [](float value) { return fmt::format("{}", value); });
      break;
    case Dtype::Bool:
      all(std::vector<std::int64_t>(), [](std::int64_t value) { return std::string(value != 0 ? "True" : "False"); });
      break;
    case Dtype::UInt64:
      all(std::vector<std::int64_t>(),
          [](std::int64_t value) { return std::to_string(static_cast<std::uint64_t>(value)); });
      break;
    case Dtype::Float16:
    case Dtype::BFloat16:
    case Dtype::Float8E4M3FN:
    case Dtype::Float8E5M2:
      all(std::vector<float>(), [](float value) { return fmt::format("{:.5g}", value); });
      break;
    default:
      all(std::vector<std::int64_t>(), [](std::int64_t value) { return std::to_string(value); });
  }
  return words;
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : shape_(tensor.shape()), words_(words_of(tensor)) {
    std::size_t width = 0;
    for (const std::string& word : words_) width = std::max(width, word.size());
    for (std::string& word : words_) word.insert(0, width - word.size(), ' ');
  }

  std::string text() {
    if (shape_.empty()) return words_[0];
    if (words_.empty()) return "[]";
    std::string out;
    print(0, out);
    return out;
  }

 private:
  void print(std::size_t axis, std::string& out) {
    out += '[';
    const std::string indent(axis + 1, ' ');
    std::size_t column = indent.size();
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (axis + 1 < shape_.size()) {
        if (i > 0) out += std::string(shape_.size() - axis - 1, '\n') + indent;
        print(axis + 1, out);
        continue;
      }
      const std::string& word = words_[next_++];
      if (i > 0 && column + 1 + word.size() > kWidth) {
        out += '\n' + indent;
        column = indent.size();
      } else if (i > 0) {
        out += ' ';
        ++column;
      }
      out += word;
      column += word.size();
    }
    out += ']';
  }

  const Shape& shape_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

std::string values_to_text(const Tensor& tensor) {
  return dtype_bits(tensor.dtype()) == 0 ? "(strings)" : Printer(tensor).text();
}

}  // namespace vernier
