/* Stands before ONNX Runtime (VERNIER_ORT_LIBRARY names this library, SESSION_TIMES_OF the real one) and writes to the file
   SESSION_TIMES a row whenever a session was made or run: what, when it began and ended, the CPU seconds of its thread, and
   those that the process had used when it began and ended. So programs of all commits tell it, without being changed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  double clock, thread, process;
} Now;

static const OrtApiBase* real_base;
static const OrtApi* real;
static OrtApi timed;
static OrtApiBase timed_base;
static FILE* file;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static Now now(void) {
  const Now all = {seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID), seconds(CLOCK_PROCESS_CPUTIME_ID)};
  return all;
}

static OrtStatus* row(const char* what, Now begin, OrtStatus* status) {
  const Now end = now();
  fprintf(file, "%s %.6f %.6f %.6f %.6f %.6f\n", what, begin.clock, end.clock, end.thread - begin.thread, begin.process, end.process);
  return status;
}

static OrtStatus* from_file(const OrtEnv* env, const ORTCHAR_T* path, const OrtSessionOptions* options, OrtSession** out) {
  const Now begin = now();
  return row("made", begin, real->CreateSession(env, path, options, out));
}

static OrtStatus* from_array(const OrtEnv* env, const void* bytes, size_t count, const OrtSessionOptions* options, OrtSession** out) {
  const Now begin = now();
  return row("made", begin, real->CreateSessionFromArray(env, bytes, count, options, out));
}

static OrtStatus* run(OrtSession* session, const OrtRunOptions* options, const char* const* names, const OrtValue* const* inputs,
                      size_t input_count, const char* const* output_names, size_t output_count, OrtValue** outputs) {
  const Now begin = now();
  return row("run", begin, real->Run(session, options, names, inputs, input_count, output_names, output_count, outputs));
}

static void load(void) {
  void* const library = dlopen(getenv("SESSION_TIMES_OF"), RTLD_NOW | RTLD_LOCAL);
  file = fopen(getenv("SESSION_TIMES"), "w");
  if (library == NULL || file == NULL) {
    fprintf(stderr, "session_times: %s\n", library == NULL ? dlerror() : "SESSION_TIMES can't be written");
    exit(99);
  }
  real_base = ((const OrtApiBase* (*)(void))dlsym(library, "OrtGetApiBase"))();
  real = real_base->GetApi(ORT_API_VERSION);
  timed = *real; /* what this version of the interface has; behind it nothing is asked for */
  timed.CreateSession = from_file;
  timed.CreateSessionFromArray = from_array;
  timed.Run = run;
}

static const OrtApi* get_api(uint32_t version) {
  return version == ORT_API_VERSION ? &timed : NULL;
}

const OrtApiBase* OrtGetApiBase(void) {
  pthread_once(&once, load);
  timed_base.GetApi = get_api;
  timed_base.GetVersionString = real_base->GetVersionString;
  return &timed_base;
}

__attribute__((destructor)) static void end(void) {
  if (file != NULL) fclose(file);
}
