#include "jobs/common/node_times.h"

#include <filesystem>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/median.h"
#include "base/scratch_folder.h"
#include "engines/onnxruntime/runtime.h"
#include "json/fields.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

/// One line of ONNX Runtime's profile.
struct ProfileEvent {
  std::string category, name;
  double microseconds = 0;
  struct Arguments {
    std::string op_type;
  } arguments;
};

}  // namespace

template <>
struct Fields<ProfileEvent::Arguments> {
  using R = ProfileEvent::Arguments;
  static constexpr bool open = true;
  static constexpr auto list = std::tuple{Field{"op_name", &R::op_type, optional_field<R>}};
};

template <>
struct Fields<ProfileEvent> {
  using R = ProfileEvent;
  static constexpr bool open = true;
  static constexpr auto list =
      std::tuple{Field{"cat", &R::category, optional_field<R>}, Field{"name", &R::name, optional_field<R>},
                 Field{"dur", &R::microseconds, optional_field<R>}, Field{"args", &R::arguments, optional_field<R>}};
};

std::vector<NodeTime> node_times(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                 SessionOptions options, const Sample& sample, std::size_t runs) {
  const ScratchFolder folder;
  options.any_outputs = true;
  options.profile = (folder / "profile").string();
  {
    const Session session(runtime, model, options);
    for (std::size_t run = 0; run < runs; ++run) session.run(sample);
  }
  const std::filesystem::directory_iterator files(folder.path());
  if (files == std::filesystem::directory_iterator()) {
    throw Error(ErrorCode::RuntimeFails, "this ONNX Runtime writes no profile");
  }
  std::vector<NodeTime> times;
  std::vector<std::vector<double>> durations;
  std::map<std::string, std::size_t> place_of;
  constexpr std::string_view kEnd = "_kernel_time";
  for (const ProfileEvent& event : parse_as<std::vector<ProfileEvent>>(read_text(files->path()), "the profile")) {
    if (event.category != "Node" || !event.name.ends_with(kEnd)) continue;
    const std::string node = event.name.substr(0, event.name.size() - kEnd.size());
    const auto [place, added] = place_of.emplace(node, times.size());
    if (added) {
      times.push_back({node, event.arguments.op_type, 0});
      durations.emplace_back();
    }
    durations[place->second].push_back(event.microseconds);
  }
  for (std::size_t i = 0; i < times.size(); ++i) times[i].microseconds = median(std::move(durations[i]));
  return times;
}

}  // namespace vernier
