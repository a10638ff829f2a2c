#include "engines/onnxruntime/providers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::string_view kSuffix = "ExecutionProvider";

}  // namespace

std::vector<std::string> available_providers(const Runtime& runtime) {
  char** names = nullptr;
  int count = 0;
  runtime.check(runtime.api().GetAvailableProviders(&names, &count));
  std::vector<std::string> providers(names, names + count);
  runtime.check(runtime.api().ReleaseAvailableProviders(names, count));
  return providers;
}

void append_providers(const Runtime& runtime, OrtSessionOptions* options, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::vector<std::string> available = available_providers(runtime);
  for (const std::string& name : names) {
    const auto found = std::find_if(available.begin(), available.end(), [&](const std::string& provider) {
      return lower_case(provider).find(lower_case(name)) != std::string::npos;
    });
    if (found == available.end()) {
      throw Error(ErrorCode::UnknownName,
                  fmt::format("this ONNX Runtime ({}) has no provider '{}'", runtime.version(), printable(name)),
                  "it has: " + list_some(available, available.size()));
    }
    std::string provider = *found;
    if (provider == "CPUExecutionProvider") continue;
    // CUDA has an entry of its own in the C API; the general one does not know it.
    if (provider == "CUDAExecutionProvider") {
      OrtCUDAProviderOptionsV2* cuda = nullptr;
      runtime.check(runtime.api().CreateCUDAProviderOptions(&cuda));
      OrtStatus* status = runtime.api().SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda);
      runtime.api().ReleaseCUDAProviderOptions(cuda);
      runtime.check(status);
      continue;
    }
    provider.resize(provider.size() - (provider.ends_with(kSuffix) ? kSuffix.size() : 0));
    runtime.check(runtime.api().SessionOptionsAppendExecutionProvider(options, provider.c_str(), nullptr, nullptr, 0));
  }
}

}  // namespace vernier
