#include "plan/signature.h"

#include <cstddef>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/version.h"

namespace vernier {

void add_to_signature(Model& model, const std::string& key, const std::string& value) {
  auto& properties = *model.proto.mutable_metadata_props();
  const std::string name = "vernier." + key;
  for (int i = properties.size(); i-- > 0;) {
    if (properties[i].key() == name) properties.DeleteSubrange(i, 1);
  }
  if (value.empty()) return;
  onnx::StringStringEntryProto& entry = *properties.Add();
  entry.set_key(name);
  entry.set_value(value);
}

void sign_model(Model& model, const Plan& plan) {
  Sha256 hash;
  Plan decided = plan;
  decided.scheme.clear();  // says where ranges are from, and the same ranges make the same file
  const std::string text = plan_to_json(decided);
  hash.update(std::as_bytes(std::span(text)));
  add_to_signature(model, "version", std::string(vernier_version()));
  add_to_signature(model, "plan_sha256", hash.hex());
}

}  // namespace vernier
