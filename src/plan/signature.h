// What a written model says of itself, so that whoever finds the file knows where it came from.
#pragma once

#include <string>

#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// Puts into the model's metadata_props who wrote it and of which plan, in the place of what an earlier signature said:
///
///   vernier.version       "0.2.0"
///   vernier.plan_sha256   of the plan's JSON without its scheme line, which says where ranges are from
void sign_model(Model& model, const Plan& plan);

/// One more entry, what a job claims of the file: "requirement" -> "vernier.requirement". An empty value removes it.
void add_to_signature(Model& model, const std::string& key, const std::string& value);

}  // namespace vernier
