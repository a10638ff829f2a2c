#include "base/program_stamp.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <string>

namespace vernier {

std::string program_stamp() {
  static const char anchor = 0;
  Dl_info info{};
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
  struct stat about {};
  // A program is known by the name it was called with, which need not lead to it from here.
  const std::string name = info.dli_fname;
  const std::string file = name.find(".so") == std::string::npos ? "/proc/self/exe" : name;
  if (stat(file.c_str(), &about) != 0) return {};
  return fmt::format("{} {}.{:09}", about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

}  // namespace vernier
