#include "report/text/note_catalogue.h"

namespace vernier {
namespace {

// In the order of their codes.
constexpr NoteTemplate kNotes[] = {
    {"adds-made-biases", "{count:#Add} became a bias"},
    {"all-scales-kept", "all {tensors:#quantized tensor} keep the scales of the file"},
    {"array-replaced",
     "{file}: '{array}' takes the place of an array of this name from a file before it (to put iterations one "
     "after the other: ‹vernier data concat›)"},
    {"arrays-as-iterations", "{file}: its arrays are taken for {iterations} iterations along their first axis"},
    {"artifact-missing", "‹artifacts› {file}: missing after a check"},
    {"automatic-calibration", "calibration by auto: {answer:text}"},
    {"axes-share-a-name",
     "axes {axis} and {other_axis} of input '{input}' share the name '{name}', and TensorRT allows one size per "
     "name. If the sizes differ, rename one, or fix the shape (‹vernier surgeon sanitize "
     "--override-input-shapes {input}:[[...]]›)"},
    {"batch-as-one-sample", "the data are one sample, a batch of {batch}: ‹split-batch› makes them {batch} samples"},
    {"batch-norms-folded", "{count:#BatchNormalization node} folded into the layer before"},
    {"batch-norms-not-folded",
     "{nodes:#BatchNormalization node} not folded into the layer before ({nodes}): its weight would lose "
     "accuracy when it is rounded"},
    {"best-plan-not-kept", "{error:text}: the best plan so far is not kept"},
    {"biases-added",
     "{count:#product} of small matrices got a bias of 1e-30, because OpenVINO 2026.4 can return wrong results "
     "without"},
    {"builder-setting-without-effect", "{setting:text} has no effect: no engine is built"},
    {"cache-states-not-measured",
     "{outputs:#output} ({outputs:2}) {outputs:?is a state|are states} of a cache and not measured: ‹outputs› "
     "chooses the measured outputs"},
    {"calibrated-on-compared-samples",
     "ranges are calibrated on the samples that are compared (‹calibration-data› chooses others)"},
    {"certificate-faulty", "unstable: the certificate does not follow from the trials: {fault:text}"},
    {"changed-by-optimizations",
     "ONNX Runtime {version} computes something else of the output model with its default optimizations: "
     "{db:.1f} dB against the same file without them"},
    {"check-like-missing-program",
     "the check ended like a shell that cannot start a program: check that all its commands exist"},
    {"check-unstable",
     "the check is unstable: it {passed_first:?passed|failed} a set of {kept:#kept layer} first and then did not"},
    {"checker-refuses-node", "ONNX's checker refuses the model with this node: {error}"},
    {"colours-not-told-apart",
     "red and blue swapped fits as well: these statistics do not tell the order of channels (labels would)"},
    {"constant-ifs-inlined", "{count:#If node} of constant condition inlined"},
    {"constants-folded", "{count:#constant node} folded"},
    {"constants-folded-in-pass", "Pass {pass}: {count:#constant node} folded"},
    {"constants-made-initializers", "{count:#Constant node} made initializers"},
    {"constants-not-folded", "{count:#constant node} not folded: {error:text}"},
    {"contradiction-not-repeated",
     "the answers contradict each other, and the search ended before they could be repeated"},
    {"dead-nodes-removed", "removed {count:#node} that no output needs"},
    {"does-not-run-without-marks", "without marked tensors it does not run: {error:text}"},
    {"engine-computes-otherwise",
     "{engine} returns other results than the figures at {nodes:#node}, first '{first}': {why:text}. Cure: "
     "{cure:text}"},
    {"engine-disagrees",
     "{engine}: {there:text} on the engine, {simulated:text} simulated; the figure of the engine counts"},
    {"engine-options-without-effect", "{options:text} {options:?has|have} no effect: nothing runs on an engine"},
    {"engine-refuses", "the engine rejected the typed model: {why:text}"},
    {"engine-runs-other-format",
     "{engine}: it runs {layers:#layer} in {runs_in} that the file has in {asked}: {layers}"},
    {"engine-without-marks", "{engine}: {changes:text}"},
    {"equal-nodes-merged", "{count:#node} that another one repeats merged"},
    {"everything-costs-no-more",
     "keeping everything costs no more than the set that was found: {cost:.4g}, {found:.4g}"},
    {"exact-edits-differ", "the outputs differ although only exact edits were made: please look at the figures"},
    {"exact-output-differs",
     "output '{output}' ({what}) is not part of the requirement, and differs from the float model's in "
     "{differing} of {samples:#sample}"},
    {"factors-folded",
     "{count:#constant factor} behind {count:?a product|products} of matrices folded into the {count:?weight|weights}, "
     "because OpenVINO 2026.4 can return wrong results for them"},
    {"fewer-iterations",
     "{file}: has {iterations:#iteration}, others have {others}: its arrays are missing in the last samples"},
    {"file-already-low",
     "the file is already in low precision ({formats}): measured against its float32 network, with its own "
     "weights; layers that it has in float32 stay in float32"},
    {"file-defect", "'{node}': {text:text}"},
    {"file-does-not-run", "not measured, the file does not run: {error:text}"},
    {"float-layers-shielded",
     "{count:#float32 layer} between quantized tensors, with a Sum of one input in front: ONNX Runtime would "
     "quantize the weights otherwise"},
    {"float64-layers-left", "not measured and left as {layers:?it is|they are}: {layers:#layer} in float64 ({layers})"},
    {"format-not-taken", "[layer '{layer}' runs][layers {layers} run] in {format}, not {asked}: {reason:text}"},
    {"format-without-layers", "no layer runs in {format}: the others are taken first"},
    {"formats-in-engine", "{model}: precision options have no effect on an engine that is built"},
    {"formats-in-file", "{model}: the file says the format of each layer; precision options have no effect on it"},
    {"fp8-not-optimized",
     "ONNX Runtime cannot optimize FP8 files: 1.31 refuses them, and 1.32 drops a Relu in front of a "
     "QuantizeLinear. Pass ‹graph-optimization-level› ORT_ENABLE_BASIC"},
    {"functions-inlined", "{count:#function} inlined"},
    {"gpu-copies",
     "ONNX Runtime copies up to {tensors} tensors between the CPU and the GPU in each run, around nodes that it "
     "has no CUDA kernel for"},
    {"half-steps",
     "TensorRT computes {layers:#layer} ({layers:3}) in steps of half precision, which lose large and small "
     "values (run, TensorRT-RTX 1.6.1). ‹accumulate› float16 simulates LogSoftmax, ReduceLogSumExp and "
     "LpNormalization so; ‹vernier check placement› says how to write them"},
    {"idle-nodes-removed", "{count:#node} that did nothing removed"},
    {"if-inlined",
     "If '{node}': '{condition}' is {taken} for {samples:?the sample|all # samples}, its {taken:?then|else} "
     "branch was inlined"},
    {"image-options-without-effect",
     "{options:text} {options:?has|have} no effect on {data:text}: only images are prepared, and these are "
     "arrays"},
    {"images-skipped",
     "skipped {images:#image} that Vernier does not decode, first {first}: convert to PNG or JPEG. Labels in the "
     "order of the files are shifted"},
    {"input-left-out", "‹inputs›: no output needs '{input}': it is left out"},
    {"input-quantized",
     "input '{input}' of the file is {type}: samples are quantized with the scale of the DequantizeLinear behind it"},
    {"inputs-doubtful",
     "{finding:text}[; images are read like that with {remedy:text}] (the first {samples:#sample}; ‹vernier "
     "check data› looks closer)"},
    {"job-interrupted",
     "interrupted: what was not measured is absent[; to resume, run again with ‹resume› (its trials are in "
     "{journal})][; run again to resume{resumes:?|}][{repairs_anew:?; only the repairs are tried anew|}]"},
    {"journal-held", "{file}: another search writes this journal: this one keeps none"},
    {"journal-line-dropped", "{file}: the last line was cut off and is dropped"},
    {"journal-line-not-removed", "{file}: the line that was cut off cannot be removed: {error}"},
    {"journal-moved", "{file}: {lines:#line} of an earlier search moved to {aside} (‹resume› continues a journal)"},
    {"judged-on-same-samples",
     "the same samples chose the layers and measured the result: on others fewer labels may be right (measure "
     "on held-out samples with ‹vernier eval›)"},
    {"kept-from-the-start",
     "{count} are expected to exceed any allowance alone (values that are not finite, or no error is allowed), "
     "and were kept from the start"},
    {"known-before-the-search",
     "known before the search: with {layers:quoted 6} low, alone, an output is not finite where the reference "
     "is. {layers:?It must|Each must} be kept in {format}, or repaired: smaller values (scale them), or a "
     "format with more range, as bfloat16"},
    {"last-run-compared", "{file} holds {runs:#run}: the last one, {run}, is compared ({option:text} chooses)"},
    {"layer-not-lowered", "layer '{layer}'[ ({operator})] cannot run in {format}: {reason:text}; it stays in float32"},
    {"layer-precision-ignored", "‹layer-precisions› {layer}:{asked} is ignored (‹precision-constraints› none)"},
    {"layers-in-bodies-left", "{layers:#layer} inside bodies of If, Loop or Scan: left in {format}: {layers:quoted}"},
    {"layers-in-bodies-lowered",
     "{layers:#layer} inside bodies of If, Loop or Scan: lowered, but not measured one by one: {layers:quoted}"},
    {"layers-in-loops",
     "{layers:#layer} in loops without a constant number of iterations, so their multiply-accumulates count "
     "once: {layers:quoted 6}"},
    {"layers-of-other-types",
     "no layer is in low precision: {count} of {of:#layer} compute in {type} in the file, and vernier only "
     "lowers float32 layers (pass the float32 model that it was made from)"},
    {"less-allowance", "{certified:?certified|searched} for {percent:.1f} % less allowance than was asked for"},
    {"lost-by-default-optimizations",
     "in ONNX Runtime {version} with its default optimizations, the result on this machine is at {there:text}, "
     "not {simulated:text} (measured)[, on {in_sample:?the calibration samples|others}][. ‹target› "
     "{better_target} places pairs where its kernels fuse them]"},
    {"lost-limits",
     "TensorRT-RTX 1.6.1 loses a limit of {layers:#Clip} ({layers:3}): ‹accumulate› float16 simulates that, and "
     "‹vernier check placement› says how to write it"},
    {"mask-left-out",
     "tensor '{tensor}': {count} values of a mask ({value:g}) were left out of its range; all others are within "
     "{within:g}"},
    {"measurements-reused",
     "reused from an earlier run on the same network and samples: {what:text} (‹no-cache› measures everything "
     "anew)"},
    {"method-without-say", "{file}: its ranges are taken as they are: ‹calibration-method› {method} has no say"},
    {"model-already-quantizes",
     "the model already quantizes ({nodes:#QuantizeLinear node}): an engine that fuses these nodes runs the "
     "layers between them in their format, whatever format you choose"},
    {"model-does-not-load",
     "{checked:?ONNX Runtime does not load|neither ONNX Runtime nor ONNX's checker accepts} the model itself, "
     "so {checked:?candidates are checked by ONNX's checker only|every candidate goes to the check}: {why:text}"},
    {"models-swapped", "{reference} is in low precision and {file} is not: are the two swapped?"},
    {"moving-layers-follow",
     "what a script sets of layers that only move data has no effect, because they follow their inputs: {layers}"},
    {"name-of-two-sizes",
     "the name '{name}' stands for {size} at axis {axis} of input '{input}' and for {other_size} at axis "
     "{other_axis} of input '{other_input}'. TensorRT takes one size for a name: give one of them another name, "
     "or fix the shape (‹vernier surgeon sanitize --override-input-shapes {other_input}:[[{shape}]]›)"},
    {"near-the-limit",
     "near the limit: {one:text} with kernels that sum in one order, {another:text} in another; {required:text} "
     "is met in one of them only, which counts as missed"},
    {"no-constant-pair", "the file has no Q/DQ pair with constant parameters"},
    {"no-folder-for-trials", "{folder}: {error}: trials are not kept"},
    {"no-format-given",
     "the model is float32 and no low format is given: nothing is in low precision (‹int8›, ‹fp16›, ...)"},
    {"no-good-part", "‹min-good›: no part that was tried is good, so the file is not written"},
    {"no-layer-low", "{file} has no layer in low precision"},
    {"no-picture", "no picture of a sample: no input of the network is an image"},
    {"no-repair-needed", "no repair was tried: everything low meets the requirement without one"},
    {"no-size-from-data", "‹set-unbounded-dds-upper-bound›: no size comes from data"},
    {"no-such-layer", "‹layer-precisions›: no layer is named '{pattern}'[; nearest: {nearest}]"},
    {"no-values-to-freeze", "no values to freeze tensors to, so they become inputs: {error:text}"},
    {"node-not-folded", "node '{node}' cannot be evaluated and was not folded"},
    {"nodes-load-alone-only", "each node loads alone, but not all together: ‹vernier check lint› says more"},
    {"nonfinite-inside",
     "{layers:#layer} of the low precision network {layers:?gives|give} values that are not finite, first "
     "'{first}' ({operator}); what is behind makes numbers of them, which another engine need not do"},
    {"not-compared-without-weights", "not compared on these samples: the model has no weights"},
    {"not-monotone", "not monotone: a set of {kept} kept items failed although a part of it passed"},
    {"not-proven-by-running", "not proven by running both: {error:text}"},
    {"not-taken-from-file",
     "not taken over from {file}: {layers:#layer} {quantized_operators:?of quantized operators, and their "
     "ranges and places are not read|with quantized weights only, and this run also quantizes their inputs}"},
    {"nothing-faster-in-int8",
     "ONNX Runtime would run no layer of this network faster in int8, by the times of its kernels: all stay in "
     "float32 (‹even-if-slower› quantizes them all the same)"},
    {"nothing-kept", "nothing of this run is kept for later ones: {why:text}"},
    {"nothing-low", "every layer is in {format}: what was asked for leaves nothing in low precision"},
    {"nothing-reads-it", "no output of the model depends on it: nothing reads {tensors:quoted 5}"},
    {"nothing-to-resume", "{file}: nothing to resume: the search begins"},
    {"older-files", "{folder}: {files} in this folder {files:?is|are} of an earlier run"},
    {"onnxruntime-refuses",
     "ONNX Runtime {version} does not run the output model on its CPU provider{runs_unoptimized:? with default "
     "optimizations (without them it does)|}: {why:text}"},
    {"open-dimensions-as-one", "open dimensions are compiled as 1: {inputs} (‹shapes› says otherwise)"},
    {"opset-outside-list", "the model is of opset {opset}, and the list of opset {lowest} to {highest}"},
    {"opset-raised", "opset raised from {from} to {to}, {converted:#node} converted"},
    {"optionals-removed", "{count:#Optional} of a value that always exists removed"},
    {"oracle-unstable",
     "the oracle is unstable: the same set of {kept} kept items {passed_first:?passed|failed} first and then "
     "{passed_first:?failed|passed}"},
    {"orders-differ", "{one:text} with kernels that sum in one order, {another:text} in another: the worse one counts"},
    {"other-arrays", "{file}, iteration {iteration}: holds {arrays}, the iterations before it hold {before}"},
    {"other-image-size",
     "images of {size} at '{input}' are not of the size that this network was made for: {why:text}"},
    {"output-changed", "output '{output}' changed its values or its shape"},
    {"output-constant",
     "'{output}' is one constant in the typed model; in the float model its values are from {min:.3g} to "
     "{max:.3g}[; {where:text}]"},
    {"output-empty", "output '{output}' is empty in every sample: it is not compared"},
    {"output-measured-by-scores",
     "output '{output}' is measured by the input of its ArgMax, '{scores}', along axis {axis}"},
    {"output-measured-dequantized", "output '{output}' is measured by its dequantized values"},
    {"output-measured-in-parts",
     "output '{output}' holds values of different scale, so its parts are measured too: {parts:8}"},
    {"output-not-measured", "output '{output}' is not measured: it is {what:text}"},
    {"output-offset",
     "'{output}' lies around {mean:.4g} with a spread of {spread:.2g}, and SQNR counts the {mean:.4g} as signal: "
     "that of the spread alone is {spread_db:.1f} dB, not {db:.1f}"},
    {"output-shapes-as-paddings", "the output_shape of {nodes} written as paddings, which all engines read alike"},
    {"output-type-without-effect",
     "[layer '{layer}' runs][layers {layers} run] in {format}: its output is {given}, not {asked} as the script "
     "says: an output has the format of its layer, which layer.precision sets"},
    {"output-without-classes", "output '{output}' has one value per row: top-1 agreement does not apply"},
    {"outputs-not-marked", "not marked, because their type is unknown: {tensors}"},
    {"pairs-added", "{pairs:#pair} that the file does not have {pairs:?stands|stand} under target {target}: {pairs}"},
    {"pairs-not-measured", "what its pairs lose was not measured: {error:text}"},
    {"pairs-saturate",
     "on x86 CPUs without VNNI, {runtime} {signed:?makes int8 data uint8 and |}adds products in pairs of 16 "
     "bits: in '{layer}', {saturated} of {pairs} pairs saturate[, and pairs in {more:#more layer}]. The "
     "result{in_sample:? on its calibration samples|} is at {there:text}, {alike:?as elsewhere|not "
     "}[{elsewhere:text}] (simulated)[. {needs_target:?Weights in 7 bits avoid it: ‹reduce-range› with ‹target› "
     "onnxruntime|‹reduce-range› avoids it: weights in 7 bits}][. ‹reduce-range› avoids it: weights in 7 bits "
     "give {reduced:text} on every CPU (measured)]"},
    {"pairs-without-place", "{pairs:#pair} of the file {pairs:?has|have} no place under target {target}: {pairs}"},
    {"part-data-not-written", "its inputs and outputs are not written: {error:text}"},
    {"part-input-type-unknown", "the type of tensor '{tensor}' is not known: a float32 input of its part"},
    {"phase-failed", "{phase} failed, the rest of the answer stands: {error:text}"},
    {"phase-failed-model-stands", "{phase} failed, the output model stands: {error:text}"},
    {"pickle-as-json", "{file}: written as JSON, which Polygraphy reads too; a pickle could run any code"},
    {"places-constant",
     "constant in the typed model: {count} of {of} places along axis {axis} of '{output}' ({places}). In the "
     "float model their values are from {min:.3g} to {max:.3g}: one scale for larger values hides them"},
    {"plugins-without-effect", "‹plugins› has no effect: TensorRT was not asked"},
    {"quantizers-clamp",
     "the quantizers of {clamps:#tensor} also clamp, as activations do; the float network keeps that: {clamps}. "
     "Only the float model can tell a clamp from a range that is too narrow"},
    {"random-inputs", "the inputs are random numbers: figures say little about real data (give ‹data›)"},
    {"random-inputs-frozen",
     "the inputs are random numbers: what is frozen or measured with them says little about real data (give "
     "‹data›)"},
    {"random-part-inputs", "the inputs are random numbers: figures say little about real data (give samples)"},
    {"random-ranges-not-written", "{file}: not written: ranges of random data are not a calibration"},
    {"random-ranges-written", "{file}: holds ranges of random data, which calibrate nothing"},
    {"ranges-from-cache", "ranges of {tensors:#tensor} are those of {file} ({kind}): no sample was looked at for them"},
    {"ranges-kept", "the ranges are kept in {file}, for the next run"},
    {"ranges-lacking",
     "{file}: has no range for {tensors:#tensor} ({tensors:3}): learned from {data:text}; the file stays as it "
     "is"},
    {"ranges-of-random-inputs",
     "{file}: it holds no ranges and no samples were given: those of random inputs were taken, which fit no "
     "real data (‹data› SAMPLES)"},
    {"ranking-mended",
     "the ranking was poor (measured damage {ratio:.3g} times the predicted one): it was "
     "{more_samples:?measured again on more samples|corrected by what the trials so far measured}"},
    {"ranking-poor",
     "the ranking is poor: after {tests} guided tests the measured damage is {ratio:.3g} times the predicted "
     "one; a better ranking would give a smaller set in fewer tests"},
    {"record-not-written", "{error:text}"},
    {"recurrence-not-simulated",
     "layer '{layer}' ({operator}) is rounded at its inputs and outputs only: its intermediate values are not "
     "simulated"},
    {"reference-not-finite",
     "the float model returns {count:#non-finite value} in output '{output}': NaN is ignored, an infinity must match"},
    {"reference-quantizes",
     "the float model already quantizes ({nodes:#QuantizeLinear node}): that error is part of the reference and "
     "does not count (to measure such a file, pass it to '‹vernier verify›' after its float model)"},
    {"refusal-without-node", "{engine} refuses something and names no node of the file: {why}"},
    {"removed-operators-replaced", "{count:#node} of the removed operator {operator} replaced"},
    {"repairs-taken-back",
     "the repairs were taken back: with them {with:#layer} would be kept, without them {without}"},
    {"repairs-together",
     "all accepted repairs together: {with:.1f} dB of the worst output, {without:.1f} dB without[; "
     "{change:text}: within noise]"},
    {"repeats-without-engine",
     "no TensorRT was found, so no engine is built: every iteration gets the same typed model, and only the "
     "check can vary"},
    {"replay-moved", "{file}: holds the verdicts of 'vernier {command}' on {model}: moved to {moved_to}"},
    {"replay-of-another-check", "{file}: its verdicts are those of another check: {check}"},
    {"replay-of-polygraphy",
     "{file}: a replay of Polygraphy, which cuts models at other places: no verdict fits, so every check runs"},
    {"replay-of-unknown-model", "{file}: does not say which model and options it belongs to: it is believed"},
    {"run-in-no-file-before", "{file}: run '{run}' is in no file before it"},
    {"run-missing", "{file}: has no run '{run}'"},
    {"run-resumed", "resumed an interrupted run at {where:text}"},
    {"samples-alike",
     "{alike:#sample} {alike:?repeats|repeat} others, so figures on new samples rest on {distinct:#distinct sample}"},
    {"samples-not-read", "the samples were not read: {file} has the ranges (remove it, to calibrate anew)"},
    {"samples-one-by-one", "‹batch› {batch}: samples run one by one: {why:text}"},
    {"sampling-ratio-written",
     "the default sampling_ratio of {nodes:#RoiAlign} written out, because OpenVINO has another default"},
    {"saturation-not-simulated",
     "the weights take more than 1 GiB: what an x86 CPU without VNNI makes of their products in {runtime} was "
     "not simulated"},
    {"script-call-without-effect", "{script}: {call} has no effect: {why:text}"},
    {"script-changed-nothing", "{script}: it changed the precision of no layer"},
    {"script-format-ignored",
     "[layer '{layer}' runs][layers {layers} run] as if no script had said {asked} (‹precision-constraints› "
     "none)"},
    {"script-precisions-without-effect",
     "the precisions that the script sets have no effect: the plan says which layer runs in which format"},
    {"search-stopped", "the search was stopped: the same command with ‹resume› goes on (its trials are in {journal})"},
    {"searched-by-runtime",
     "{engine} with its default optimizations misses what simulated trials meet: the search tried layers in it"},
    {"sensitivities-left-out",
     "sensitivity was measured for the {measured} layers with the largest local errors; {others} more are "
     "ranked behind them by local error"},
    {"set-not-confirmed",
     "a set of {kept} kept items used {claimed:.3f} of the allowance in the search but {measured:.3f} when it "
     "was confirmed: searched again with less allowance"},
    {"settings-of-absent-layers",
     "what was set for {layers} has no effect: the formats lead to another preparation of the network, which "
     "does not have these layers"},
    {"shapes-folded", "{count:#Shape node} of tensors of fixed shape folded"},
    {"simplified-norms-spelled-out",
     "{count:#SimplifiedLayerNormalization} of ONNX Runtime spelled out in ONNX's operators"},
    {"slices-joined", "{count:#Slice} joined with the one before"},
    {"slower-than-float",
     "on this machine ONNX Runtime needs {ms:.3g} ms per sample for the output model, {float32_ms:.3g} ms in "
     "float32"},
    {"some-scales-kept",
     "{kept} of {tensors:#quantized tensor} keep the scales of the file[, {ranges} more its ranges]{others:?; "
     "the others are quantized as the target takes them|}"},
    {"stage-outputs-doubtful", "stage '{stage}', the first {samples:#sample}: {answer:text}"},
    {"sums-evidence",
     "sums as TensorRT-RTX: measured with versions 1.4.0 and 1.6.1 on an H200, which it does not support; "
     "another GPU or version may sum otherwise"},
    {"sums-may-saturate",
     "{runtime} multiplies uint8 data by int8 weights in {layers:quoted 5}. On an x86 CPU without VNNI their "
     "sums may saturate, which is not simulated: the result there may be worse"},
    {"symmetric-cache",
     "{file}: holds symmetric scales only: a uint8 tensor without negative values uses half of its range "
     "(‹vernier calibrate --target onnxruntime -o ranges.json› keeps both ends)"},
    {"symmetric-cache-written",
     "{file}: TensorRT's cache holds symmetric scales only: the next run that reads it quantizes differently (a "
     "name that ends in .json keeps both ends)"},
    {"symmetric-output", "{file}: TensorRT's cache holds symmetric steps only"},
    {"taken-from-file", "from {file}: the ranges of {tensors:#tensor}, and {layers:#layer} in float32"},
    {"tensor-always-zero",
     "tensor '{tensor}': it was 0 in all samples, so its step is made up: give samples in which it is not"},
    {"tensorrt-simulated",
     "‹trt›: TensorRT does not run on this machine ({why:text}): its documented rules are simulated (trt-sim), "
     "and nothing ran on TensorRT"},
    {"tensors-not-returned",
     "{runner:text}: not returned, because their type is unknown or they exist only as quantized values: "
     "{tensors}"},
    {"test-near-the-limit",
     "near the limit: {one:text} with kernels that sum in one order, {another:text} in another; what is asked "
     "for is met in one of them only, which counts as missed"},
    {"tests-counted-as-failed", "{count} of {of} tests came back as {as}: counted as failed"},
    {"tf32-decides",
     "TF32 makes the difference, not FP16 accumulation[: {readers:#layer} in float32 read it][: with '{layer}' "
     "alone reading it the result is at {db} dB][. '{input}' holds whole numbers (positions) up to {largest:g}, "
     "and TF32 knows them all up to {exact_up_to:g} only][. Keep its inputs smaller, or switch TF32 off where "
     "the engine is built (trtexec --noTF32){layer:?|}]"},
    {"timed-by-itself", "{engine} was timed by itself, not in turns: it starts anew each time"},
    {"times-of-engine", "times of layers are those of {engine:text}"},
    {"too-large-to-try",
     "the output model was not tried in ONNX Runtime with default optimizations: it has more than 1 GiB of weights or "
     "more than 15,000 nodes"},
    {"transposed-weights-shared",
     "{count:#transposed weight} left out: a Transpose of the other copy, which engines fold when they load the "
     "file"},
    {"transposes-joined", "{count:#Transpose} joined with the one before"},
    {"trials-not-kept", "{file}: {why:text}: further trials are not kept"},
    {"type-not-known", "the type of what {operator} '{node}' makes is not known: it is not rounded"},
    {"typed-model-not-engine",
     "{file}: this is a typed ONNX model, because TensorRT does not run on this machine ({why:text}); ‹compile› "
     "builds an engine"},
    {"types-not-checked",
     "the ONNX checker refuses the model with and without low precision, so it could not check the types of the "
     "output model: {error}"},
    {"values-not-finite", "tensor '{tensor}': {count} of {of} values are not finite and were left out of its range"},
    {"weakly-typed-without-effect",
     "‹weakly-typed› has no effect in simulation: each layer has the format that the options say"},
    {"weight-overflows",
     "layer '{layer}': {count} of {of} values of initializer '{initializer}' become infinite in {format} (worst "
     "{worst:g})"},
    {"weights-equalized",
     "{count:#weight} {count:?has|have} the values of the float model times a factor for each channel, as "
     "equalization leaves them"},
    {"without-repairs-kept", "without the repairs {layers:#layer} would be kept"},
    {"without-repairs-missed", "without the repairs the requirement is missed"},
    {"without-repairs-unknown", "what would be kept without the repairs was not found out"},
};

}  // namespace

std::span<const NoteTemplate> note_templates() { return kNotes; }

}  // namespace vernier
