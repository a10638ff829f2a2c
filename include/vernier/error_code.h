// Which kind of failure an Error is, for people who look one up: `vernier help E301`, docs/reference/errors.md. A code
// never changes its meaning, and a number is never used again. Its first digit stands for the exit code: 2
// usage, 3 input, 4 backend, 7 internal (70).
#pragma once

#include <span>
#include <string>

#include "vernier/error.h"
#include "vernier/export.h"

namespace vernier {

enum class ErrorCode : int {
  None = 0,  // an interrupt, which is nobody's fault

  Usage = 200,  // any other
  UnknownOption = 201,
  UnknownCommand = 202,
  MissingArgument = 203,
  BadValue = 204,
  Contradiction = 205,
  WithoutEffect = 206,
  UnknownName = 207,
  LayerCannot = 208,
  WouldOverwrite = 209,
  InUse = 210,
  NotSupported = 211,
  NoPythonFile = 212,
  SeveralOutputs = 213,
  BadProposal = 214,

  Input = 300,  // any other
  FileMissing = 301,
  FileUnreadable = 302,
  FileUnwritable = 303,
  NotAModel = 304,
  InvalidModel = 305,
  UnknownOperator = 306,
  ExternalData = 307,
  ModelTooLarge = 308,
  SampleNames = 309,
  SampleShape = 310,
  SampleValues = 311,
  SampleFile = 312,
  NoSamples = 313,
  Image = 314,
  Labels = 315,
  JsonFile = 316,
  OtherModel = 317,
  Journal = 318,
  Ranges = 319,
  NothingToLower = 320,
  NotFloat = 321,
  NotMeasurable = 322,
  Unlike = 323,
  Script = 324,
  Library = 325,

  Backend = 400,  // any other
  RuntimeMissing = 401,
  RuntimeFails = 402,
  EngineMissing = 403,
  EngineFails = 404,
  GpuMissing = 405,
  OutOfMemory = 406,
  SystemLimit = 407,
  ProgramFails = 408,
  Ranks = 409,
  NoKernel = 410,

  Internal = 700,
};

/// What `vernier help CODE` prints. Texts mark arguments and commands (marks.h).
struct ErrorPage {
  ErrorCode code;
  const char* title;    // what happened
  const char* why;      // usual reasons
  const char* cure;     // what to do
  const char* command;  // an example to paste
};

/// One for each code, in order.
VERNIER_API std::span<const ErrorPage> error_pages();

/// "E301"; empty of None.
VERNIER_API std::string code_name(ErrorCode code);

}  // namespace vernier
