#include "engines/hosts/find_engine.h"

#include <utility>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

std::vector<HostedEngine> engines_of(EngineChoice choice) {
  switch (choice) {
    case EngineChoice::Any:
      return {HostedEngine::TensorRt, HostedEngine::TensorRtRtx, HostedEngine::Trtexec};
    case EngineChoice::TensorRt:
      return {HostedEngine::TensorRt, HostedEngine::Trtexec};
    case EngineChoice::TensorRtRtx:
      return {HostedEngine::TensorRtRtx};
    case EngineChoice::OpenVino:
      return {HostedEngine::OpenVino};
  }
  return {};
}

}  // namespace

std::unique_ptr<EngineHost> find_engine(EngineChoice choice, const HostOptions& options,
                                        const std::function<std::string(const EngineAbout&)>& refuses,
                                        EngineFailures& failures) {
  bool any_there = false;  // what it lacks, installing another one would not give
  for (const HostedEngine engine : engines_of(choice)) {
    auto host = std::make_unique<EngineHost>(engine, options);
    try {
      std::string why = refuses(host->about());
      if (why.empty()) return host;
      failures.reasons.push_back(std::move(why));
      any_there = true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      failures.reasons.emplace_back(error.what());
      // Of the last that can be installed: it is the one that needs no GPU.
      if (!any_there && !host->advice().empty()) failures.hint = host->advice();
    }
  }
  if (any_there) failures.hint.clear();
  return nullptr;
}

}  // namespace vernier
