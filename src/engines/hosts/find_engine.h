// Which engine is there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/hosts/engine_host.h"
#include "vernier/engine.h"

namespace vernier {

/// Why no engine was found.
struct EngineFailures {
  std::vector<std::string> reasons;  // one for each that was tried
  std::string hint;
};

/// The first engine of `choice` that is there and that `refuses` has nothing against: it says what. Null where there is
/// none. Errors: Interrupted.
std::unique_ptr<EngineHost> find_engine(EngineChoice choice, const HostOptions& options,
                                        const std::function<std::string(const EngineAbout&)>& refuses,
                                        EngineFailures& failures);

}  // namespace vernier
