#include "io/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "base/elements.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "io/npy.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

namespace {

Tensor label_tensor(const Labels& labels, const std::string& where) {
  if (labels.in_memory()) return labels.values();
  const auto mapped = MappedFile::open(labels.file());
  return read_npy(mapped->bytes(), mapped, where);
}

}  // namespace

LabelArray read_label_array(const Labels& labels) {
  const std::string where = printable(labels.name());
  const Tensor tensor = label_tensor(labels, where);
  if (tensor.shape().empty() || is_float(tensor.dtype())) {
    throw Error(ErrorCode::Labels,
                fmt::format("{}: {} elements of shape {} are not labels", where, dtype_name(tensor.dtype()),
                            shape_text(tensor.shape())),
                "whole numbers, one a sample: labels.astype('int64')");
  }
  std::vector<std::int64_t> room;
  const auto values = read_block(tensor, 0, static_cast<std::size_t>(tensor.count()), room);
  return {tensor.shape(), {values.begin(), values.end()}};
}

SampleCount count_samples(const SourceOptions& source, const std::vector<InputInfo>& inputs, std::size_t run) {
  std::vector<std::string> locations = source.further;
  locations.push_back(source.location);
  const bool scripts =
      std::ranges::any_of(locations, [](const auto& text) { return script_location(text).has_value(); });
  if (source.limit == 0 || source.is_random() || scripts) return run;
  SourceOptions whole = source;
  whole.limit = 0;
  try {
    return {run, open_samples(whole, inputs)->size()};
  } catch (const Error&) {
    return run;  // what is wrong behind the limit is nobody's concern
  }
}

void require_labels_for(const std::string& name, std::size_t labels, const SampleCount& samples) {
  if (labels == samples.used || labels == samples.whole) return;
  const bool cut = samples.whole > samples.used;
  throw Error(ErrorCode::Labels,
              fmt::format("{}: {} for {}{}", printable(name), plural(labels, "label"), plural(samples.used, "sample"),
                          cut ? fmt::format(" of {}", samples.whole) : ""),
              cut ? fmt::format("pass labels of the {} samples that run, or of all {}; then the first ones are used",
                                samples.used, samples.whole)
                  : "one label for each sample, in their order");
}

std::vector<std::int64_t> read_labels(const Labels& given) {
  const std::string where = printable(given.name());
  if (given.in_memory() || given.file().extension() == ".npy") return read_label_array(given).values;
  std::vector<std::int64_t> labels;
  const std::string text = read_text(given.file());
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    std::int64_t label = 0;
    const auto [rest, failure] = std::from_chars(line.data(), line.data() + line.size(), label);
    if (!line.empty() && (failure != std::errc() || rest != line.data() + line.size())) {
      throw Error(ErrorCode::Labels,
                  fmt::format("{}: line {}: '{}' is not a whole number", where, labels.size() + 1, printable(line)));
    }
    if (!line.empty()) labels.push_back(label);
    start = end + 1;
  }
  return labels;
}

}  // namespace vernier
