// Fields of what an engine's compiler made of a file, in the documents of several commands.
#pragma once

#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/engine.h"
#include "vernier/report/note_text.h"
#include "vernier/report/typed.h"

namespace vernier {

template <>
struct Fields<LargeFloatWeight> {
  static constexpr auto list =
      std::tuple{Field{"name", &LargeFloatWeight::name}, Field{"bytes", &LargeFloatWeight::bytes},
                 Field{"dtype", &LargeFloatWeight::dtype}, Field{"read_by", &LargeFloatWeight::read_by}};
};

template <>
struct Fields<RuntimeCheck> {
  using R = RuntimeCheck;
  static constexpr bool (*refused)(const R&) = [](const R& check) { return !check.refused.empty(); };
  static constexpr bool (*named)(const R&) = [](const R& check) { return !check.node.empty(); };
  static constexpr bool (*crashes)(const R&) = [](const R& check) { return !check.crashing_optimizers.empty(); };
  static constexpr auto list = std::tuple{Derived{"runs", [](const R& check) { return check.refused.empty(); }},
                                          Field{"refused", &R::refused, refused},
                                          Field{"runs_unoptimized", &R::runs_unoptimized, refused},
                                          Field{"changed_db", &R::changed_db},
                                          Field{"node", &R::node, named},
                                          Field{"crashing_optimizers", &R::crashing_optimizers, crashes}};
};

template <>
struct Fields<EngineTensor> {
  using R = EngineTensor;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name}, Field{"type", &R::type}, Field{"layout", &R::layout}};
};

template <>
struct Fields<EngineKernel> {
  using R = EngineKernel;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name},     Field{"kind", &R::kind},           Field{"tactic", &R::tactic},
                 Field{"inputs", &R::inputs}, Field{"constants", &R::constants}, Field{"outputs", &R::outputs},
                 Field{"nodes", &R::nodes}};
};

template <>
struct Fields<EngineAbout::Device> {
  using R = EngineAbout::Device;
  static constexpr auto list = std::tuple{Field{"name", &R::name}, Field{"compute_capability", &R::capability},
                                          Field{"memory_bytes", &R::memory}};
};

template <>
struct Fields<EngineAbout> {
  using R = EngineAbout;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name},           Field{"version", &R::version},
                 Field{"package", &R::package},     Field{"devices", &R::devices},
                 Field{"no_device", &R::no_device}, Field{"compute_capabilities", &R::capabilities}};
};

template <>
struct Fields<EngineLayer> {
  using R = EngineLayer;
  static constexpr auto list = std::tuple{Field{"name", &R::name},
                                          Field{"operator", &R::op_type},
                                          Field{"asked", &R::asked},
                                          Field{"kernel", &R::kernel},
                                          Field{"reads", &R::reads},
                                          Field{"writes", &R::writes},
                                          Field{"layers_in_kernel", &R::shared},
                                          Field{"differs", &R::differs}};
};

template <>
struct Fields<EngineReport> {
  using R = EngineReport;
  static constexpr bool (*compiled)(const R&) = [](const R& report) { return !report.compiled_for.empty(); };
  static constexpr bool (*was_refused)(const R&) = [](const R& report) { return !report.refused.empty(); };
  static std::string evidence(const R& report) {
    return report.compiled_for.empty() ? "layer information" : "compiled, not run";
  }
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"file", &R::file},
                                          Field{"sha256", &R::sha256},
                                          Field{"engine", &R::engine, compiled},
                                          Derived{"evidence", evidence},
                                          Field{"compiled_for", &R::compiled_for, compiled},
                                          Field{"bytes", &R::bytes, compiled},
                                          Field{"seconds", &R::seconds, compiled},
                                          Prose{"refused", &R::refused, was_refused},
                                          Field{"kernels", &R::kernels},
                                          Field{"layers", &R::layers},
                                          Field{"helpers", &R::helpers},
                                          Field{"float16_kernels", &R::float16_kernels},
                                          Prose{"words", &R::words},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts}};
};

}  // namespace vernier
