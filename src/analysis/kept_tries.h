// What tries of ranges gave, kept on disk while a job lasts: one that is killed does not begin them anew.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "analysis/paired_gain.h"
#include "base/partial_runs.h"
#include "distributed/ranks.h"

namespace vernier {

class KeptTries {
 public:
  /// `identity` tells them from all that give other results. `partial` null: nothing is kept.
  KeptTries(PartialRuns* partial, const std::string& identity);

  /// What a try gave to each layer, or to whole networks: looked up by name, else measured and kept.
  std::map<std::string, double> layers(const std::string& name,
                                       const std::function<std::map<std::string, double>()>& measure);
  Noise network(const std::string& name, const std::function<Noise()>& measure);

 private:
  const Message& of(const std::string& name, const std::function<Message()>& measure);
  std::string place() const { return "try " + std::to_string(known_.size()) + " of ranges"; }

  PartialRuns* partial_;
  std::map<std::string, Message> known_;
};

}  // namespace vernier
