// A CUDA build of ONNX Runtime in front of the CPU's, which STAND_IN_ONNXRUNTIME names: what it keeps on a GPU lies in
// the CPU's memory. Runs of a session whose serialized model has more than STAND_IN_ROOM bytes are out of memory. What it
// was asked for stands in the environment: STAND_IN_LIMIT, STAND_IN_ARENA.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const OrtApi* real;
static OrtApi api;

// Sizes of serialized models by session.
enum { SESSIONS = 4096 };
static struct {
  const OrtSession* session;
  size_t bytes;
} sessions[SESSIONS];
static size_t made;

static size_t room(void) {
  const char* said = getenv("STAND_IN_ROOM");
  return said == NULL ? (size_t)-1 : strtoull(said, NULL, 10);
}

static OrtStatus* ORT_API_CALL create_session(const OrtEnv* env, const void* data, size_t size,
                                              const OrtSessionOptions* options, OrtSession** out) {
  OrtStatus* status = real->CreateSessionFromArray(env, data, size, options, out);
  if (status == NULL && made < SESSIONS) {
    sessions[made].session = *out;
    sessions[made++].bytes = size;
  }
  return status;
}

static OrtStatus* ORT_API_CALL run(OrtSession* session, const OrtRunOptions* options, const char* const* names,
                                   const OrtValue* const* inputs, size_t count, const char* const* output_names,
                                   size_t outputs, OrtValue** values) {
  for (size_t i = made; i > 0; --i) {
    if (sessions[i - 1].session != session) continue;
    if (sessions[i - 1].bytes <= room()) break;
    return real->CreateStatus(ORT_FAIL, "Available memory of 0 is smaller than requested bytes of 256");
  }
  return real->Run(session, options, names, inputs, count, output_names, outputs, values);
}

static OrtStatus* ORT_API_CALL create_options(OrtCUDAProviderOptionsV2** out) {
  return *out = (OrtCUDAProviderOptionsV2*)&api, NULL;
}
static OrtStatus* ORT_API_CALL update_options(OrtCUDAProviderOptionsV2* options, const char* const* keys,
                                              const char* const* values, size_t count) {
  (void)options;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(keys[i], "gpu_mem_limit") == 0) setenv("STAND_IN_LIMIT", values[i], 1);
  }
  return NULL;
}
static void ORT_API_CALL release_options(OrtCUDAProviderOptionsV2* options) { (void)options; }
static OrtStatus* ORT_API_CALL append(OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* cuda) {
  return (void)options, (void)cuda, NULL;
}
static OrtStatus* ORT_API_CALL create_memory(const char* name, enum OrtAllocatorType type, int id, enum OrtMemType kind,
                                             OrtMemoryInfo** out) {
  if (strcmp(name, "Cuda") == 0) return real->CreateCpuMemoryInfo(type, kind, out);
  return real->CreateMemoryInfo(name, type, id, kind, out);
}
static OrtStatus* ORT_API_CALL create_arena(const char* const* keys, const size_t* values, size_t count,
                                            OrtArenaCfg** out) {
  char text[32];
  snprintf(text, sizeof text, "%zu", values[0]);
  setenv("STAND_IN_ARENA", text, 1);
  return real->CreateArenaCfgV2(keys, values, count, out);
}
static OrtStatus* ORT_API_CALL register_arena(OrtEnv* env, const char* provider, const OrtMemoryInfo* memory,
                                              const OrtArenaCfg* config, const char* const* keys,
                                              const char* const* values, size_t count) {
  (void)env, (void)provider, (void)memory, (void)config, (void)keys, (void)values, (void)count;
  return NULL;
}
static OrtStatus* ORT_API_CALL unregister_arena(OrtEnv* env, const OrtMemoryInfo* memory) {
  return (void)env, (void)memory, unsetenv("STAND_IN_ARENA"), NULL;
}
static OrtStatus* ORT_API_CALL add_run_entry(OrtRunOptions* options, const char* key, const char* value) {
  return strcmp(value, "gpu:0") == 0 ? NULL : real->AddRunConfigEntry(options, key, value);
}

static const char* ORT_API_CALL on_the_cpu(const OrtCustomOp* op) { return (void)op, NULL; }
static OrtStatus* ORT_API_CALL add_operator(OrtCustomOpDomain* domain, const OrtCustomOp* op) {
  ((OrtCustomOp*)op)->GetExecutionProviderType = on_the_cpu;
  return real->CustomOpDomain_Add(domain, op);
}
static OrtStatus* ORT_API_CALL get_stream(const OrtKernelContext* context, void** stream) {
  return (void)context, *stream = NULL, NULL;
}

static const OrtApi* ORT_API_CALL get_api(uint32_t version) {
  const OrtApiBase* base = NULL;
  if (real == NULL) {
    void* library = dlopen(getenv("STAND_IN_ONNXRUNTIME"), RTLD_NOW | RTLD_LOCAL);
    const OrtApiBase* (*get_base)(void) = (const OrtApiBase* (*)(void))dlsym(library, "OrtGetApiBase");
    base = get_base();
    real = base->GetApi(version);
    api = *real;
    api.CreateSessionFromArray = create_session;
    api.Run = run;
    api.CreateCUDAProviderOptions = create_options;
    api.UpdateCUDAProviderOptions = update_options;
    api.ReleaseCUDAProviderOptions = release_options;
    api.SessionOptionsAppendExecutionProvider_CUDA_V2 = append;
    api.CreateMemoryInfo = create_memory;
    api.CreateArenaCfgV2 = create_arena;
    api.CreateAndRegisterAllocatorV2 = register_arena;
    api.UnregisterAllocator = unregister_arena;
    api.CustomOpDomain_Add = add_operator;
    api.KernelContext_GetGPUComputeStream = get_stream;
    api.AddRunConfigEntry = add_run_entry;
  }
  return &api;
}
static const char* ORT_API_CALL get_version(void) { return "1.31.1"; }

const OrtApiBase* ORT_API_CALL OrtGetApiBase(void) {
  static const OrtApiBase base = {get_api, get_version};
  return &base;
}
