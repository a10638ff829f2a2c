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
              "tensorrt, tensorrt-rtx, or any: the first that is installed and can compile (default: any)")
              .python("engine", "inspect_engine",
                      "\"tensorrt\", \"tensorrt-rtx\", \"openvino\"; \"any\": the first of TensorRT and TensorRT-RTX "
                      "that is installed."),
          row(&CompileOptions::compute_capability, "--compute-capability X.Y",
              "Compute capability to compile for, such as 8.9 (default: that of this machine's GPU, or 8.9)")
              .python("compute_capability", "inspect_engine", "such as \"8.9\"; empty: that of this machine's GPU."),
          row(&CompileOptions::shapes, "--shapes NAME:SHAPE",
              "Shapes of inputs with dynamic dimensions, such as x:[1,3,224,224] (default: dynamic dimensions are 1)")
              .python("shapes", "inspect_engine", "{input: shape}; other dynamic dimensions are 1."));
inline constexpr auto kEngineProcess =
    table("CompileOptions", "Engine",
          row(&CompileOptions::python, "--python PROGRAM", "Python with the engine's packages (default: python3)")
              .unsaid()
              .python("python", "inspect_engine", "the Python with the engine's packages; empty: this one.")
              .typed("", "\"\""),
          row(&CompileOptions::seconds, "--timeout SECONDS", "Time limit for an answer of the engine (default: 600)")
              .from(0)
              .unsaid()
              .python("seconds", "inspect_engine", "time limit in seconds for an answer of the engine."));

/// Where the output model must meet the requirement, too.
inline constexpr auto kConfirm = table(
    "DiagnoseOptions", "Engine",
    row<EngineRunOptions>("--confirm-on ENGINE",
                          "End only if the output model also meets the requirement on the engine itself: tensorrt (or "
                          "TensorRT-RTX), openvino or onnxruntime (default: simulation alone decides)")
        .choices("onnxruntime tensorrt openvino"),
    row<EngineRunOptions>("--engine-device DEVICE", "With --confirm-on openvino: CPU, GPU.1, NPU, ... (default: CPU)"),
    row<EngineRunOptions>("--inference-precision TYPE",
                          "With --confirm-on openvino: the type in which float layers compute, such as f32 (default: "
                          "OpenVINO's choice)"));

/// Where figures are measured beside the simulation.
inline constexpr auto kMeasureOn =
    row(&EvalOptions::on, "--on ENGINE",
        "Measure on the engine itself: tensorrt (or TensorRT-RTX), openvino or onnxruntime (default: simulation)")
        .python("on", "evaluate",
                "the engine that runs the models: \"onnxruntime\", \"tensorrt\", \"openvino\"; None: simulation.")
        .common();
inline constexpr auto kOn = table("EvalOptions", "Engine (found in --python)", kMeasureOn);

}  // namespace vernier::table
