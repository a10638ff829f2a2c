/* A stand-in for NVIDIA's driver: one GPU whose memory is the host's. STAND_IN=nomemory@run: it has none left;
   negative@time, nan@time: its events lie; refuse@graph: it captures nothing. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDeviceGetName(char* name, int size, int device) { strncpy(name, device == 0 ? "Stand-in GPU" : "?", (size_t)size); return 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = 1U << 30 << device; return 0; }
int cuDeviceGetAttribute(int* value, int which, int device) { *value = which == 75 ? 9 : device; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &cuInit; return device; }
int cuCtxSetCurrent(void* context) { return context == 0; }
int cuStreamCreate(void** stream, unsigned flags) { *stream = &cuInit; return flags == 1 ? 0 : 1; }
int cuEventCreate(void** event, unsigned flags) { *event = &cuInit; return (int)flags; }
int cuEventRecord(void* event, void* stream) { return event == 0 || stream == 0; }
int cuEventSynchronize(void* event) { return event == 0; }
static int mode_is(const char* wanted) {
  const char* mode = getenv("STAND_IN");
  return mode != 0 && strcmp(mode, wanted) == 0;
}
static int launched = 0;  /* graphs, which take half the time */
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  *milliseconds = mode_is("negative@time") ? -2.F : mode_is("nan@time") ? NAN : launched ? 1.F : 2.F;
  return begin == 0 || end == 0;
}
int cuStreamSynchronize(void* stream) { return stream == 0; }
int cuStreamBeginCapture_v2(void* stream, int mode) { return mode_is("refuse@graph") ? 900 : stream == 0 || mode != 1; }
int cuStreamEndCapture(void* stream, void** graph) { *graph = &cuInit; return stream == 0; }
int cuGraphInstantiateWithFlags(void** ready, void* graph, unsigned long long flags) { *ready = graph; return (int)flags; }
int cuGraphDestroy(void* graph) { return graph == 0; }
int cuGraphLaunch(void* graph, void* stream) { launched = 1; return graph == 0 || stream == 0; }
int cuGraphExecDestroy(void* graph) { return graph == 0; }
int cuGetErrorString(int code, const char** text) { *text = code == 2 ? "out of memory" : "unknown error"; return 0; }
int cuMemAlloc_v2(uint64_t* place, size_t size) {
  const char* mode = getenv("STAND_IN");
  if (mode != 0 && strcmp(mode, "nomemory@run") == 0) return 2;
  *place = (uint64_t)(uintptr_t)malloc(size);
  return 0;
}
int cuMemFree_v2(uint64_t place) { free((void*)(uintptr_t)place); return 0; }
int cuMemcpyHtoD_v2(uint64_t place, const void* from, size_t size) { memcpy((void*)(uintptr_t)place, from, size); return 0; }
int cuMemcpyDtoH_v2(void* to, uint64_t place, size_t size) { memcpy(to, (const void*)(uintptr_t)place, size); return 0; }
