// What to say of a file that is not there, or is a folder.
#pragma once

#include <filesystem>
#include <string>

namespace vernier {

/// "did you mean digits.onnx?", of the names in the same folder; empty where none is near.
std::string near_files(const std::filesystem::path& missing);

/// "it holds digits.onnx, calib.npz and 3 more", files of that extension first.
std::string contents_text(const std::filesystem::path& folder, const std::string& extension);

}  // namespace vernier
