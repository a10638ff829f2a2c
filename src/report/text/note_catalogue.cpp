#include "report/text/note_catalogue.h"

namespace vernier {
namespace {

// In the order of their codes.
constexpr NoteTemplate kNotes[] = {
    {"adds-made-biases", "{count:#Add} became a bias"},
    {"all-scales-kept", "all {tensors:#quantized tensor} start with the scales of the file"},
    {"angles-in-float32",
     "{layers:#layer} ({layers:3}) {layers:?makes|make} sines and cosines of positions and {layers:?stays|stay} in "
     "FP32, because large positions lose whole turns in narrower formats. ‹layer-precisions› overrides this"},
    {"array-replaced",
     "{file}: '{array}' replaces an array of the same name from an earlier file (to append iterations instead: "
     "‹vernier data concat›)"},
    {"arrays-as-iterations", "{file}: its arrays are read as {iterations} iterations along their first axis"},
    {"artifact-missing", "‹artifacts› {file}: missing after a check"},
    {"attention-parted",
     "{count:#product} of attention with as many heads as rows {count:?has|have} an Unsqueeze in front, because "
     "OpenVINO 2026.4 can confuse the two"},
    {"automatic-calibration", "automatic calibration: {answer:text}"},
    {"axes-share-a-name",
     "axes {axis} and {other_axis} of input '{input}' share the name '{name}', but TensorRT allows one size per name. "
     "If the sizes differ, rename one, or fix the shape (‹vernier surgeon sanitize --override-input-shapes "
     "{input}:[[...]]›)"},
    {"batch-as-one-sample", "the data are one sample, a batch of {batch}. ‹split-batch› makes them {batch} samples"},
    {"batch-norms-folded", "{count:#BatchNormalization node} folded into the layer before"},
    {"batch-norms-not-folded",
     "{nodes:#BatchNormalization node} not folded into the layer before ({nodes}): rounding its weight would then cost "
     "accuracy"},
    {"best-plan-not-kept", "{error:text}: the best plan so far is not kept"},
    {"builder-setting-without-effect", "{setting:text} has no effect: no engine is built"},
    {"cache-states-not-measured",
     "{outputs:#output} ({outputs:2}) {outputs:?is a state|are states} of a cache and {outputs:?is|are} not measured. "
     "‹outputs› chooses the measured outputs"},
    {"caches-found", "{outputs:#KV cache} found: {outputs:2}"},
    {"calibrated-on-compared-samples",
     "the compared samples also calibrated the ranges (‹calibration-data› chooses others)"},
    {"certificate-faulty", "unstable: the certificate does not follow from the trials: {fault:text}"},
    {"changed-by-optimizations",
     "with its default optimizations, ONNX Runtime {version} changes the result of the output model: {db:.1f} dB "
     "against the same file without them"},
    {"check-like-missing-program",
     "the check ended like a shell that cannot start a program. Check that all its commands exist"},
    {"check-unstable",
     "the check is unstable: it first {passed_first:?passed|failed} a set of {kept:#kept layer}, then "
     "{passed_first:?failed|passed} it"},
    {"checker-refuses-node", "ONNX's checker refuses the model with this node: {error}"},
    {"colours-not-told-apart", "these statistics cannot tell RGB from BGR; labels could"},
    {"constant-ifs-inlined", "{count:#If node} with a constant condition inlined"},
    {"constants-folded", "{count:#constant node} folded"},
    {"constants-folded-in-pass", "Pass {pass}: {count:#constant node} folded"},
    {"constants-made-initializers", "{count:#Constant node} made initializers"},
    {"constants-not-folded", "{count:#constant node} not folded: {error:text}"},
    {"contradiction-not-repeated",
     "two answers contradict each other, and the search ended before it could repeat them"},
    {"dead-nodes-removed", "removed {count:#node} that no output needs"},
    {"does-not-run-without-marks", "it does not run without the marked tensors: {error:text}"},
    {"engine-computes-otherwise",
     "{engine} computes {nodes:#node} differently, first '{first}', so the figures do not hold for {engine}: "
     "{why:text}. Fix: {cure:text}"},
    {"engine-disagrees",
     "{engine}: {there:text} on the engine, {simulated:text} simulated. The engine's figure counts"},
    {"engine-options-without-effect", "{options:text} {options:?has|have} no effect, because no engine runs"},
    {"engine-refuses", "the engine rejected the output model: {why:text}"},
    {"engine-refuses-nodes",
     "{engine} rejects the file because of {nodes:#node}, first '{first}': {why:text}. Fix: {cure:text}"},
    {"engine-runs-other-format",
     "{engine} runs {layers:#layer} in {runs_in:format}, not in {asked:format} as in the file: {layers}"},
    {"engine-without-marks", "{engine}: {changes:text}"},
    {"equal-nodes-merged", "{count:#duplicate node} merged"},
    {"everything-costs-no-more",
     "keeping everything costs no more than the set that was found: {cost:.4g}, not {found:.4g}"},
    {"exact-edits-differ", "the outputs differ although all edits were exact. Look at the figures"},
    {"exact-output-differs",
     "output '{output}' ({what}) is not part of the requirement and differs from the float model in {differing} of "
     "{samples:#sample}"},
    {"factors-folded",
     "{count:#constant factor} after {count:?a product|products} of matrices folded into the {count:?weight|weights}, "
     "because OpenVINO 2026.4 can return wrong results for them"},
    {"fewer-iterations",
     "{file} has {iterations:#iteration}, other files have {others}: the last samples lack its arrays"},
    {"file-already-low",
     "the file is already in low precision ({formats}). It is compared with its own FP32 network and weights; its FP32 "
     "layers stay in FP32"},
    {"file-defect", "'{node}': {text:text}"},
    {"file-does-not-run", "not measured, because the file does not run: {error:text}"},
    {"float-layers-shielded",
     "ONNX Runtime would quantize the weights of {count:#FP32 layer} between quantized tensors. A Sum with one input "
     "in front of {count:?it|each} prevents that"},
    {"float-weights-in-file",
     "{layers:#layer} of {file} {layers:?has|have} quantized inputs but FP32 weights. This run also quantizes the "
     "weights ({layers})"},
    {"float64-layers-left",
     "{layers:#layer} in float64 {layers:?stays as it is and is|stay as they are and are} not measured ({layers})"},
    {"format-not-taken",
     "[layer '{layer}' runs][layers {layers} run] in {format:format}, not {asked:format}: {reason:text}"},
    {"format-without-layers", "no layer runs in {format:format}, because the other formats come first"},
    {"formats-in-engine", "{model}: precision options have no effect on a built engine"},
    {"formats-in-file", "{model}: the file sets the format of each layer, so precision options have no effect"},
    {"fp8-not-optimized",
     "ONNX Runtime cannot optimize FP8 files: 1.31 refuses them, and 1.32 drops a Relu before a QuantizeLinear. Pass "
     "‹graph-optimization-level› ORT_ENABLE_BASIC"},
    {"functions-inlined", "{count:#function} inlined"},
    {"gpu-copies",
     "ONNX Runtime copies up to {tensors} tensors between CPU and GPU in each run, around nodes without a CUDA kernel"},
    {"gpu-parts",
     "the network did not fit on the GPU as a whole and ran in up to {parts} parts, which is slow. Raise ‹gpu-memory› "
     "or use a GPU with more memory"},
    {"half-steps",
     "TensorRT computes {layers:#layer} ({layers:3}) with FP16 intermediate values, which loses large and small ones "
     "(run, TensorRT-RTX 1.6.1). ‹accumulate› float16 simulates this for LogSoftmax, ReduceLogSumExp and "
     "LpNormalization; ‹vernier check placement› explains how to rewrite them"},
    {"high-format-worse",
     "{high} does more damage than the low formats. Every layer in {high}: {with:text}. Every layer low: "
     "{without:text}. Try ‹precision› float32"},
    {"idle-nodes-removed", "{count:#node} without effect removed"},
    {"if-inlined",
     "If '{node}': '{condition}' is {taken} for {samples:?the sample|all # samples}, so its {taken:?then|else} branch "
     "was inlined"},
    {"image-options-without-effect",
     "{options:text} {options:?has|have} no effect on {data:text}: these are arrays, and only images are prepared"},
    {"images-skipped",
     "skipped {images:#image} that Vernier cannot decode, first {first}. Convert to PNG or JPEG. Labels in file order "
     "no longer line up"},
    {"input-left-out", "‹inputs›: no output needs '{input}', so it is left out"},
    {"input-quantized",
     "input '{input}' of the file is {type}: samples are quantized with the scale of the DequantizeLinear that reads "
     "it"},
    {"inputs-doubtful",
     "{finding:text}[. For images, pass {remedy:text}] (from the first {samples:#sample}; ‹vernier check data› has "
     "details)"},
    {"job-interrupted",
     "interrupted: the report has only the figures measured so far[. To resume, run again with ‹resume› (the trials "
     "are in {journal})][. Run again to resume{resumes:?|}][{repairs_anew:?; only the repairs start anew|}]"},
    {"journal-held", "{file}: another search writes this journal, so this search keeps none"},
    {"journal-line-dropped", "{file}: the last line is incomplete and is dropped"},
    {"journal-line-not-removed", "{file}: cannot remove the incomplete last line: {error}"},
    {"journal-moved", "{file}: {lines:#line} of an earlier search moved to {aside} (‹resume› continues a journal)"},
    {"judged-on-same-samples",
     "the same samples chose the layers and measured the result, so accuracy on other samples may be lower (measure "
     "held-out samples with ‹vernier eval›)"},
    {"kept-from-the-start",
     "{count} layers were kept from the start: each alone makes values that are not finite, or any error exceeds the "
     "requirement"},
    {"known-before-the-search",
     "lowering {layers:quoted 6} alone makes an output infinite or NaN. Keep {layers:?it|them} in {format:format}, or "
     "repair {layers:?it|them}: scale the values down, or use a format with more range such as BF16"},
    {"last-run-compared", "{file} holds {runs:#run}. The last one, {run}, is compared ({option:text} chooses another)"},
    {"layer-not-compared", "{layer}: {why}"},
    {"layer-not-lowered",
     "layer '{layer}'[ ({operator})] cannot run in {format:format}: {reason:text}. It stays in FP32"},
    {"layer-precision-ignored", "‹layer-precisions› {layer}:{asked} is ignored (‹precision-constraints› none)"},
    {"layers-in-bodies-left",
     "{layers:#layer} inside bodies of If, Loop or Scan {layers:?stays|stay} in {format:format}: {layers:quoted}"},
    {"layers-in-bodies-lowered",
     "{layers:#layer} inside bodies of If, Loop or Scan {layers:?is|are} lowered, but not measured one by one: "
     "{layers:quoted}"},
    {"layers-in-loops",
     "{layers:#layer} in loops without a constant number of iterations: their multiply-accumulates count once: "
     "{layers:quoted 6}"},
    {"layers-of-other-types",
     "no layer is in low precision: {count} of {of:#layer} compute in {type} in the file, and Vernier lowers only FP32 "
     "layers (pass the FP32 model that it was made from)"},
    {"lost-by-default-optimizations",
     "with its default optimizations, ONNX Runtime {version} on this machine gets {there:text}, not {simulated:text} "
     "(measured)[, on {in_sample:?the calibration samples|others}][. It differs first at '{layer}' ({operator})][. The "
     "session option {option:text} {gone:?avoids|reduces} it][. ‹target› {better_target} places pairs that its "
     "kernels can fuse]"},
    {"lost-limits",
     "TensorRT-RTX 1.6.1 loses a limit of {layers:#Clip} ({layers:3}). ‹accumulate› float16 simulates this; ‹vernier "
     "check placement› explains how to rewrite it"},
    {"mask-left-out",
     "tensor '{tensor}': its range leaves out {count} values of a mask ({value:g}); all others are within {within:g}"},
    {"measurements-reused",
     "reused from an earlier run on the same network and samples: {what:text} (‹no-cache› measures everything anew)"},
    {"method-without-say", "{file}: Vernier uses the ranges of the file and ignores ‹calibration-method› {method}"},
    {"missed-there",
     "with {kept:#layer} kept, {engine} gets {there:text}, not {simulated:text} as simulated, so it decided, too"},
    {"model-already-quantizes",
     "the model already quantizes ({nodes:#QuantizeLinear node}). An engine that fuses these nodes runs the layers "
     "between them in their format, whatever format you choose"},
    {"model-does-not-load",
     "{checked:?ONNX Runtime does not load|neither ONNX Runtime nor ONNX's checker accepts} the model itself, so "
     "{checked:?only ONNX's checker checks candidates|every candidate goes to the check}: {why:text}"},
    {"models-swapped", "{reference} is in low precision and {file} is not. Are the two swapped?"},
    {"moving-layers-follow",
     "a script set the precision of layers that only move data. It has no effect, because they follow their inputs: "
     "{layers}"},
    {"name-of-two-sizes",
     "the name '{name}' stands for {size} at axis {axis} of input '{input}' and for {other_size} at axis {other_axis} "
     "of input '{other_input}', but TensorRT allows one size per name. Rename one, or fix the shape (‹vernier surgeon "
     "sanitize --override-input-shapes {other_input}:[[{shape}]]›)"},
    {"near-the-limit",
     "near the limit: one summation order measures {one:text}, another {another:text}. Only one meets {required:text}, "
     "which counts as missed"},
    {"no-constant-pair", "the file has no Q/DQ pair with constant parameters"},
    {"no-folder-for-trials", "{folder}: {error}: trials are not stored"},
    {"no-format-given",
     "the model is FP32 and no low format is given, so nothing is in low precision (‹int8›, ‹fp16›, ...)"},
    {"no-good-part", "‹min-good›: no part that was tried is good, so the file is not written"},
    {"no-layer-low", "{file} has no layer in low precision"},
    {"no-picture", "no picture of a sample, because no input of the network is an image"},
    {"no-repair-needed", "no repair was tried, because everything low already meets the requirement"},
    {"no-size-from-data", "‹set-unbounded-dds-upper-bound› has no effect: no size depends on data"},
    {"no-such-layer", "‹layer-precisions›: no layer is named '{pattern}'[; nearest: {nearest}]"},
    {"no-values-to-freeze", "there are no values to freeze tensors to, so they become inputs: {error:text}"},
    {"node-not-folded", "node '{node}' cannot be evaluated and was not folded"},
    {"nodes-load-alone-only", "each node loads alone, but not all together: ‹vernier check lint› has details"},
    {"nonfinite-inside",
     "{layers:#layer} of the low precision network {layers:?returns|return} infinite or NaN values, first '{first}' "
     "({operator}). Later layers turn these into finite values; other engines may not"},
    {"not-compared-without-weights", "not compared on these samples: the model has no weights"},
    {"not-monotone", "keeping more layers once gave a worse result ({kept} kept), so a cheaper set may exist"},
    {"not-proven-by-running", "not proven by running both: {error:text}"},
    {"not-taken-from-file",
     "not read from {file}: {layers:#layer} {quantized_operators:?of quantized operators, with their ranges and "
     "places|with quantized weights only, whose inputs this run also quantizes}"},
    {"nothing-confirmed",
     "the set that the search found misses the limit when it is confirmed, and so does the output model with every "
     "layer kept"},
    {"nothing-faster-in-int8",
     "ONNX Runtime's INT8 kernels would make no layer of this network faster, so all layers stay in FP32 "
     "(‹even-if-slower› quantizes them anyway)"},
    {"nothing-kept", "this run stores nothing for later runs: {why:text}"},
    {"nothing-low", "every layer is in {format:format}: these options leave nothing in low precision"},
    {"nothing-reads-it", "no output of the model depends on it: no layer reads {tensors:quoted 5}"},
    {"nothing-to-resume", "{file}: nothing to resume, so the search starts from the beginning"},
    {"older-files", "{folder}: {files} in this folder {files:?is|are} from an earlier run"},
    {"onnxruntime-crashes",
     "ONNX Runtime {version} crashes when it loads the output model with default optimizations: {why:text}. It "
     "runs without {optimizers}: list {optimizers:?it|them} in the session option "
     "optimization.disable_specified_optimizers, in Python in disabled_optimizers"},
    {"onnxruntime-refuses",
     "ONNX Runtime {version} does not run the output model on its CPU provider{runs_unoptimized:? with default "
     "optimizations (without them it does)|}: {why:text}"},
    {"open-dimensions-as-one", "dynamic dimensions are compiled as 1: {inputs} (‹shapes› sets others)"},
    {"opset-outside-list", "the model is of opset {opset}, outside the supported {lowest} to {highest}"},
    {"opset-raised", "opset raised from {from} to {to}, {converted:#node} converted"},
    {"optionals-removed", "{count:#Optional} of a value that always exists removed"},
    {"oracle-unstable",
     "the oracle is unstable: the same set of {kept} kept items {passed_first:?passed|failed} first and then "
     "{passed_first:?failed|passed}"},
    {"orders-differ", "one summation order measures {one:text}, another {another:text}: the worse one counts"},
    {"other-arrays", "{file}, iteration {iteration}: holds {arrays}, earlier iterations hold {before}"},
    {"other-image-size", "images of {size} at '{input}' are not the size that this network was made for: {why:text}"},
    {"other-weights-in-file",
     "{file} holds other weights than the float model in {layers:#layer}, as after equalization: {layers:3}. "
     "{layers:?Its|Their} ranges are calibrated again"},
    {"output-changed", "output '{output}' changed its values or its shape"},
    {"output-constant",
     "'{output}' is constant in the output model; in the float model its values are from {min:.3g} to {max:.3g}[; "
     "{where:text}]"},
    {"output-empty", "output '{output}' is empty in every sample, so it is not compared"},
    {"output-holds-mask",
     "{percent:.0f} % of output '{output}' is a mask ({low:.4g} to {high:.4g}). It hides the other values in the "
     "figure, so they are also measured alone, as '{part}'"},
    {"output-measured-by-scores",
     "output '{output}' is measured by the input of its ArgMax, '{scores}', along axis {axis}"},
    {"output-measured-dequantized", "output '{output}' is measured by its dequantized values"},
    {"output-measured-in-parts",
     "output '{output}' holds values of different scale, so its parts are measured too: {parts:8}"},
    {"output-not-measured", "output '{output}' is not measured: it is {what:text}"},
    {"output-offset",
     "'{output}' has a mean of {mean:.4g} and a spread of {spread:.2g}. SQNR counts the mean as signal: {db:.1f} dB, "
     "but {spread_db:.1f} dB for the spread alone"},
    {"output-offset-by-place",
     "each element of '{output}' (RMS {rms:.3g}) stays near one value in all samples: the spread is {spread:.2g}. SQNR "
     "counts that value as signal: {db:.1f} dB, but {spread_db:.1f} dB for the spread alone"},
    {"output-shapes-as-paddings",
     "the output_shape of {nodes} written as paddings, which all engines read the same way"},
    {"output-type-without-effect",
     "[layer '{layer}' runs][layers {layers} run] in {format:format}: its output is {given:format}, not {asked:format} "
     "as in the script. An output has the format of its layer, which layer.precision sets"},
    {"output-without-classes", "output '{output}' has one value per row: top-1 agreement does not apply"},
    {"outputs-measured-before-picks",
     "the scores decide which elements {outputs:8} {outputs:?has|have}, so the tensors in front of what picks are "
     "measured: {fronts:8}"},
    {"outputs-not-marked", "not marked, because their type is unknown: {tensors}"},
    {"outputs-without-numbers", "{runner:text}: outputs left out, because they hold no numbers: {outputs}"},
    {"overflow-inside",
     "{run:text}, iteration {iteration}: the outputs are finite, but tensor '{tensor}' of layer '{layer}' ({op_type}) "
     "holds {nan} NaN and {infinite} infinite of {of:count} values (‹onnx-outputs› mark all checks every tensor)"},
    {"pair-costs-most",
     "the pair of '{tensor}' costs most: if '{node}' alone rounds nothing, output '{output}' gains {db:.1f} dB"},
    {"pairs-added", "target {target} adds {pairs:#pair} that the file does not have: {pairs}"},
    {"pairs-calibrated-again",
     "engines refuse {pairs:#pair} of {file} ({pairs}). The first: {first:text}. This run calibrates them again"},
    {"pairs-not-measured", "the loss of its pairs was not measured: {error:text}"},
    {"pairs-saturate",
     "on x86 CPUs without VNNI, {runtime} {signed:?converts INT8 data to UINT8 and |}sums two products in 16 bits. In "
     "'{layer}', {saturated:count} of {pairs:count} pairs saturate[, and so do pairs in {more:#more layer}]. The "
     "result{in_sample:? on "
     "its calibration samples|} on such a CPU is {there:text}, {alike:?as on other CPUs|not }[{elsewhere:text}] "
     "(simulated)[. {needs_target:?Weights in 7 bits avoid it: ‹reduce-range› with ‹target› onnxruntime|‹reduce-range› "
     "avoids it with weights in 7 bits}][. ‹reduce-range› {helps:?avoids it|does not help}: weights in 7 bits measure "
     "{reduced:text} on every CPU]"},
    {"pairs-without-place", "target {target} does not use {pairs:#Q/DQ pair} of the file: {pairs}"},
    {"part-data-not-written", "its inputs and outputs are not written: {error:text}"},
    {"part-input-type-unknown", "the type of tensor '{tensor}' is not known, so it is an FP32 input of its part"},
    {"phase-failed", "{phase} failed; the rest of the answer is not affected: {error:text}"},
    {"phase-failed-model-stands", "{phase} failed; the output model is not affected: {error:text}"},
    {"pickle-as-json", "{file}: written as JSON, which Polygraphy also reads; a pickle could run any code"},
    {"places-constant",
     "constant in the output model: {count} of {of} places along axis {axis} of '{output}' ({places}). In the float "
     "model their values are from {min:.3g} to {max:.3g}[; {where:text}]"},
    {"plugins-without-effect", "‹plugins› has no effect: TensorRT was not asked"},
    {"pools-spelled-out",
     "{nodes:#pool} with ceil_mode {nodes:?has|have} other padding, because OpenVINO or shape inference reads "
     "the combination differently"},
    {"products-parted",
     "{count:#product} of small matrices {count:?reads|read} a Transpose, because OpenVINO 2026.4 can return wrong "
     "results for two products in one kernel"},
    {"qat-written",
     "qat.py quantizes {quantized:#module} and leaves {kept} in float[. {left_out:#layer} in a low format "
     "{left_out:?is|are} float in it: {left_out:3}]{without_repairs:?. Its ranges are those without repairs|}"},
    {"quantizers-clamp",
     "the quantizers of {clamps:#tensor} also clamp like activations, and the FP32 network keeps these clamps: "
     "{clamps}. Only the float model can tell a clamp from a range that is too narrow"},
    {"random-inputs", "the inputs are random numbers: figures say little about real data (pass ‹data›)"},
    {"random-inputs-frozen",
     "the inputs are random numbers: values frozen or measured with them say little about real data (pass ‹data›)"},
    {"random-part-inputs", "the inputs are random numbers: figures say little about real data (pass samples)"},
    {"random-ranges-not-written", "{file}: not written: ranges of random data are not a calibration"},
    {"random-ranges-written", "{file}: holds ranges of random data, which do not calibrate anything"},
    {"ranges-from-cache", "the ranges of {tensors:#tensor} come from {file} ({kind}), not from samples"},
    {"ranges-kept", "the ranges are stored in {file} for the next run"},
    {"ranges-lacking",
     "{file} has no range for {tensors:#tensor} ({tensors:3}). They were calibrated on {data:text}; the file stays as "
     "it is"},
    {"ranges-of-random-inputs",
     "{file} holds no ranges and no samples were given, so random inputs calibrated them. They fit no real data (pass "
     "‹data› SAMPLES)"},
    {"ranking-mended",
     "the first ranking of layers was poor: a set did {ratio:.2g} times the predicted damage. It was "
     "{more_samples:?measured again on more samples|corrected with the trials so far}"},
    {"ranking-poor",
     "the ranking of layers is poor: after {tests:#guided test} a set did {ratio:.2g} times the predicted damage. A "
     "smaller set may exist"},
    {"record-not-written", "{error:text}"},
    {"recurrence-not-simulated",
     "layer '{layer}' ({operator}) is rounded only at its inputs and outputs; its intermediate values are not "
     "simulated"},
    {"reference-not-finite",
     "the float model returns {count:#infinite or NaN value} in output '{output}': NaN is ignored, an infinity must "
     "match"},
    {"reference-quantizes",
     "the float model already quantizes ({nodes:#QuantizeLinear node}), so that error is part of the reference and "
     "does not count. To measure such a file, pass it to '‹vernier verify›' after its float model"},
    {"refusal-without-node", "{engine} refuses the file without naming a node: {why}"},
    {"removed-operators-replaced", "{count:#node} of the removed operator {operator} replaced"},
    {"repairs-taken-back", "the repairs were undone: with them {with:#layer} would be kept, without them {without}"},
    {"repairs-together",
     "all accepted repairs together: {with:.1f} dB at the worst output, {without:.1f} dB without[; {change:text}: "
     "within noise]"},
    {"repeats-without-engine",
     "TensorRT was not found, so no engine is built. Every iteration reads the same output model, and only the check "
     "can vary"},
    {"replay-moved", "{file} holds the verdicts of 'vernier {command}' on {model}: moved to {moved_to}"},
    {"replay-of-another-check", "{file} holds the verdicts of another check: {check}"},
    {"replay-of-polygraphy",
     "{file} is a replay of Polygraphy, which cuts models at different places. No verdict fits, so every check runs"},
    {"replay-of-unknown-model", "{file}: the replay does not name its model and options. Vernier assumes that it fits"},
    {"run-in-no-file-before", "{file}: run '{run}' is in no file before it"},
    {"run-missing", "{file} has no run '{run}'"},
    {"run-resumed", "resumed an interrupted run at {where:text}"},
    {"rungs-without-kernels",
     "ONNX Runtime's CPU provider has no kernels for {formats}, so a layer costs as much as in FP32"},
    {"samples-alike",
     "{alike:#sample} {alike:?repeats|repeat} others, so figures on new samples rest on {distinct:#distinct sample}"},
    {"samples-not-examined",
     "defects were looked for on {examined} of {samples:#sample}: a fault of other samples alone is not named"},
    {"samples-not-read", "the samples were not read, because {file} has the ranges (remove it to calibrate anew)"},
    {"samples-one-by-one", "‹batch› {batch}: samples run one by one: {why:text}"},
    {"sampling-ratio-written",
     "the default sampling_ratio of {nodes:#RoiAlign} written out, because OpenVINO has another default"},
    {"saturation-not-simulated",
     "the weights take more than 1 GiB, so saturation of their products in {runtime} on x86 CPUs without VNNI was not "
     "simulated"},
    {"script-call-without-effect", "{script}: {call} has no effect: {why:text}"},
    {"script-changed-nothing", "{script}: it set the precision of no layer"},
    {"script-format-ignored",
     "[layer '{layer}' ignores][layers {layers} ignore] the script's {asked:format} (‹precision-constraints› none)"},
    {"script-precisions-without-effect",
     "the precisions that the script sets have no effect: the plan sets the format of each layer"},
    {"search-stopped",
     "the search was stopped. To continue, run the same command with ‹resume› (its trials are in {journal})"},
    {"sensitivities-left-out",
     "sensitivity was measured for the {measured} layers with the largest local errors; {others} more rank after them "
     "by local error"},
    {"sensitivities-of-the-kept",
     "with repairs sensitivity was measured for the {measured} kept layers; the other {others} are ranked by their "
     "sensitivity without repairs and their local errors. ‹rank› measures all"},
    {"sensitivities-of-the-worst",
     "sensitivity was measured on several samples for the {measured} worst layers; the other {others} are ranked by "
     "one sample. ‹rank› measures all"},
    {"set-not-confirmed",
     "a set of {kept} kept items passed in the search[ and used {claimed:.7g} of the limit], but its file missed[ with "
     "{measured:.7g}]. A second search checked sets by their files"},
    {"settings-of-absent-layers",
     "the settings of {layers} have no effect: with these formats, graph preparation removes these layers"},
    {"shapes-folded", "{count:#Shape node} of tensors of fixed shape folded"},
    {"simplified-norms-spelled-out",
     "{count:#SimplifiedLayerNormalization} of ONNX Runtime replaced by standard ONNX operators"},
    {"slices-joined", "{count:#Slice} joined with the one before"},
    {"slower-than-float",
     "on this machine ONNX Runtime needs {ms:.3g} ms per sample for the output model, {float32_ms:.3g} ms in FP32"},
    {"some-scales-kept",
     "{kept} of {tensors:#quantized tensor} start with the scales of the file[, {ranges} more its ranges]"
     "{others:?; the others get scales of the target|}"},
    {"stage-outputs-doubtful", "stage '{stage}', the first {samples:#sample}: {answer:text}"},
    {"sums-evidence",
     "FP16 accumulation was measured with TensorRT-RTX 1.4.0 and 1.6.1 on an H200, which it does not support. Other "
     "GPUs or versions may differ"},
    {"sums-may-saturate",
     "{runtime} multiplies UINT8 data by INT8 weights in {layers:quoted 5}. On x86 CPUs without VNNI their sums may "
     "saturate, which is not simulated, so results may be worse on such a CPU"},
    {"symmetric-cache",
     "{file} holds symmetric scales only, so a UINT8 tensor without negative values uses half of its range (‹vernier "
     "calibrate --target onnxruntime -o ranges.json› keeps both ends)"},
    {"symmetric-cache-written",
     "{file}: TensorRT's cache holds symmetric scales only, so the next run that reads it quantizes differently (a "
     "name that ends in .json keeps both ends)"},
    {"symmetric-output", "{file}: TensorRT's cache holds symmetric scales only"},
    {"taken-from-file", "from {file}: the ranges of {tensors:#tensor}, and {layers:#layer} in FP32"},
    {"tensor-always-zero",
     "tensor '{tensor}' is 0 in all samples, so its scale is arbitrary. Add samples in which it is not"},
    {"tensorrt-simulated",
     "‹trt›: TensorRT does not run on this machine ({why:text}). Its documented rules are simulated (trt-sim), and "
     "nothing ran on TensorRT"},
    {"tensors-not-returned",
     "{runner:text}: not returned, because their type is unknown or they exist only as quantized values: {tensors}"},
    {"tensors-renamed", "tensors of bodies shared a name with others and got a new one: {tensors}"},
    {"test-near-the-limit",
     "near the limit: one summation order measures {one:text}, another {another:text}. Only one passes, which counts "
     "as missed"},
    {"tests-counted-as-failed", "{count} of {of} tests came back as {as} and count as failed"},
    {"tf32-decides",
     "TF32 makes the difference, not FP16 accumulation[: {readers:#FP32 layer} {readers:?uses|use} it][; with only "
     "'{layer}' in TF32 the result is {db} dB][. '{input}' holds whole numbers (positions) up to {largest:g}, but TF32 "
     "represents whole numbers exactly only up to {exact_up_to:g}][. Keep its inputs smaller, or switch TF32 off when "
     "you build the engine (trtexec --noTF32){layer:?|}]"},
    {"timed-by-itself", "{engine} was timed alone, not in turns with the others, because it starts anew each time"},
    {"times-of-engine", "times of layers are those of {engine:text}"},
    {"too-large-to-try",
     "the output model was not run in ONNX Runtime with default optimizations, because it has more than 1 GiB of "
     "weights or more than 15,000 nodes"},
    {"transposed-weights-shared",
     "{count:#transposed weight} left out: a Transpose of the other copy replaces it, and engines fold it when they "
     "load the file"},
    {"transposes-joined", "{count:#Transpose} joined with the one before"},
    {"trials-not-kept", "{file}: {why:text}: further trials are not stored"},
    {"type-not-known", "the output type of {operator} '{node}' is not known, so it is not rounded"},
    {"typed-model-not-engine",
     "{file} is a typed ONNX model, because TensorRT does not run on this machine ({why:text}); ‹compile› builds an "
     "engine"},
    {"types-not-checked",
     "the ONNX checker refuses the model with and without low precision, so it could not check the types of the "
     "output model: {error}"},
    {"values-not-finite",
     "tensor '{tensor}': {count:count} of {of:count} values are infinite or NaN and were left out of its range"},
    {"weakly-typed-without-effect",
     "‹weakly-typed› has no effect in simulation: the options set the format of each layer"},
    {"weight-overflows",
     "layer '{layer}': {count} of {of} values of initializer '{initializer}' become infinite in {format:format} (worst "
     "{worst:g})"},
    {"weights-equalized",
     "{count:#weight} {count:?holds|hold} the values of the float model times a factor for each channel, as after "
     "equalization"},
    {"weights-expand",
     "ONNX Runtime dequantizes the 4-bit weight of {count:#product} in every run, because its MatMulNBits cannot "
     "compute {count:?it|them}; ‹vernier check placement› lists the reasons"},
    {"weights-in-nbits",
     "{count:#product} written as MatMulNBits of ONNX Runtime (com.microsoft), because its optimizer would not fuse "
     "{count:?it|them} with the 4-bit weight"},
    {"weights-quantized-again",
     "{weights:#weight} ({weights:3}) {weights:?gets|get} scales of {weights:?its|their} own: the scales of the file "
     "lose at least 4 times as much of {weights:?it|them}"},
    {"weights-undone",
     "{count:#weight} {count:?differs|differ} from the float model. Other layers undo that, as after a permutation, a "
     "rotation or a folded factor"},
    {"without-repairs-kept", "without the repairs {layers:#layer} would be kept"},
    {"without-repairs-missed", "without the repairs the requirement is missed"},
    {"without-repairs-unknown", "Vernier did not measure how many layers it would keep without repairs"},
};

}  // namespace

std::span<const NoteTemplate> note_templates() { return kNotes; }

}  // namespace vernier
