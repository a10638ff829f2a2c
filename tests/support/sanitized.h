// Whether the address sanitizer looks at what a test calls. Code of tests is compiled once for both.
#pragma once

extern "C" void __asan_init() __attribute__((weak));

namespace vernier {

inline bool address_sanitized() { return &__asan_init != nullptr; }

}  // namespace vernier
