#include "jobs/diagnose/layer_times.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "base/median.h"
#include "distributed/wire.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "json/fields.h"
#include "vernier/error.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

constexpr std::size_t kRuns = 9;

/// A folder of its own in the system's place for such, removed at the end.
class ProfileFolder {
 public:
  ProfileFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vernier-profile-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw Error(ErrorKind::Input, pattern + ": cannot be made");
    path_ = pattern;
  }
  ~ProfileFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ProfileFolder(const ProfileFolder&) = delete;
  ProfileFolder& operator=(const ProfileFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// One line of ONNX Runtime's profile.
struct ProfileEvent {
  std::string category, name;
  double microseconds = 0;
  struct Arguments {
    std::string op_type;
  } arguments;
};

struct Profile {
  std::map<std::string, double> nodes;  // median microseconds
  std::map<std::string, double> by_operator;
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

namespace {

Profile profile_of(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample) {
  const ProfileFolder folder;
  {
    const Session session(
        runtime, model,
        {.optimize = true, .threads = 1, .integer_kernels = true, .profile = (folder.path() / "profile").string()});
    for (std::size_t run = 0; run < kRuns; ++run) session.run(sample);
  }
  const std::filesystem::directory_iterator files(folder.path());
  if (files == std::filesystem::directory_iterator()) {
    throw Error(ErrorKind::Backend, "this ONNX Runtime gives no profile", "another --cost");
  }
  std::map<std::string, std::vector<double>> times;
  std::map<std::string, std::string> operators;
  constexpr std::string_view kEnd = "_kernel_time";
  for (const ProfileEvent& event : parse_as<std::vector<ProfileEvent>>(read_text(files->path()), "the profile")) {
    if (event.category != "Node" || !event.name.ends_with(kEnd)) continue;
    const std::string node = event.name.substr(0, event.name.size() - kEnd.size());
    times[node].push_back(event.microseconds);
    operators[node] = event.arguments.op_type;
  }
  Profile profile;
  for (const auto& [node, durations] : times) {
    profile.nodes[node] = median(durations);
    profile.by_operator[operators[node]] += profile.nodes[node];
  }
  return profile;
}

/// Elements that one run converts: of the tensors behind QuantizeLinear nodes that are no weights.
double converted_elements(const Model& low) {
  const std::map<std::string, ValueType> types = infer_types(low);
  double elements = 0;
  for (const onnx::NodeProto& node : low.proto.graph().node()) {
    if (node.op_type() != "QuantizeLinear") continue;
    const auto known = types.find(node.output(0));
    double count = 1;
    if (known != types.end()) {
      for (const std::int64_t dim : known->second.shape) count *= static_cast<double>(std::max<std::int64_t>(dim, 1));
    }
    elements += count;
  }
  return elements;
}

}  // namespace

LayerTimes measure_layer_times(const std::shared_ptr<const Runtime>& runtime, const Model& high, const Model& low,
                               const Sample& sample) {
  LayerTimes times;
  times.high = profile_of(runtime, high, sample).nodes;
  const Profile quantized = profile_of(runtime, low, sample);
  times.low = quantized.nodes;
  const auto spent = [&](const char* name) {
    const auto found = quantized.by_operator.find(name);
    return found == quantized.by_operator.end() ? 0.0 : found->second;
  };
  const double elements = converted_elements(low);
  if (elements > 0) times.per_converted_element = (spent("QuantizeLinear") + spent("DequantizeLinear")) / elements;
  return times;
}

LayerTimes times_of_first(Ranks& ranks, const std::function<LayerTimes()>& measure) {
  if (ranks.alone()) return measure();
  Packer packer;
  if (ranks.first()) {
    const LayerTimes times = measure();
    for (const auto* layers : {&times.high, &times.low}) {
      packer.put(layers->size());
      for (const auto& [layer, time] : *layers) {
        packer.put(layer);
        packer.put(time);
      }
    }
    packer.put(times.per_converted_element);
  }
  const std::vector<Message> all = ranks.share(packer.take());
  Unpacker unpacker(all.front());
  LayerTimes times;
  for (auto* layers : {&times.high, &times.low}) {
    for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
      const std::string layer = unpacker.get_text();
      (*layers)[layer] = unpacker.get<double>();
    }
  }
  times.per_converted_element = unpacker.get<double>();
  return times;
}

}  // namespace vernier
