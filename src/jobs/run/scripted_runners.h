// Runners whose model is a script that makes it.
#pragma once

#include <vector>

#include "jobs/scripting/model_script.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {

/// Replaces scripts by the models that they make. Each runs once, whatever the number of runners: these compare the
/// same model. The networks that they see are prepared for the formats of all runners.
/// What is returned must outlive the reading of the models. Errors: Input: what a script does wrong; Usage where it
/// would be overwritten.
std::vector<ScriptedModel> run_model_scripts(RunOptions& options, const JobSinks& sinks);

}  // namespace vernier
