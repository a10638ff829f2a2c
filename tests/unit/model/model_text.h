// Small models for tests, in ONNX's text form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/layers.h"
#include "model/prepare.h"
#include "temp_folder.h"
#include "vernier/error.h"

namespace vernier::testing {

/// The message that the text describes. Fails the test when the text is wrong.
onnx::ModelProto parse(const std::string& text);

/// The same, named and checked as a file would be.
Model model_of(const std::string& text);

/// Names of the nodes of the main graph, in order.
std::vector<std::string> node_names(const Model& model);
std::vector<std::string> op_types(const Model& model);

/// The node of that name in any graph; throws when there is none.
const onnx::NodeProto& node_named(const Model& model, std::string_view name);

std::vector<float> floats_of(const Model& model, const std::string& initializer_name);

/// The text of the Error that `action` throws; empty when it throws none.
template <class Action>
std::string error_of(const Action& action);

}  // namespace vernier::testing

template <class Action>
std::string vernier::testing::error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
