#include "engines/onnxruntime/pair_sums_kernel.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engines/onnxruntime/operator_kernels.h"
#include "engines/onnxruntime/recorder.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

/// Data codes in the order of the terms of one result: of a convolution the places of its kernel, channels last.
class Window {
 public:
  Window(const Shape& data, const Shape& result, const std::vector<std::int64_t>& kernel,
         const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& dilations,
         std::vector<std::int64_t> pads, std::int64_t same)
      : kernel_(kernel), strides_(strides), dilations_(dilations), pads_(std::move(pads)) {
    in_.assign(data.begin() + 2, data.end());
    out_.assign(result.begin() + 2, result.end());
    for (std::size_t i = 0; same > 0 && i < in_.size(); ++i) {
      const std::int64_t all =
          std::max<std::int64_t>(0, (out_[i] - 1) * strides_[i] + dilations_[i] * (kernel_[i] - 1) + 1 - in_[i]);
      pads_[i] = same == 1 ? all / 2 : (all + 1) / 2;
    }
  }

  std::size_t results() const { return static_cast<std::size_t>(element_count(out_)); }
  std::size_t inputs() const { return static_cast<std::size_t>(element_count(in_)); }

  /// `channels`: codes of the channels of one group, one behind the other, [channels, inputs()]. Beyond the edges lies
  /// `zero`. Where `terms` has room for more channels at a place, they stay as they are.
  void gather(std::span<const std::uint8_t> channels, std::size_t result, std::uint8_t zero,
              std::vector<std::uint8_t>& terms) const {
    const std::size_t count = channels.size() / inputs();
    std::vector<std::int64_t> first(out_.size());
    for (std::size_t i = out_.size(), left = result; i-- > 0; left /= static_cast<std::size_t>(out_[i])) {
      first[i] = static_cast<std::int64_t>(left % static_cast<std::size_t>(out_[i])) * strides_[i] - pads_[i];
    }
    const auto places = static_cast<std::size_t>(element_count(kernel_));
    const std::size_t of_place = terms.size() / places;
    for (std::size_t place = 0; place < places; ++place) {
      bool inside = true;
      std::size_t at = 0, step = 1;
      for (std::size_t i = kernel_.size(), left = place; i-- > 0; left /= static_cast<std::size_t>(kernel_[i])) {
        const std::int64_t x =
            first[i] + static_cast<std::int64_t>(left % static_cast<std::size_t>(kernel_[i])) * dilations_[i];
        inside = inside && x >= 0 && x < in_[i];
        at += static_cast<std::size_t>(std::max<std::int64_t>(x, 0)) * step;
        step *= static_cast<std::size_t>(in_[i]);
      }
      for (std::size_t c = 0; c < count; ++c) terms[place * of_place + c] = inside ? channels[c * inputs() + at] : zero;
    }
  }

 private:
  Shape in_, out_;
  std::vector<std::int64_t> kernel_, strides_, dilations_, pads_;
};

/// Where element `place` of a tensor `wide` lies in one of shape `narrow` that is broadcast to it.
std::size_t broadcast_place(std::size_t place, std::span<const std::int64_t> wide,
                            std::span<const std::int64_t> narrow) {
  std::size_t found = 0, step = 1;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto size = static_cast<std::size_t>(wide[wide.size() - 1 - i]);
    const auto own = static_cast<std::size_t>(narrow[narrow.size() - 1 - i]);
    if (own > 1) found += place % size * step;
    place /= size;
    step *= own;
  }
  return found;
}

}  // namespace

std::vector<std::int64_t> PairSumsKernel::ints(const OrtKernelInfo* info, const char* name) const {
  std::size_t size = 0;
  check(api->KernelInfoGetAttributeArray_int64(info, name, nullptr, &size));
  std::vector<std::int64_t> values(size);
  check(api->KernelInfoGetAttributeArray_int64(info, name, values.data(), &size));
  return values;
}

void PairSumsKernel::create(const OrtKernelInfo* info) {
  std::size_t size = 0;
  check(api->KernelInfoGetAttribute_string(info, "codes", nullptr, &size));
  std::string codes(size, '\0');
  check(api->KernelInfoGetAttribute_string(info, "codes", codes.data(), &size));
  codes.resize(size - 1);
  outputs = static_cast<std::size_t>(int_attribute(info, "outputs"));
  terms = codes.size() / outputs;
  const std::vector<std::int8_t> weights(codes.begin(), codes.end());
  sums.emplace(weights, outputs, terms);
  slot = static_cast<std::size_t>(int_attribute(info, "slot"));
  check(api->KernelInfoGetAttribute_float(info, "data_scale", &data_scale));
  data_zero = int_attribute(info, "data_zero");
  check(api->KernelInfoGetAttributeArray_float(info, "scales", nullptr, &size));
  scales.resize(size);
  check(api->KernelInfoGetAttributeArray_float(info, "scales", scales.data(), &size));
  group = int_attribute(info, "group");
  if (group == 0) {
    batch = ints(info, "batch");
    return;
  }
  shape = ints(info, "kernel_shape");
  strides = ints(info, "strides");
  dilations = ints(info, "dilations");
  pads = ints(info, "pads");
  same = int_attribute(info, "same");
}

std::vector<std::uint8_t> PairSumsKernel::codes_of(std::span<const float> values) const {
  std::vector<std::uint8_t> codes(values.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float code = std::nearbyint(values[i] / data_scale) + static_cast<float>(data_zero);
    codes[i] = static_cast<std::uint8_t>(std::clamp(code, 0.0F, 255.0F));
  }
  return codes;
}

void PairSumsKernel::compute(OrtKernelContext* context) const {
  const Input exact = input(context, 0);
  const Input data = input(context, 1);
  pass(context, 0, exact);
  const std::span<float> out = output(context, 0, exact);
  const std::span<Recorder> recorders = current_recorders();
  const SampleParts reads = parts_in_run(data.shape), makes = parts_in_run(exact.shape);
  if (!reads.contiguous() || !makes.contiguous()) {
    throw Error(ErrorCode::RuntimeFails, "PairSums: samples of a batch must lie along the first dimension");
  }
  for (std::size_t i = 0; i < makes.samples; ++i) {
    RoundEvents events;
    add_excess({reads.of(data.values, i), reads.shape}, makes.shape, makes.of(out, i), events);
    if (i < recorders.size() && slot < recorders[i].events.size()) recorders[i].events[slot] += events;
  }
}

void PairSumsKernel::add(std::size_t row, std::span<const std::uint8_t> read, float& sum, RoundEvents& events) const {
  sum += scales[row] * static_cast<float>(sums->excess(row, read, events.saturated));
  events.count += static_cast<std::int64_t>(sums->pairs());
}

void PairSumsKernel::add_to_products(const Shape& data, const Shape& result, std::span<const std::uint8_t> codes,
                                     std::span<float> out, RoundEvents& events) const {
  const std::size_t width = outputs / static_cast<std::size_t>(element_count(batch));
  if (batch.empty()) {
    for (std::size_t i = 0; i < out.size(); ++i)
      add(i % width, codes.subspan(i / width * terms, terms), out[i], events);
    return;
  }
  const std::size_t inner = std::min<std::size_t>(data.size(), 2);  // data of one dimension are one row
  const auto rows = static_cast<std::size_t>(inner < 2 ? 1 : data[data.size() - 2]);
  const std::span<const std::int64_t> matrices = std::span(result).first(result.size() - inner);
  const std::span<const std::int64_t> read = std::span(data).first(data.size() - inner);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t matrix = i / width / rows;
    const std::size_t row = broadcast_place(matrix, matrices, read) * rows + i / width % rows;
    add(broadcast_place(matrix, matrices, batch) * width + i % width, codes.subspan(row * terms, terms), out[i],
        events);
  }
}

void PairSumsKernel::add_excess(const Input& data, const Shape& result, std::span<float> out,
                                RoundEvents& events) const {
  const std::vector<std::uint8_t> codes = codes_of(data.values);
  const std::span<const std::uint8_t> all(codes);
  if (group == 0) return add_to_products(data.shape, result, all, out, events);
  const Window window(data.shape, result, shape, strides, dilations, pads, same);
  const auto groups = static_cast<std::size_t>(group);
  const std::size_t images = static_cast<std::size_t>(data.shape[0]);
  const std::size_t of_group = codes.size() / images / groups;
  const std::size_t rows = outputs / groups;
  std::vector<std::uint8_t> read(terms);
  for (std::size_t image = 0; image < images; ++image) {
    for (std::size_t g = 0; g < groups; ++g) {
      const auto channels = all.subspan((image * groups + g) * of_group, of_group);
      for (std::size_t place = 0; place < window.results(); ++place) {
        window.gather(channels, place, static_cast<std::uint8_t>(data_zero), read);
        for (std::size_t row = g * rows; row < (g + 1) * rows; ++row) {
          add(row, read, out[(image * outputs + row) * window.results() + place], events);
        }
      }
    }
  }
}

}  // namespace vernier
