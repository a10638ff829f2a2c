// Keys of causes, repairs and pictures (field.h).
#pragma once

#include <tuple>

#include "report/json/field.h"
#include "vernier/report/causes.h"
#include "vernier/report/pictures.h"

namespace vernier {

template <>
struct Fields<NetworkNode> {
  using R = NetworkNode;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name}, Field{"op_type", &R::op_type}, Field{"inputs", &R::inputs}};
};

template <>
struct Fields<ChannelRanges> {
  using R = ChannelRanges;
  static constexpr auto list =
      std::tuple{Field{"tensor", &R::tensor}, Field{"channels", &R::channels}, Field{"per_entry", &R::per_entry},
                 Field{"low", &R::low}, Field{"high", &R::high}};
};

template <>
struct Fields<ValuePicture> {
  using R = ValuePicture;
  static constexpr auto list = std::tuple{Field{"tensor", &R::tensor},
                                          Field{"role", &R::role},
                                          Field{"logarithmic", &R::logarithmic},
                                          Field{"first", &R::first},
                                          Field{"last", &R::last},
                                          Field{"reference", &R::reference},
                                          Field{"low", &R::low},
                                          Field{"reference_zeros", &R::reference_zeros},
                                          Field{"low_zeros", &R::low_zeros},
                                          Field{"low_nonfinite", &R::low_nonfinite},
                                          Field{"step", &R::step},
                                          Field{"clip_low", &R::clip_low},
                                          Field{"clip_high", &R::clip_high},
                                          Field{"smallest", &R::smallest},
                                          Field{"channels", &R::channels}};
};

template <>
struct Fields<LayerPicture> {
  using R = LayerPicture;
  static constexpr auto list =
      std::tuple{Field{"layer", &R::layer}, Field{"samples", &R::samples}, Field{"tensors", &R::tensors}};
};

template <>
struct Fields<CauseFigure> {
  using R = CauseFigure;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"value", &R::value}, Field{"unit", &R::unit}};
};

template <>
struct Fields<Cause> {
  using R = Cause;
  static constexpr auto list = std::tuple{Field{"id", &R::id},           Field{"layer", &R::layer},
                                          Field{"tensor", &R::tensor},   Field{"confidence", &R::confidence},
                                          Field{"figures", &R::figures}, Field{"sentence", &R::sentence},
                                          Field{"repairs", &R::repairs}};
};

template <>
struct Fields<Blame> {
  using R = Blame;
  static constexpr auto list = std::tuple{
      Field{"layer", &R::layer},        Field{"weights", &R::weights},   Field{"activations", &R::activations},
      Field{"clipping", &R::clipping},  Field{"rounding", &R::rounding}, Field{"accumulation", &R::accumulation},
      Field{"inherited", &R::inherited}};
};

template <>
struct Fields<RepairTried> {
  using R = RepairTried;
  static constexpr auto list = std::tuple{Field{"id", &R::id},
                                          Field{"layers", &R::layers},
                                          Field{"before_db", &R::before_db},
                                          Field{"after_db", &R::after_db},
                                          Field{"neutral_db", &R::neutral_db},
                                          Field{"accepted", &R::accepted},
                                          Field{"why", &R::why}};
};

template <>
struct Fields<Explanation> {
  using R = Explanation;
  static constexpr auto list =
      std::tuple{Field{"examined", &R::examined}, Field{"causes", &R::causes},       Field{"blame", &R::blame},
                 Field{"repairs", &R::repairs},   Field{"proposals", &R::proposals}, Field{"samples", &R::samples}};
};

}  // namespace vernier
