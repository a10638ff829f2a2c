// What ONNX's own checker says about a model. check_written_model (model.h) holds what we made to it.
#pragma once

#include <optional>
#include <string>

#include "model/model.h"

namespace vernier {

/// What the ONNX checker (full: schemas and types) says against the model, all but outputs of unknown rank, which it
/// refuses. Of a model that is more than one message can hold it sees types and shapes of the weights, not the bytes.
std::optional<std::string> checker_complaint(const Model& model);

}  // namespace vernier
