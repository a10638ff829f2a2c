// What a file must not contain, whatever is done with it: code behind this door counts on it.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <vector>

namespace vernier {

struct Malformation {
  std::string message;             // names the place
  std::vector<std::string> nodes;  // the node that it is about, where it is about one that has a name
};

/// The first of these, nullopt when there is none: subgraphs nested too deep; functions that call themselves, or that
/// unfold to more nodes than any network has; Loops that no one can wait for, by their constants; nodes with fewer
/// inputs or outputs than their operator needs; two inputs or two initializers of one name in a graph; names with a
/// zero byte. Takes time linear in the size of the message.
std::optional<Malformation> malformation_of(const onnx::ModelProto& model);

}  // namespace vernier
