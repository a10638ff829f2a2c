// What pages draw and tables cannot say: the network as boxes and arrows, and how the values of the worst layers lie on
// their grids. Part of the report, so that a page can be made again from the JSON alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

/// A layer of the main graph, those that only move data included. Nodes come in graph order.
struct NetworkNode {
  std::string name;
  std::string op_type;
  std::vector<std::size_t> inputs;  // places in the list of the layers that its data comes from, all before it
  std::optional<std::vector<std::int64_t>> shape{};  // of its first output, as measured last; absent: not looked at
  bool operator==(const NetworkNode&) const = default;
};

/// Smallest and largest value of each channel. Above 256 channels neighbours share an entry.
struct ChannelRanges {
  std::string tensor;
  std::int64_t channels = 0;
  std::int64_t per_entry = 1;  // channels that an entry stands for; the last may stand for fewer
  std::vector<double> low, high;
};

enum class PictureRole { Input, Weight, Output };  // an input is shown as the layer reads it
VERNIER_API std::span<const std::string_view> words_of(PictureRole which);

/// How often values occur in one tensor, in bins of equal width from `first` to `last`, over the samples looked at.
struct ValuePicture {
  std::string tensor;
  PictureRole role = PictureRole::Input;
  bool logarithmic = false;             // bins of log2 |value|; zeros are counted apart
  double first = 0, last = 0;           // ends of the first and of the last bin
  std::vector<std::int64_t> reference;  // counts in the float32 network
  std::vector<std::int64_t> low;        // in the network with everything low: what is read once it is on the grid
  std::int64_t reference_zeros = 0, low_zeros = 0;  // of logarithmic pictures
  std::int64_t low_nonfinite = 0;                   // not finite where everything is low
  std::optional<double> step;                       // between neighbours of an integer grid
  std::optional<double> clip_low, clip_high;        // ends of the grid; of a logarithmic picture as log2
  std::optional<double> smallest;                   // smallest value above zero of a float grid, as log2
  std::optional<ChannelRanges> channels;            // of the reference; of a weight by output channel
};

struct LayerPicture {
  std::string layer;
  std::size_t samples = 0;  // looked at
  std::vector<ValuePicture> tensors;
};

/// An input of one sample, small.
struct SamplePicture {
  std::size_t sample = 0;
  std::string input;
  std::string png;  // Base64
};

}  // namespace vernier
