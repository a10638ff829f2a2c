// Engines: which one compiles or runs a file, and for what.
#pragma once

#include "table/row.h"
#include "vernier/engine.h"
#include "vernier/eval.h"

namespace vernier::table {

/// An engine's own compiler.
inline constexpr auto kEngine =
    table("CompileOptions", "Engine",
          row(&CompileOptions::engine, "--engine ENGINE",
              "tensorrt, tensorrt-rtx, or any: the first that is there and can compile (default: any)")
              .python("engine", "inspect_engine",
                      "\"tensorrt\", \"tensorrt-rtx\", \"openvino\"; \"any\": the first of TensorRT's that is there."),
          row(&CompileOptions::compute_capability, "--compute-capability X.Y",
              "What to compile for, such as 8.9 (default: the GPU that is here, else 8.9)")
              .python("compute_capability", "inspect_engine", "\"8.9\"; empty: of the GPU that is here."),
          row(&CompileOptions::shapes, "--shapes NAME:SHAPE",
              "Shapes of inputs with open dimensions, such as x:[1,3,224,224] (default: open dimensions are 1)")
              .python("shapes", "inspect_engine", "{input: shape}; open dimensions of others are 1."));
inline constexpr auto kEngineProcess =
    table("CompileOptions", "Engine",
          row(&CompileOptions::python, "--python PROGRAM", "Python that has the engine's packages (default: python3)")
              .unsaid()
              .python("python", "inspect_engine", "the program that has the engine's packages; empty: this one.")
              .typed("", "\"\""),
          row(&CompileOptions::seconds, "--timeout SECONDS", "Longest time for an answer of the engine (default: 600)")
              .from(0)
              .unsaid()
              .python("seconds", "inspect_engine", "that the engine may take."));

/// Where the output model must meet the requirement, too.
inline constexpr auto kConfirm =
    table("DiagnoseOptions", "Engine",
          row<EngineRunOptions>(
              "--confirm-on ENGINE",
              "End only when the written file meets the requirement on tensorrt (or TensorRT-RTX), openvino "
              "or onnxruntime themselves, too (default: in simulation)")
              .choices("onnxruntime tensorrt openvino"),
          row<EngineRunOptions>("--device DEVICE", "With --confirm-on openvino: CPU, GPU.1, NPU, ... (default: CPU)"),
          row<EngineRunOptions>(
              "--inference-precision TYPE",
              "With --confirm-on openvino: the type that float layers compute in, such as f32 (default: its "
              "own)"));

/// Where figures are measured beside the simulation.
inline constexpr auto kMeasureOn =
    row(&EvalOptions::on, "--on ENGINE",
        "Measure on tensorrt (or TensorRT-RTX), openvino or onnxruntime themselves, not in simulation alone (default: "
        "simulation)")
        .python("on", "evaluate",
                "the engine that runs the models: \"onnxruntime\", \"tensorrt\", \"openvino\"; None: float32 kernels "
                "with our rounding behind them.");
inline constexpr auto kOn = table("EvalOptions", "Engine (found in --python)", kMeasureOn);

}  // namespace vernier::table
