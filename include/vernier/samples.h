// Where inputs come from. A source yields one sample at a time, so that memory does not grow with the number of
// samples. It reads files; it does not know models beyond the names, types and shapes of their inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/export.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

/// One graph input as a source sees it. A dimension below zero is dynamic.
struct InputInfo {
  std::string name;
  Dtype dtype = Dtype::Float32;
  Shape shape;
  /// For integer inputs that index something (an embedding, a Gather): the number of valid indices; 0 when unknown.
  std::int64_t index_limit = 0;
  bool any_shape = false;  // the model gives it no shape, which is not that of a scalar
};

/// One sample: a tensor for every graph input, by name.
using Sample = std::map<std::string, Tensor>;

/// Yours where the samples are not in files: derive from it and give it to SourceOptions::source.
class VERNIER_API SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::size_t size() const = 0;
  /// Sample `index` < size(), the same each time. What open_samples() gives is checked against the inputs: names,
  /// dtypes, shapes. Called from several threads at once, for a sample more than once.
  virtual Sample at(std::size_t index) const = 0;
  /// One line for reports: "photos.npy, 20 samples".
  virtual std::string description() const = 0;
  /// True for random data, whose figures say little.
  virtual bool is_random() const { return false; }
  /// True where images are read, which ImageOptions prepare.
  virtual bool reads_images() const { return false; }
  /// Images of a format that Vernier does not decode. They lie among those that it reads, and are no samples.
  virtual std::vector<std::string> skipped_images() const { return {}; }
};

/// The channels of an image, in order: three, or the brightness alone. "rgb", "bgr", "y".
enum class ImageColor { Rgb, Bgr, Y };
VERNIER_API std::span<const std::string_view> words_of(ImageColor which);
/// "nchw", "nhwc".
enum class ImageLayout { Nchw, Nhwc };
VERNIER_API std::span<const std::string_view> words_of(ImageLayout which);

struct ImageOptions {
  /// "short-crop:256,224", "stretch:WxH", "letterbox:SIZE[,pad=114,center|topleft]", "height:32". Empty: the input's
  /// size.
  std::string geometry;
  std::vector<float> mean;   // one or three values, subtracted; empty: 0
  std::vector<float> scale;  // --image-std: one or three divisors; empty: 1
  ImageColor color = ImageColor::Rgb;
  std::optional<ImageLayout> layout;  // absent: guessed from the input's shape
};

/// Where samples come from: `source`, else `arrays`, else `location`; where all three are empty they are random.
struct SourceOptions {
  /// Samples of the caller's. They are checked as those of files are, become the inputs' types as those do, and are
  /// shared, not copied, where they need not change.
  std::shared_ptr<const SampleSource> source;
  /// One array an input whose first axis counts the samples, as in a .npz. Samples share their bytes.
  std::map<std::string, Tensor> arrays;
  std::string location;              // --data
  std::vector<std::string> further;  // more locations, in any form: their samples follow in this order
  bool split_batch = false;
  /// --load-inputs: arrays of names that are no inputs are passed over, as where a part of a network is fed with what
  /// was saved of all its tensors.
  bool spare_names = false;
  std::size_t limit = 0;  // at most this many samples; 0: all
  ImageOptions image;
  std::map<std::string, std::pair<double, double>> value_ranges;  // --val-range; "" is the default for all inputs
  std::uint64_t seed = 1;
  std::size_t random_samples = 1;
  /// --input-shapes: dimensions for dynamic inputs of random data.
  std::map<std::string, Shape> shapes;
  /// Inputs that are not in the files because they carry state (--carry): the source fills zeros of the given shape.
  std::vector<std::string> carried;
  /// Data loader scripts: the Python that runs them (a path, or a name on PATH), the seconds that one may take (0:
  /// any), and what is polled meanwhile; true ends the script and the opening.
  std::string python = "python3";
  double script_seconds = 0;
  std::function<bool()> interrupted;

  bool is_random() const { return source == nullptr && arrays.empty() && location.empty(); }
};

/// Opens --data as docs/contract.md, 5 defines it: .npy, .npz, a folder of .npz, a folder of images, one image, saved
/// inputs JSON, ONNX test data folders, a data loader script (file.py[:function], run here and now), or random data
/// when there is none of these. Several locations are one source; those behind the limit are not opened. Errors: Input,
/// naming the file, the input, what was expected and what was found. Zero samples is an error. Backend when Python
/// cannot be started; Interrupted.
VERNIER_API std::unique_ptr<SampleSource> open_samples(const SourceOptions& options,
                                                       const std::vector<InputInfo>& inputs);

/// Samples that are in memory, as a source. `name` stands for them in reports and messages.
VERNIER_API std::shared_ptr<const SampleSource> samples_in_memory(std::vector<Sample> samples,
                                                                  std::string name = "samples in memory");

/// Samples that a function makes when they are asked for, as SampleSource::at() does.
VERNIER_API std::shared_ptr<const SampleSource> samples_by(std::size_t count, std::function<Sample(std::size_t)> at,
                                                           std::string name = "samples of a function");

}  // namespace vernier
