// Types and shapes of the tensors of a float model and of a file beside it, as far as they are known.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "model/model.h"

namespace vernier {

/// By inference, from the shapes of the first sample's inputs. ONNX Runtime tells of operators that ONNX does not
/// define.
struct TypesOfBoth {
  TypesOfBoth(const Subject& subject, const Model& simulated);

  /// Learns the shapes of these float tensors by running the first sample, where inference leaves open whether both
  /// have the same. Cost: none, or a run of each model.
  void learn_shapes(const Subject& subject, const Model& simulated, const std::vector<Match>& pairs);

  std::map<std::string, ValueType> ref, low;
};

/// Whether both tensors have this shape; unknown sizes fit all.
bool fits(const ValueType& ref, const ValueType& low);

}  // namespace vernier
