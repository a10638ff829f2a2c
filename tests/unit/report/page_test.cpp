#include "report/html/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>

#include "cases.h"
#include "json/json.h"
#include "report/html/drawing.h"
#include "report/html/parts.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/pictures.h"

namespace vernier {
namespace {

std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t start = text.find(open) + open.size();
  return text.substr(start, text.find(close, start) - start);
}

Json data_of(const std::string& page) {
  return parse_json(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"), "the page");
}

/// The page without its style and its scripts, which every page shares.
std::string own_part(std::string page) {
  for (const std::string& part : {std::string(page_style()), page_script()}) {
    const std::size_t at = page.find(part);
    EXPECT_NE(at, std::string::npos);
    page.replace(at, part.size(), "...");
  }
  return page;
}

LayerPicture picture(const std::string& layer) {
  ValuePicture input;
  input.tensor = "in of " + layer;
  input.role = PictureRole::Input;
  input.first = -3;
  input.last = 6;
  input.reference.assign(64, 1000);
  input.low.assign(64, 900);
  input.step = 0.047;
  input.clip_low = -6;
  input.clip_high = 6;
  input.channels = ChannelRanges{"x", 256, 1, std::vector<double>(256, -1.5), std::vector<double>(256, 2.25)};
  ValuePicture weight = input;
  weight.tensor = "w";
  weight.role = PictureRole::Weight;
  weight.channels = ChannelRanges{"w", 256, 1, std::vector<double>(256, -0.1), std::vector<double>(256, 0.1)};
  ValuePicture output = input;
  output.role = PictureRole::Output;
  return {layer, 4, {input, weight, output}};
}

/// A network of blocks of five layers with a branch around each, every one of them in the table.
DiagnoseReport large(std::size_t layers) {
  DiagnoseReport report = requirement_met();
  report.layers.clear();
  for (std::size_t i = 0; i < layers; ++i) {
    NetworkNode node{"backbone/stage/block/convolution_" + std::to_string(i), i % 5 == 4 ? "Add" : "Conv", {}};
    if (i > 0) node.inputs.push_back(i - 1);
    if (i % 5 == 4 && i > 4) node.inputs.insert(node.inputs.begin(), i - 5);
    LayerRow row;
    row.name = node.name;
    row.op_type = node.op_type;
    row.format = Format::Int8;
    row.own_sqnr_db = 31.123456789 + static_cast<double>(i % 17);
    row.propagated_db = 22.987654321;
    row.sqnr_db = 21.123456789;
    row.sensitivity_db = 45.123456789;
    row.share = 1.0 / static_cast<double>(i + 2);
    row.values = 123456789;
    row.saturated = static_cast<std::int64_t>(i);
    row.macs = 123456789;
    report.network.push_back(node);
    report.layers.push_back(row);
  }
  for (std::size_t i = 0; i < 20; ++i) report.pictures.push_back(picture(report.layers[i].name));
  for (int i = 0; i < 2000; ++i) {  // a long search, whose every trial names hundreds of layers
    report.kept->tests.push_back(
        {std::vector<std::string>(300, report.layers[0].name), Verdict::Bad, 12.5, 2.5, true, ""});
  }
  return report;
}

TEST(Page, OfAMetRequirementIsAsReviewed) {
  DiagnoseReport report = requirement_met();
  report.network = {{"features.17.conv.0.0", "Conv", {}}, {"relu", "Relu", {0}}, {"classifier.1", "Gemm", {0, 1}}};
  report.pictures = {picture("classifier.1")};
  report.pictures[0].tensors.resize(1);
  report.pictures[0].tensors[0].channels.reset();
  expect_golden("page_met.html", own_part(report_to_html(report)));
}

TEST(Page, NeedsNothingFromOutside) {
  const std::string page = report_to_html(requirement_met());
  for (const char* outside : {"<link", "<img", "@import", "src=", "url(", "fetch(", "XMLHttpRequest", "innerHTML"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(Page, HoldsTheWholeReport) {
  const DiagnoseReport report = requirement_met();
  const Json data = data_of(report_to_html(report));
  EXPECT_EQ(data.at("report").at("layers").size(), report.layers.size());
  EXPECT_EQ(data.at("report").at("kept").at("certificate").size(), 3U);
  EXPECT_DOUBLE_EQ(data.at("report").at("latency").at("float_ms").number(), 12.34);
  EXPECT_EQ(data.at("words").at("lowered"), 12);
  EXPECT_EQ(data.at("words").at("final"), "24.3 dB");
}

TEST(Page, HostileNamesStayData) {
  DiagnoseReport report = hostile();
  const std::string name = "</script><script>alert(1)</script>\xE2\x80\xA8'\"&{{script}}\xFF";
  report.layers[0].name = name;
  report.network = {{name, "<b>", {}}};
  report.model_file = name;
  report.warnings = {Note(name)};
  const std::string page = report_to_html(report);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("\xE2\x80\xA8"), std::string::npos);
  // Three scripts that end: ours, the data, and none that a name opened.
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = page.find("</script>", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 2U);
  EXPECT_EQ(data_of(page).at("report").at("layers").at(0).at("name"),
            "</script><script>alert(1)</script>\xE2\x80\xA8'\"&{{script}}\xEF\xBF\xBD");
}

TEST(Page, OfAThousandLayersStaysBelowTwoMegabytes) { EXPECT_LT(report_to_html(large(1000)).size(), 2'000'000U); }

TEST(Page, OfTenThousandLayersIsUsable) {
  const DiagnoseReport report = large(10000);
  EXPECT_LT(report_to_html(report).size(), 8'000'000U);
  EXPECT_LE(draw_network(report).boxes.size(), kMostBoxes);
}

TEST(Page, IsTheSameAfterAWayThroughJson) {
  DiagnoseReport report = large(30);
  report.kept->tests.clear();
  EXPECT_EQ(report_to_html(diagnose_report_from_json(report_to_json(report), "report.json")), report_to_html(report));
}

TEST(Drawing, CollapsesHarmlessLayersAndKeepsEveryNodeOnce) {
  const DiagnoseReport report = large(3000);
  const Drawing drawing = draw_network(report);
  EXPECT_LE(drawing.boxes.size(), kMostBoxes);
  EXPECT_GT(drawing.boxes.size(), 20U);
  std::vector<int> seen(report.network.size(), 0);
  for (const DrawnBox& box : drawing.boxes) {
    for (const std::size_t node : box.nodes) ++seen[node];
  }
  EXPECT_EQ(seen, std::vector<int>(report.network.size(), 1));
  for (const auto& [from, to] : drawing.edges) EXPECT_LT(from, to);
}

TEST(Drawing, PlacesNoTwoBoxesOnOneSpot) {
  const Drawing drawing = draw_network(large(400));
  for (std::size_t a = 0; a < drawing.boxes.size(); ++a) {
    EXPECT_LE(drawing.boxes[a].x + drawing.box_width, drawing.width);
    EXPECT_LE(drawing.boxes[a].y + drawing.box_height, drawing.height);
    for (std::size_t b = 0; b < a; ++b) {
      const bool apart = std::abs(drawing.boxes[a].x - drawing.boxes[b].x) >= drawing.box_width ||
                         std::abs(drawing.boxes[a].y - drawing.boxes[b].y) >= drawing.box_height;
      EXPECT_TRUE(apart) << a << " and " << b;
    }
  }
}

TEST(Drawing, GoesStraightDownHoweverOftenItBranches) {
  DiagnoseReport report = requirement_met();
  report.network = {{"first", "Conv", {}}};
  for (std::size_t last = 0; last < 40; last += 3) {  // two branches that meet again
    report.network.push_back({"left", "Conv", {last}});
    report.network.push_back({"right", "Conv", {last}});
    report.network.push_back({"join", "Concat", {last + 1, last + 2}});
  }
  std::set<double> across;
  for (const DrawnBox& box : draw_network(report).boxes) across.insert(box.x);
  EXPECT_LE(across.size(), 8U);  // two slots in each of at most four columns
}

TEST(Drawing, GivesABadLayerABoxOfItsOwn) {
  DiagnoseReport report = large(2000);
  for (LayerRow& row : report.layers) row.share = 0.0001;
  report.layers[1234].share = 0.8;
  const Drawing drawing = draw_network(report);
  const auto alone = std::count_if(drawing.boxes.begin(), drawing.boxes.end(),
                                   [](const DrawnBox& box) { return box.nodes == std::vector<std::size_t>{1234}; });
  EXPECT_EQ(alone, 1);
}

TEST(Drawing, TakesNoHarmFromAReportThatSomebodyWrote) {
  DiagnoseReport report = requirement_met();
  report.network = {{"a", "Conv", {0, 7}}, {"b", "Conv", {1, 0, 0, 99999999999}}, {"b", "Conv", {}}};
  const Drawing drawing = draw_network(report);
  EXPECT_EQ(drawing.edges, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}}));
}

TEST(Drawing, OfAReportWithoutANetworkIsEmpty) { EXPECT_TRUE(draw_network(requirement_met()).boxes.empty()); }

}  // namespace
}  // namespace vernier
