#include "analysis/crossed_matches.h"

#include <map>
#include <string>

#include "model/model.h"

namespace vernier {
namespace {

/// The nodes of both graphs and the comparisons of pairs, each with those that wait for it.
class Waiting {
 public:
  explicit Waiting(std::size_t comparisons) : readers_(comparisons), open_(comparisons, 0) {}

  /// `compared`: the comparison that readers of a tensor wait for.
  void add(const onnx::GraphProto& graph, const std::map<std::string, std::size_t>& compared) {
    std::map<std::string, std::size_t> made_by;
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) made_by[output] = readers_.size();
      readers_.emplace_back();
      open_.push_back(0);
    }
    for (const auto& [tensor, comparison] : compared) {
      if (const auto made = made_by.find(tensor); made != made_by.end()) wait(comparison, made->second);
    }
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.output_size() == 0) continue;
      const std::size_t reader = made_by.at(node.output(0));
      for (const std::string& read : tensors_read(node)) {
        const auto made = made_by.find(read);
        if (made == made_by.end()) continue;
        const auto comparison = compared.find(read);
        wait(reader, comparison == compared.end() ? made->second : comparison->second);
      }
    }
  }

  /// Those of the first `count` that never come.
  std::vector<std::size_t> never(std::size_t count) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const std::size_t done = ready.back();
      ready.pop_back();
      for (const std::size_t reader : readers_[done]) {
        if (--open_[reader] == 0) ready.push_back(reader);
      }
    }
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < count; ++i) {
      if (open_[i] > 0) left.push_back(i);
    }
    return left;
  }

 private:
  void wait(std::size_t reader, std::size_t maker) {
    readers_[maker].push_back(reader);
    ++open_[reader];
  }

  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> open_;
};

}  // namespace

std::vector<std::size_t> crossed_matches(const onnx::GraphProto& ref, const onnx::GraphProto& low,
                                         const std::vector<Match>& pairs) {
  std::map<std::string, std::size_t> of_ref, of_low;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    of_ref[pairs[i].ref] = i;
    of_low[pairs[i].low] = i;
  }
  Waiting waiting(pairs.size());
  waiting.add(ref, of_ref);
  waiting.add(low, of_low);
  return waiting.never(pairs.size());
}

}  // namespace vernier
