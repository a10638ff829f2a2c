// Names of runners, "onnxrt-runner-N0-11/20/26-23:59:53".
#pragma once

#include <string_view>

namespace vernier {

/// Without the time, which differs from one start to the next.
std::string_view without_time(std::string_view runner);

}  // namespace vernier
