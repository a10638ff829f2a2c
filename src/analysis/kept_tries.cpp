#include "analysis/kept_tries.h"

#include <optional>
#include <span>
#include <vector>

#include "distributed/wire.h"

namespace vernier {

KeptTries::KeptTries(PartialRuns* partial, const std::string& identity) : partial_(partial) {
  if (partial_ == nullptr) return;
  const std::optional<std::string> saved = partial_->begin(identity);
  if (!saved) return;
  Unpacker unpacker(std::as_bytes(std::span(*saved)));
  while (!unpacker.empty()) {
    const std::string name = unpacker.get_text();
    known_[name] = unpacker.get_vector<std::byte>();
  }
  partial_->went_on(place());
}

const Message& KeptTries::of(const std::string& name, const std::function<Message()>& measure) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  const Message& measured = known_[name] = measure();
  if (partial_ != nullptr && partial_->due()) {
    Packer packer;
    for (const auto& [of_try, gave] : known_) {
      packer.put(of_try);
      packer.put(gave);
    }
    const Message all = packer.take();
    partial_->save(std::string(reinterpret_cast<const char*>(all.data()), all.size()), place());
  }
  return measured;
}

std::map<std::string, double> KeptTries::layers(const std::string& name,
                                                const std::function<std::map<std::string, double>()>& measure) {
  Unpacker unpacker(of("layers by " + name, [&] {
    Packer packer;
    for (const auto& [layer, error] : measure()) {
      packer.put(layer);
      packer.put(error);
    }
    return packer.take();
  }));
  std::map<std::string, double> errors;
  while (!unpacker.empty()) {
    const std::string layer = unpacker.get_text();
    errors[layer] = unpacker.get<double>();
  }
  return errors;
}

Noise KeptTries::network(const std::string& name, const std::function<Noise()>& measure) {
  Unpacker unpacker(of("network by " + name, [&] {
    Packer packer;
    for (const std::vector<double>& output : measure()) packer.put(output);
    return packer.take();
  }));
  Noise noise;
  while (!unpacker.empty()) noise.push_back(unpacker.get_vector<double>());
  return noise;
}

}  // namespace vernier
