#include "io/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/base64.h"
#include "base/text.h"
#include "io/npy.h"
#include "json/json.h"
#include "json/python_json.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kStep = 4;
// Divides by three, so that the text of one piece can follow the other's.
constexpr std::size_t kPiece = 3 * (std::size_t{1} << 18U);

std::string line_start(std::size_t indent) {
  std::string start(indent + 1, ' ');
  start.front() = '\n';
  return start;
}

std::string header_of(const NamedTensor& array, const std::string& what) {
  Dtype dtype = array.tensor.dtype();
  if (dtype == Dtype::Float8E4M3FN || dtype == Dtype::Float8E5M2)
    dtype = Dtype::UInt8;  // its codes, as Polygraphy does
  if (auto header = npy_header(dtype, array.tensor.shape())) return *std::move(header);
  throw Error(ErrorCode::SampleValues,
              fmt::format("{} '{}' is {}, a type that NumPy does not have: files of saved data cannot hold it", what,
                          printable(array.name), dtype_name(array.tensor.dtype())),
              "a Cast to float32 behind it, in the model, keeps every value");
}

void put_base64(const TextSink& out, const std::string& header, std::span<const std::byte> data) {
  // The header, and as many bytes of data as make its size divide by three.
  const std::size_t borrowed = std::min(data.size(), (3 - header.size() % 3) % 3);
  std::vector<std::byte> start(header.size() + borrowed);
  std::copy(header.begin(), header.end(), reinterpret_cast<char*>(start.data()));
  std::copy_n(data.begin(), borrowed, start.begin() + static_cast<std::ptrdiff_t>(header.size()));
  std::string text;
  append_base64(start, text);
  out(text);
  for (std::size_t at = borrowed; at < data.size(); at += kPiece) {
    text.clear();
    append_base64(data.subspan(at, std::min(kPiece, data.size() - at)), text);
    out(text);
  }
}

void put_array(const TextSink& out, const NamedTensor& array, std::size_t indent, const std::string& what) {
  const std::string header = header_of(array, what);
  out(fmt::format("{{{}\"array\": \"", line_start(indent + kStep)));
  put_base64(out, header, array.tensor.bytes());
  out(fmt::format("\",{}\"polygraphy_class\": \"ndarray\"{}}}", line_start(indent + kStep), line_start(indent)));
}

// A dictionary of arrays; `put` writes one, at the indentation it is given.
void put_arrays(const TextSink& out, const std::vector<NamedTensor>& arrays, std::size_t indent,
                const std::function<void(const NamedTensor&, std::size_t)>& put) {
  if (arrays.empty()) return out("{}");
  out("{");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    out(fmt::format("{}{}{}: ", i == 0 ? "" : ",", line_start(indent + kStep),
                    json_quoted(arrays[i].name, /*ascii=*/true)));
    put(arrays[i], indent + kStep);
  }
  out(line_start(indent) + "}");
}

}  // namespace

void put_iteration(const TextSink& out, const Iteration& iteration, const std::string& runner) {
  const std::string line = line_start(kIterationIndent + kStep);
  out(fmt::format("{{{}\"outputs\": ", line));
  put_arrays(out, iteration.outputs, kIterationIndent + kStep, [&](const NamedTensor& output, std::size_t indent) {
    out(fmt::format("{{{}\"values\": ", line_start(indent + kStep)));
    put_array(out, output, indent + kStep, "output");
    out(fmt::format(",{}\"polygraphy_class\": \"LazyArray\"{}}}", line_start(indent + kStep), line_start(indent)));
  });
  out(fmt::format(",{0}\"runtime\": {1},{0}\"runner_name\": {2},{0}\"polygraphy_class\": \"IterationResult\"{3}}}",
                  line, iteration.seconds ? python_number(*iteration.seconds) : "null",
                  json_quoted(runner, /*ascii=*/true), line_start(kIterationIndent)));
}

void put_sample(const TextSink& out, const std::vector<NamedTensor>& inputs, std::size_t indent) {
  put_arrays(out, inputs, indent,
             [&](const NamedTensor& input, std::size_t at) { put_array(out, input, at, "input"); });
}

void put_npy(const TextSink& out, const NamedTensor& array, const std::string& what) {
  out(header_of(array, what));
  const std::span<const std::byte> bytes = array.tensor.bytes();
  out({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace vernier
