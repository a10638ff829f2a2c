// The one home of error codes: what `vernier help E301` and docs/reference/errors.md print.
#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr auto kPages = [] {
  using enum ErrorCode;
  return std::array{
      ErrorPage{Usage, "The command line is not valid",
                "No other E2xx code describes this case. The message names the option and the problem.",
                "Follow the hint, or read what the option does.", "‹vernier diagnose --help-all›"},
      ErrorPage{UnknownOption, "The command has no such option or argument",
                "The name has a typo, the option belongs to another command, or you passed an extra file.",
                "Use the name in the hint, or list all options of the command.", "‹vernier diagnose --help-all›"},
      ErrorPage{UnknownCommand, "There is no such command or topic",
                "The name has a typo, or a group such as `inspect` or `check` needs a second word.",
                "List the commands.", "‹vernier --help›"},
      ErrorPage{
          MissingArgument, "An argument is missing",
          "The command needs a file, a format or a limit that you did not pass, such as -o, ‹int8› or ‹min-sqnr›.",
          "Add the argument that the hint shows.", "‹vernier diagnose --help-all›"},
      ErrorPage{BadValue, "The value of an option is not valid",
                "It is not a number, out of range, in another form, or not one of the known words.",
                "Pass a value in the form that the hint or the help shows.", "‹vernier diagnose --help-all›"},
      ErrorPage{Contradiction, "Two options contradict each other",
                "Both decide the same thing, and Vernier cannot know which one you mean.",
                "Leave out one of the options that the message names.", "‹vernier diagnose --help-all›"},
      ErrorPage{WithoutEffect, "An option does not apply to this command line",
                "It belongs to another target, runner, format or option, so it would have no effect.",
                "Leave it out, or add the option that it needs. The hint names it.", "‹vernier diagnose --help-all›"},
      ErrorPage{UnknownName, "There is no layer, tensor, output or repair of this name",
                "The name has a typo, comes from another export, or changed when constants were folded.",
                "List the names. A shell wildcard, or a regular expression between slashes, matches several.",
                "‹vernier inspect model MODEL --show layers›"},
      ErrorPage{
          LayerCannot, "A layer cannot run in the requested format",
          "The target has no kernel for it, or its weights do not fit the format. ‹precision-constraints› obey makes "
          "that an error.",
          "Pass another format for the layer, or ‹precision-constraints› prefer.",
          "‹vernier inspect capability MODEL›"},
      ErrorPage{WouldOverwrite, "The output would overwrite a file that is still needed",
                "The command reads this file, or an earlier run wrote it.", "Choose another name for the output.",
                "‹vernier fix MODEL --int8 --data SOURCE -o other_folder›"},
      ErrorPage{InUse, "Another job writes to the same place",
                "Two jobs that write to one place would mix their files.",
                "Wait for the other job, or choose another output.",
                "‹vernier diagnose MODEL --int8 --data SOURCE -o other_folder›"},
      ErrorPage{NotSupported, "Vernier does not support this option of another tool",
                "Vernier knows the options of Polygraphy, trtexec and ModelOpt, but some have no counterpart.",
                "Use the replacement in the hint. The pages about migration list all replacements.",
                "‹vernier diagnose --help-all›"},
      ErrorPage{NoPythonFile, "A script is not a Python file", "Scripts are named FILE.py or FILE.py:FUNCTION.",
                "Pass the file, and the function after a colon.", "‹vernier template data-loader MODEL -o loader.py›"},
      ErrorPage{SeveralOutputs, "The model has several outputs, and one is needed",
                "Labels belong to one output, and Vernier does not guess which.", "Choose one with ‹outputs›.",
                "‹vernier inspect model MODEL›"},
      ErrorPage{BadProposal, "Your own repair proposes an invalid change",
                "It names an unknown layer or tensor, changes nothing, or changes inputs or outputs of the model.",
                "Compare the proposal with the names and shapes of the model.",
                "‹vernier inspect model MODEL --show layers›"},

      ErrorPage{Input, "An input cannot be used",
                "No other E3xx code describes this case. The message names the file and the problem.",
                "Follow the hint.", "‹vernier inspect model MODEL›"},
      ErrorPage{FileMissing, "A file does not exist", "The path has a typo, or is relative to another folder.",
                "Check the path. The hint lists similar names.", "ls FOLDER"},
      ErrorPage{FileUnreadable, "A file exists but cannot be read",
                "It is a folder, a pipe or empty, or you have no permission to read it.",
                "Pass a regular file. Save the output of a pipe to a file first.", "ls -l FILE"},
      ErrorPage{FileUnwritable, "A file cannot be written",
                "The disk is full, the folder is read-only, or a part of the path is a file, not a folder.",
                "Choose another folder. The variable TMPDIR sets the folder of temporary files.", "df -h ."},
      ErrorPage{NotAModel, "The file is not an ONNX model",
                "It is truncated, or it is another kind of file: a Git LFS pointer, an engine, saved arrays.",
                "Download or export it again. Run an engine with ‹trt›.", "‹vernier inspect model MODEL›"},
      ErrorPage{
          InvalidModel, "The ONNX graph is invalid",
          "A tensor has no producer or two, nodes form a cycle, a type is unknown, or a weight does not match its "
          "shape.",
          "List all faults, then repair the export.", "‹vernier check lint MODEL›"},
      ErrorPage{
          UnknownOperator, "ONNX has no such operator in this opset",
          "The model has a custom operator in ONNX's own domain, or an operator of another opset.",
          "Give a custom operator its own domain and load its library with ‹custom-ops›, or export with another opset.",
          "‹vernier check lint MODEL›"},
      ErrorPage{ExternalData, "Weights outside the model file cannot be read",
                "The file with the weights is missing or truncated, belongs to another model, or is outside the "
                "model's folder.",
                "Copy it next to the model under the name in the message.", "‹vernier inspect model MODEL›"},
      ErrorPage{ModelTooLarge, "The model does not fit into one ONNX file",
                "The format has a limit of 2 GB for one file.", "Store the weights in a second file.",
                "‹vernier convert MODEL -o out.onnx --save-external-data weights.bin›"},
      ErrorPage{SampleNames, "The samples do not name the inputs of the model",
                "An input has no array, or an array has a name that is not an input.",
                "Save one array for each input, under its name, with `numpy.savez`.", "‹vernier inspect model MODEL›"},
      ErrorPage{SampleShape, "A sample has the wrong shape",
                "The axes are in another order, the batch is missing, or arrays have different numbers of samples.",
                "Reshape the array. The message has both shapes.", "‹vernier inspect data SAMPLES›"},
      ErrorPage{SampleValues, "A sample has the wrong type or values",
                "The array has another type than the input, or holds NaN, infinity or values beyond the type.",
                "Convert the array with `.astype`, and check the preprocessing.", "‹vernier inspect data SAMPLES›"},
      ErrorPage{SampleFile, "A file of samples or results cannot be used",
                "It is damaged, is a Python pickle or a PyTorch file, or mixes up inputs and results.",
                "Save plain arrays with `numpy.savez`.", "‹vernier inspect data FILE›"},
      ErrorPage{NoSamples, "There is no sample", "The folder, the file or each array in it is empty.",
                "Pass at least one sample with ‹data›.", "‹vernier inspect data SAMPLES›"},
      ErrorPage{Image, "An image cannot become an input",
                "The file is damaged, or the input is not an image of 1, 3 or 4 channels with a known size.",
                "Pass the geometry, such as ‹image› short-crop:256,224, or save arrays instead.",
                "‹vernier check data MODEL --data IMAGES›"},
      ErrorPage{Labels, "The labels do not fit the samples or the model",
                "There are more or fewer labels than samples, or a class is outside the output.",
                "Pass one label for each sample. ‹label-offset› shifts all of them.",
                "‹vernier check data MODEL --data SOURCE --labels FILE›"},
      ErrorPage{JsonFile, "A JSON file is not valid",
                "It has a syntax error, a field is missing or has another type, or another version wrote it.",
                "Correct the field in the message, or write the file again.", "‹vernier help plan-schema›"},
      ErrorPage{OtherModel, "The file belongs to another model",
                "A plan, report, record or file of ranges names the model by its hash or its tensors, and this model "
                "differs.",
                "Pass the model that it was made for, or write the file again for this model.",
                "‹vernier diagnose MODEL --int8 --data SOURCE -o out›"},
      ErrorPage{
          Journal, "The journal belongs to another search",
          "The model, the samples or the options changed since it was written, a line is damaged, or the file is not a "
          "journal.",
          "Start a new search: leave out ‹resume›, or name another ‹journal›.",
          "‹vernier diagnose MODEL --int8 --min-sqnr 20 --data SOURCE -o out --journal new.jsonl›"},
      ErrorPage{Ranges, "A file of ranges cannot be used",
                "It lacks a tensor, holds a range that is not finite, or has another file format.",
                "Calibrate this model again.", "‹vernier calibrate MODEL --data SOURCE -o ranges.json›"},
      ErrorPage{NothingToLower, "No layer can run in the requested formats",
                "The target runs none of the model's operators in these formats.", "Choose another format.",
                "‹vernier inspect model MODEL --show layers›"},
      ErrorPage{NotFloat, "A float model is needed, and this one is quantized",
                "The file holds Q/DQ pairs or integer weights, so its FP32 values are lost.",
                "Pass the float model that it was made from, or compare the file with it.",
                "‹vernier verify FLOAT QUANTIZED --data SOURCE›"},
      ErrorPage{NotMeasurable, "The outputs cannot be measured",
                "They are empty, NaN in every sample, strings, or of a type without an error measure.",
                "Choose other outputs with ‹outputs›, or check the samples.",
                "‹vernier run MODEL --onnxrt --data SOURCE›"},
      ErrorPage{Unlike, "Two models or results cannot be compared",
                "Their inputs, outputs, shapes or numbers of samples differ.",
                "Run two versions of one network on the same samples.", "‹vernier inspect model MODEL›"},
      ErrorPage{Script, "A Python script failed",
                "It has no such function, raised an exception, ran too long, or returned values of the wrong kind.",
                "Run the script alone, or start from a template. ‹timeout› sets its time limit.",
                "‹vernier template data-loader MODEL -o loader.py›"},
      ErrorPage{Library, "A plugin or a library of operators cannot be loaded",
                "The file is missing or not a shared library, lacks a library that it needs, or was built for another "
                "version.",
                "Check which libraries it needs, and build it for the installed version.", "ldd LIBRARY"},

      ErrorPage{Backend, "A backend failed",
                "No other E4xx code describes this case. The message has the backend's own text.",
                "Check the installation.", "‹vernier doctor›"},
      ErrorPage{RuntimeMissing, "ONNX Runtime is missing or too old",
                "Vernier found no library, or one with an older API. The message lists each attempt.",
                "Install it, or set VERNIER_ORT_LIBRARY to its libonnxruntime.so.", "pip install onnxruntime"},
      ErrorPage{RuntimeFails, "ONNX Runtime rejects or cannot run the model",
                "It finds the graph invalid, has no kernel for an operator with this type, or a shape does not fit.",
                "Look for faults in the graph. Load custom operators with ‹custom-ops›.", "‹vernier check lint MODEL›"},
      ErrorPage{EngineMissing, "The engine is not installed",
                "Vernier runs TensorRT, TensorRT-RTX and OpenVINO in Python, and that Python cannot import the engine.",
                "Install the engine, or name another interpreter with ‹python›.", "‹vernier doctor›"},
      ErrorPage{EngineFails, "The engine rejects the model or fails",
                "It does not support an operator, a type or a shape, or another version wrote the engine file.",
                "Read its last messages in the hint, and check which nodes it supports.",
                "‹vernier inspect capability MODEL›"},
      ErrorPage{GpuMissing, "The GPU cannot be used",
                "Vernier found no GPU, or the driver, CUDA or the CUDA build of ONNX Runtime is missing or too old.",
                "Run on the CPU with ‹device› cpu, or install what the message names.", "‹vernier doctor›"},
      ErrorPage{OutOfMemory, "Out of memory",
                "The model, its samples or several runs at once need more than the machine or the GPU has. "
                "Before that, a GPU runs smaller batches and, where it can, the network in parts.",
                "Use fewer ‹threads› and a smaller batch. On a GPU, raise ‹gpu-memory› or use ‹device› cpu.",
                "‹vernier diagnose MODEL --int8 --data SOURCE --threads 1›"},
      ErrorPage{SystemLimit, "The system allows no more threads, processes or files",
                "A limit of the shell or the container is reached.", "Raise the limit, or use fewer ‹threads›.",
                "ulimit -a"},
      ErrorPage{ProgramFails, "Another program cannot be started or fails",
                "It is not installed, is not on the path, or ended with an error.",
                "Run that program alone and read its messages.", "‹vernier doctor›"},
      ErrorPage{Ranks, "Processes of one MPI job cannot work together",
                "Vernier has no plug-in for this MPI library, or a rank ended before the others.",
                "Build with the MPI that starts the job, or set VERNIER_MPI=none.", "‹vernier doctor›"},
      ErrorPage{NoKernel, "ONNX Runtime has no kernel for a node",
                "It implements the operator for other types or opsets than the node has.",
                "Convert the model to another opset, or insert a Cast to a type that it implements.",
                "‹vernier check lint MODEL›"},

      ErrorPage{Internal, "Vernier has a bug",
                "A check inside the program failed. That is a bug, whatever the input was.",
                "Report it, with the command, its output and, if possible, the model.", "‹vernier doctor›"},
  };
}();

}  // namespace

std::span<const ErrorPage> error_pages() { return kPages; }

std::string code_name(ErrorCode code) {
  return code == ErrorCode::None ? std::string() : fmt::format("E{}", static_cast<int>(code));
}

}  // namespace vernier
