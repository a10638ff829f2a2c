// What formats mean, and the figures of errors: the program's own arithmetic on arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format_definition.h"
#include "numerics/grid.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "numerics/tensor_grid.h"
#include "parts.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "words.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const float> span_of(const Floats& values) { return {values.data(), values.size()}; }

nb::dict events_of(const RoundEvents& events) {
  nb::dict counts;
  counts["count"] = events.count;
  counts["saturated"] = events.saturated;
  counts["overflowed"] = events.overflowed;
  counts["subnormal"] = events.subnormal;
  counts["flushed"] = events.flushed;
  counts["nan"] = events.nan;
  return counts;
}

float tensor_scale(Format format, const Floats& values) {
  RangeStats range;
  accumulate_range(span_of(values), range);
  return tensor_scale_of(format, range.absmax());
}

/// Sizes and scales were looked at by Python, which knows what to say of them.
nb::dict round_into(Format format, std::vector<float> scale, std::vector<std::int32_t> zero_point,
                    std::int32_t lowest_code, std::int64_t inner, const Floats& values, const Output& out) {
  QuantParams params;
  params.format = format;
  params.axis = scale.size() > 1 ? 0 : -1;
  params.lowest_code = lowest_code;
  const auto channels = static_cast<std::int64_t>(scale.size() > 1 ? scale.size() : 1);
  params.scale = std::move(scale);
  params.zero_point = std::move(zero_point);
  RoundEvents events;
  {
    const nb::gil_scoped_release released;
    round_to_counting(params, channels, inner, span_of(values), {out.data(), out.size()}, events);
  }
  return events_of(events);
}

/// In the blocks of the last dimension, or as a whole, with the scales of the values themselves. `scale`: of the
/// tensor, or 0 for that of the values.
nb::dict round_by_values_into(Format format, float scale, const std::vector<std::int64_t>& shape, const Floats& values,
                              const Output& out) {
  QuantParams params;
  params.format = format;
  params.block = definition_of(format).block;
  params.dynamic = true;
  params.scale = {scale > 0 ? scale : tensor_scale(format, values)};
  RoundEvents events;
  {
    const nb::gil_scoped_release released;
    round_tensor(params, shape, span_of(values), {out.data(), out.size()}, &events);
  }
  return events_of(events);
}

}  // namespace

void add_numbers(nb::module_& module) {
  module.def("round_into", round_into);
  module.def("round_by_values_into", round_by_values_into);
  module.def("tensor_scale", tensor_scale);
  module.def("has_scales_of_values", [](Format format) {
    return definition_of(format).dynamic || definition_of(format).block_scale != BlockScale::Chosen;
  });
  module.def("code_range", [](Format format) {
    const CodeRange codes = code_range(format);
    return nb::make_tuple(codes.lowest, codes.highest);
  });
  module.def("needs_scale", &needs_scale);
  module.def("format_name", [](Format format) { return std::string(format_name(format)); });
  module.def("bits_of", [](Format format) { return bits_of(format); });
  module.def("symmetric_scale", [](Format format, float absmax) {
    const QuantParams params = symmetric_params(format, std::span(&absmax, 1), -1);
    return nb::make_tuple(params.scale.at(0), 0, params.lowest_code);
  });
  module.def("asymmetric_scale", [](Format format, float low, float high) {
    const QuantParams params = asymmetric_params(low, high, format);
    return nb::make_tuple(params.scale.at(0), params.zero_point.empty() ? 0 : params.zero_point.at(0), 0);
  });

  nb::class_<ErrorStats>(module, "ErrorStats")
      .def(nb::init<>())
      .def("add",
           [](ErrorStats& stats, const Floats& ref, const Floats& got) {
             const nb::gil_scoped_release released;
             accumulate_error(span_of(ref), span_of(got), stats);
           })
      .def_prop_ro("sqnr_db", [](const ErrorStats& stats) { return sqnr_db(stats); })
      .def_prop_ro("cosine", [](const ErrorStats& stats) { return cosine(stats); })
      .def_prop_ro("mse", [](const ErrorStats& stats) { return mse(stats); })
      .def_prop_ro("max_abs_error", [](const ErrorStats& stats) { return max_abs_error(stats); })
      .def_ro("count", &ErrorStats::count);
}

}  // namespace vernier::python
