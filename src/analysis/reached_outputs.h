// Which judged outputs a change of a tensor can reach, and which changes never meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/model.h"

namespace vernier {

/// A set of outputs, by their places in a list.
class OutputSet {
 public:
  OutputSet() = default;
  explicit OutputSet(std::size_t outputs) : words_((outputs + 63) / 64) {}
  void add(std::size_t output) { words_[output / 64] |= std::uint64_t{1} << (output % 64); }
  bool contains(std::size_t output) const { return (words_[output / 64] >> (output % 64) & 1U) != 0; }
  bool meets(const OutputSet& other) const;
  OutputSet& operator|=(const OutputSet& other);

 private:
  std::vector<std::uint64_t> words_;
};

class ReachedOutputs {
 public:
  /// Of the main graph, bodies included. Cost and memory: nodes times outputs / 64 words.
  ReachedOutputs(const onnx::GraphProto& graph, const std::vector<std::string>& outputs);

  /// From tensor `name` on; none for a tensor that the graph does not have.
  const OutputSet& from(const std::string& name) const;
  OutputSet from_any(const std::vector<std::string>& names) const;

 private:
  OutputSet none_;
  std::unordered_map<std::string, OutputSet> sets_;
};

/// Puts each set, by its place, into a group whose other sets it does not meet: the first of the last 64 groups that
/// has room. What one of a group changes, no other of it can.
std::vector<std::vector<std::size_t>> groups_that_never_meet(const std::vector<OutputSet>& sets, std::size_t outputs);

}  // namespace vernier
