// Angles of positions stay in float32, whatever the samples show.
#include "plan/angle_layers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "plan/scheme.h"
#include "tiny_graph.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier {
namespace {

using testing::parse_model;
using AngleNames = std::set<std::string>;

AngleNames angles_of(const std::string& graph) {
  const Model model = parse_model(graph);
  return angle_layers(model, find_layers(model), infer_types(model));
}

/// Rotary angles, as a MatMul of frequencies and positions, once more beside themselves.
constexpr const char* kRotary = R"(
  g (int64[1,3] ids, float[1,3,4] x) => (float[1,3,4] y)
    <float[1,2,1] frequencies = {1, 0.01}, int64[1] axis = {1}, float one = {1}> {
    [floats] f = Cast <to = 1> (ids)
    [row] r = Unsqueeze (f, axis)
    [product] p = MatMul (frequencies, r)
    [turn] t = Transpose <perm = [0, 2, 1]> (p)
    [both] b = Concat <axis = 2> (t, t)
    [cosine] c = Cos (b)
    [scale] s = Mul (c, one)
    [rotate] y = Mul (x, s)
  })";

TEST(AngleLayers, OfRotaryEmbeddings) { EXPECT_EQ(angles_of(kRotary), (AngleNames{"product", "cosine"})); }

TEST(AngleLayers, OfTimeSteps) {
  EXPECT_EQ(angles_of(R"(
    g (float[1] t) => (float[1,2] y) <float thousand = {1000}, float[1,2] frequencies = {1, 0.01}, float half = {0.5},
      int64[1] axis = {1}> {
      [scale] s = Mul (t, thousand)
      [column] c = Unsqueeze (s, axis)
      [outer] p = Mul (c, frequencies)
      [shift] a = Add (p, half)
      [sine] y = Sin (a)
    })"),
            (AngleNames{"scale", "outer", "shift", "sine"}));
}

TEST(AngleLayers, OfAnEinsumAndOfAQuotient) {
  EXPECT_EQ(angles_of(R"(
    g (int64[3] ids) => (float[3,2] y, float[3,1] z) <float[2] frequencies = {1, 0.01}, float[1,2] lengths = {1, 100},
      int64[1] axis = {1}> {
      [floats] f = Cast <to = 1> (ids)
      [outer] p = Einsum <equation = "i , j -> i j"> (f, frequencies)
      [sine] y = Sin (p)
      [column] c = Unsqueeze (f, axis)
      [quotient] q = Div (c, lengths)
      [cosine] z = Cos (q)
    })"),
            (AngleNames{"outer", "sine", "quotient", "cosine"}));
}

TEST(AngleLayers, NotOfActivations) {
  EXPECT_EQ(angles_of(R"(
    g (float[1,2] x) => (float[1,2] y, float[1,2] z) <float[2,2] w = {1, 2, 3, 4}, float[1,2] a = {1, 2},
      float scale = {30}> {
      [layer] h = MatMul (x, w)
      [sine] y = Sin (h)
      [stretch] s = Mul (h, a)
      [snake] q = Sin (s)
      [wave] e = Mul (x, scale)
      [cosine] c = Cos (e)
      [sum] z = Add (q, c)
    })"),
            AngleNames{});
}

TEST(AngleLayers, StayInFloat32UnlessNamed) {
  const Model model = parse_model(kRotary);
  const std::vector<Layer> layers = find_layers(model);
  for (const Format low : {Format::Float16, Format::BFloat16}) {
    PrecisionOptions options;
    options.low = {low};
    AssignedFormats assigned = assign_formats(model, layers, options);
    EXPECT_EQ(assigned.plan.format_of("product"), Format::Float32);
    EXPECT_EQ(assigned.plan.format_of("cosine"), Format::Float32);
    EXPECT_EQ(assigned.plan.format_of("rotate"), low);
    EXPECT_EQ(assigned.candidates, (std::vector<std::string>{"scale", "rotate"})) << "nothing to search";
    ASSERT_EQ(assigned.notes.size(), 1U);
    EXPECT_EQ(assigned.notes.front().code, "angles-in-float32");
    options.layer_precisions = {{"product", low}};
    assigned = assign_formats(model, layers, options);
    EXPECT_EQ(assigned.plan.format_of("product"), low);
    EXPECT_EQ(assigned.plan.format_of("cosine"), Format::Float32);
  }
  PrecisionOptions options;
  options.high = Format::Float16;
  EXPECT_EQ(assign_formats(model, layers, options).plan.format_of("cosine"), Format::Float32) << "of the high format";
}

}  // namespace
}  // namespace vernier
