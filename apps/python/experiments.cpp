// What callers put beside what the jobs have: their functions, and what these see.
#include "vernier/experiments.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "calls.h"
#include "parts.h"
#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

nb::object floats_of(const std::vector<float>& values) {
  return array_of(Tensor::of({static_cast<std::int64_t>(values.size())}, values));
}

template <class Number>
nb::object number_or_none(const std::optional<Number>& value) {
  return value ? nb::cast(*value) : nb::none();
}

nb::dict seen(const SeenValues& values) {
  std::vector<float> low, high;
  std::vector<std::int64_t> count;
  for (const ValueBin& bin : values.bins) {
    low.push_back(bin.low);
    high.push_back(bin.high);
    count.push_back(bin.count);
  }
  nb::dict told;
  told["tensor"] = values.tensor;
  told["format"] = std::string(format_name(values.format));
  told["min"] = values.min;
  told["max"] = values.max;
  told["low"] = floats_of(low);
  told["high"] = floats_of(high);
  told["count"] = array_of(Tensor::of_int64({static_cast<std::int64_t>(count.size())}, count));
  return told;
}

nb::list seen(const std::vector<TensorEvidence>& tensors) {
  nb::list all;
  for (const TensorEvidence& tensor : tensors) {
    nb::dict told = seen(tensor.values);
    told["constant"] = tensor.constant;
    told["channel_absmax"] = floats_of(tensor.channel_absmax);
    told["sample_absmax"] = floats_of(tensor.sample_absmax);
    told["scales"] = floats_of(tensor.scales);
    all.append(told);
  }
  return all;
}

nb::dict seen(const LayerEvidence& layer) {
  nb::dict told;
  told["name"] = layer.name;
  told["op_type"] = layer.op_type;
  told["format"] = std::string(format_name(layer.format));
  told["inputs"] = seen(layer.inputs);
  told["outputs"] = seen(layer.outputs);
  told["own_noise"] = layer.own_noise;
  told["inherited_noise"] = number_or_none(layer.inherited_noise);
  told["effect_noise"] = number_or_none(layer.effect_noise);
  told["weights_noise"] = number_or_none(layer.weights_noise);
  told["activations_noise"] = number_or_none(layer.activations_noise);
  told["overflowed"] = layer.overflowed;
  told["flushed"] = layer.flushed;
  told["subnormal"] = layer.subnormal;
  told["rounded"] = layer.rounded;
  told["mean_error"] = nb::cast(layer.mean_error);
  told["output_rms"] = layer.output_rms;
  told["terms"] = layer.terms;
  told["depthwise"] = layer.depthwise;
  told["first"] = layer.first;
  told["last"] = layer.last;
  told["read_by"] = nb::cast(layer.read_by);
  told["made_by"] = nb::cast(layer.made_by);
  return told;
}

nb::dict seen(const NetworkToRepair& network) {
  nb::list layers;
  for (const LayerToRepair& layer : network.layers) {
    nb::dict told;
    told["name"] = layer.name;
    told["op_type"] = layer.op_type;
    told["format"] = std::string(format_name(layer.format));
    told["inputs"] = nb::cast(layer.inputs);
    told["outputs"] = nb::cast(layer.outputs);
    told["noise"] = number_or_none(layer.noise);
    told["mean_error"] = nb::cast(layer.mean_error);
    layers.append(told);
  }
  nb::dict values, channels;
  for (const auto& [tensor, of_tensor] : network.values) values[tensor.c_str()] = seen(of_tensor);
  for (const auto& [tensor, of_tensor] : network.channel_absmax) channels[tensor.c_str()] = floats_of(of_tensor);
  nb::dict told;
  told["model"] = nb::cast(network.model);
  told["layers"] = layers;
  told["values"] = values;
  told["ranges"] = nb::cast(network.ranges);
  told["channel_absmax"] = channels;
  return told;
}

CalibrationChoice choice_of(nb::object function, std::string name) {
  const Held held = hold(std::move(function));
  return calibration_by({std::move(name), [held](const SeenValues& values) {
                           const nb::gil_scoped_acquire acquired;
                           return nb::cast<std::pair<float, float>>((*held)(seen(values)));
                         }});
}

/// What a cause of Python's said: (sentence, tensor, confidence, [(figure, value, unit)], [repair]).
using Said = std::tuple<std::string, std::string, double, std::vector<std::tuple<std::string, double, std::string>>,
                        std::vector<std::string>>;

CauseFinder cause_of(std::string id, nb::object function) {
  const Held held = hold(std::move(function));
  return {std::move(id), [held](const LayerEvidence& layer) -> std::optional<Cause> {
            const nb::gil_scoped_acquire acquired;
            const nb::object answer = (*held)(seen(layer));
            if (answer.is_none()) return std::nullopt;
            Cause cause;
            std::vector<std::tuple<std::string, double, std::string>> figures;
            std::tie(cause.sentence, cause.tensor, cause.confidence, figures, cause.repairs) = nb::cast<Said>(answer);
            for (auto& [name, value, unit] : figures) cause.figures.push_back({name, value, unit});
            return cause;
          }};
}

/// An idea of Python's: (layers, {tensor: (low, high)}, {constant: array}, model or None, what, why not).
using Idea = std::tuple<std::vector<std::string>, std::map<std::string, std::pair<float, float>>, Arrays, nb::object,
                        std::string, std::string>;

RepairMethod repair_of(std::string id, std::string text, nb::object function) {
  const Held held = hold(std::move(function));
  return {std::move(id), std::move(text), [held](const NetworkToRepair& network) {
            const nb::gil_scoped_acquire acquired;
            std::vector<RepairIdea> ideas;
            for (const nb::handle said : (*held)(seen(network))) {
              RepairIdea idea;
              Arrays constants;
              nb::object model;
              std::tie(idea.layers, idea.ranges, constants, model, idea.what, idea.why_not) = nb::cast<Idea>(said);
              idea.constants = tensors_of(constants);
              if (!model.is_none()) idea.model = nb::cast<OnnxModel>(model);
              ideas.push_back(std::move(idea));
            }
            return ideas;
          }};
}

}  // namespace

void add_experiments(nb::module_& module) {
  nb::class_<CauseFinder>(module, "CauseFinder").def_static("of", cause_of);
  nb::class_<RepairMethod>(module, "RepairMethod").def_static("of", repair_of).def_ro("id", &RepairMethod::id);
  module.def("calibration_by", choice_of);
}

}  // namespace vernier::python
