// What a fuzz target gives: libFuzzer's entry, and seeds for the plain main that stands in for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Well-formed inputs to mutate.
std::vector<std::string> fuzz_seeds();
