// A driver in the place of libcuda.so.1, without a GPU behind it. STAND_IN_CUDA says what ails it: "init" does not start,
// "none" finds no GPU, "old" runs CUDA 11.4,
// "aged" has a GPU of compute capability 7.0; otherwise there is one GPU, and no kernel. CUDA_VISIBLE_DEVICES says which
// GPUs there are: "4,5".
#include <stdlib.h>
#include <string.h>

static int ails(const char* what) {
  const char* said = getenv("STAND_IN_CUDA");
  return said != NULL && strcmp(said, what) == 0;
}

/// The number of the GPU that is seen at `index`; -1: none.
static int seen(int index) {
  const char* at = getenv("CUDA_VISIBLE_DEVICES");
  if (at == NULL) return index == 0 ? 0 : -1;
  for (; index > 0 && at != NULL; --index) at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1;
  return at == NULL || *at == 0 ? -1 : atoi(at);
}

int cuInit(unsigned flags) { return ails("init") ? 999 : 0; }
int cuDriverGetVersion(int* version) { return *version = ails("old") ? 11040 : 13000, 0; }
int cuDeviceGetCount(int* count) { 
  for (*count = 0; !ails("none") && seen(*count) >= 0;) ++*count;
  return 0;
}
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int size, int device) { return strncpy(name, "Stand-in", (size_t)size), 0; }
int cuDeviceGetUuid_v2(char* id, int device) { return memset(id, seen(device), 16), 0; }
int cuDeviceGetAttribute(int* value, int which, int device) { return *value = which == 75 ? (ails("aged") ? 7 : 9) : 0, 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return *bytes = (size_t)8 << 30, 0; }
int cuGetErrorString(int code, const char** text) { return *text = "unknown error", 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = NULL, 0; }
int cuCtxSetCurrent(void* context) { return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = (size_t)8 << 30, 0; }
#ifndef WITHOUT_MEMORY
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) { return 2; }
#endif
int cuMemFree_v2(unsigned long long address) { return 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) { return 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) { return 0; }
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) { return 0; }
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) { return 0; }
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) { return 0; }
int cuMemcpy2DAsync_v2(const void* rows, void* stream) { return 0; }
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) { return 0; }
int cuStreamSynchronize(void* stream) { return 0; }
int cuModuleLoadData(void** module, const void* image) { return *module = NULL, 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) { return *function = NULL, 0; }
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** arguments, void** more) {
  return 0;
}
