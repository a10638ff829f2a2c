// Values of the API in Python: enums that have words are strings there, formats also by their short names.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "vernier/arithmetic.h"
#include "vernier/calibrate.h"
#include "vernier/device.h"
#include "vernier/engine.h"
#include "vernier/eval.h"
#include "vernier/format.h"
#include "vernier/graph_optimization.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/kind.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/target.h"
#include "vernier/verdict.h"
#include "vernier/words.h"

namespace nanobind::detail {

template <vernier::Worded Enum>
struct WordCaster {
  NB_TYPE_CASTER(Enum, const_name("str"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), &size) : nullptr;
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    std::optional<Enum> found;
    const std::string_view word(text, static_cast<std::size_t>(size));
    if constexpr (std::is_same_v<Enum, vernier::Format>) {
      found = vernier::parse_format(word);
    } else {
      found = vernier::parse_word<Enum>(word);
    }
    if (found) value = *found;
    return found.has_value();
  }

  static handle from_cpp(Enum source, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    const std::string_view word = vernier::word_of(source);
    return PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()));
  }
};

template <>
struct type_caster<vernier::Device> {
  NB_TYPE_CASTER(vernier::Device, const_name("str"))

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::string_view> text;
    const std::optional<vernier::Device> device = text.from_python(source, static_cast<std::uint8_t>(flags), cleanup)
                                                      ? vernier::parse_device(text.value)
                                                      : std::nullopt;
    if (device) value = *device;
    return device.has_value();
  }

  static handle from_cpp(const vernier::Device& source, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<std::string_view>::from_cpp(vernier::device_text(source), policy, cleanup);
  }
};

template <>
struct type_caster<vernier::ByteSize> {
  NB_TYPE_CASTER(vernier::ByteSize, const_name("int | str"))

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::uint64_t> number;
    if (number.from_python(source, static_cast<std::uint8_t>(flags), cleanup)) {
      value = {number.value};
      return number.value > 0;
    }
    make_caster<std::string_view> text;
    const std::optional<vernier::ByteSize> size = text.from_python(source, static_cast<std::uint8_t>(flags), cleanup)
                                                      ? vernier::parse_size(text.value)
                                                      : std::nullopt;
    if (size) value = *size;
    return size.has_value();
  }

  static handle from_cpp(const vernier::ByteSize& source, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<std::uint64_t>::from_cpp(source.bytes, policy, cleanup);
  }
};

}  // namespace nanobind::detail

// One for each enum: nanobind has a caster for all enums, which a condition could not take the place of.
#define VERNIER_WORDS(Enum) \
  template <>               \
  struct nanobind::detail::type_caster<vernier::Enum> : WordCaster<vernier::Enum> {}

VERNIER_WORDS(Accumulate);
VERNIER_WORDS(BoxForm);
VERNIER_WORDS(BoxOrder);
VERNIER_WORDS(BoxUnits);
VERNIER_WORDS(CostUnit);
VERNIER_WORDS(DiffMetric);
VERNIER_WORDS(EngineChoice);
VERNIER_WORDS(Format);
VERNIER_WORDS(GraphOptimization);
VERNIER_WORDS(ImageColor);
VERNIER_WORDS(ImageFit);
VERNIER_WORDS(ImageLayout);
VERNIER_WORDS(MeasureOn);
VERNIER_WORDS(Metric);
VERNIER_WORDS(PrecisionConstraints);
VERNIER_WORDS(RangesForm);
VERNIER_WORDS(ReportKind);
VERNIER_WORDS(ScoreFunction);
VERNIER_WORDS(SearchDirection);
VERNIER_WORDS(SearchMode);
VERNIER_WORDS(Target);
VERNIER_WORDS(Task);
VERNIER_WORDS(Verdict);

#undef VERNIER_WORDS
