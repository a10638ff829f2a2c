#include <fmt/format.h>
#include <onnx/inliner/inliner.h>

#include <cstddef>
#include <exception>

#include "base/source_places.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "model/naming.h"
#include "model/passes/pass.h"
#include "vernier/error.h"

namespace vernier::passes {

Outcome inline_functions(Model& model, const Context&) {
  if (model.proto.functions_size() == 0) return {};
  const int count = model.proto.functions_size();
  try {
    onnx::inliner::InlineLocalFunctions(model.proto, /*convert_version=*/true);
  } catch (const std::exception& failure) {
    throw Error(ErrorKind::Input, fmt::format("the model's functions cannot be inlined: {}",
                                              printable(without_source_places(failure.what()))));
  }
  // Nodes out of functions may bear no name, or one name for each call.
  fix_names(model.proto);
  try {
    verify_structure(model, "after inlining the model's functions");
  } catch (const Error& error) {
    throw Error(ErrorKind::Input, error.what());  // what a function's body holds was not looked at before
  }
  return {.notes = {{"functions-inlined", {{"count", count}}}}};
}

}  // namespace vernier::passes
