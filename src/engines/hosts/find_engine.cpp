#include "engines/hosts/find_engine.h"

#include <utility>

#include "vernier/error.h"

namespace vernier {

std::unique_ptr<EngineHost> find_engine(EngineChoice choice, const HostOptions& options,
                                        const std::function<std::string(const EngineAbout&)>& refuses,
                                        EngineFailures& failures) {
  std::vector<HostedEngine> engines;
  if (choice != EngineChoice::TensorRtRtx) engines.push_back(HostedEngine::TensorRt);
  if (choice != EngineChoice::TensorRt) engines.push_back(HostedEngine::TensorRtRtx);
  for (const HostedEngine engine : engines) {
    auto host = std::make_unique<EngineHost>(engine, options);
    try {
      std::string why = refuses(host->about());
      if (why.empty()) return host;
      failures.reasons.push_back(std::move(why));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      failures.reasons.emplace_back(error.what());
      failures.hint = host->advice();  // of the last: it is the one that needs no GPU
    }
  }
  return nullptr;
}

}  // namespace vernier
