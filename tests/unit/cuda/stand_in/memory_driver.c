// A driver in the place of libcuda.so.1 whose GPU's memory is the CPU's: STAND_IN_BYTES of it. Kernels do nothing.
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_MEMORY = 2, HEAD = 64 };
static size_t used;

static size_t all(void) {
  const char* said = getenv("STAND_IN_BYTES");
  return said == NULL ? (size_t)1 << 30 : strtoull(said, NULL, 10);
}

int cuInit(unsigned flags) { return (void)flags, 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int size, int device) { return (void)device, strncpy(name, "Stand-in", (size_t)size), 0; }
int cuDeviceGetUuid_v2(char* id, int device) { return memset(id, device, 16), 0; }
int cuDeviceGetAttribute(int* value, int which, int device) { return (void)device, *value = which == 75 ? 9 : 0, 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return (void)device, *bytes = all(), 0; }
int cuGetErrorString(int code, const char** text) { return (void)code, *text = "an error", 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return (void)device, *context = NULL, 0; }
int cuCtxSetCurrent(void* context) { return (void)context, 0; }
int cuMemGetInfo_v2(size_t* left, size_t* total) { return *total = all(), *left = *total - used, 0; }
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  if (used + bytes > all()) return OUT_OF_MEMORY;
  char* memory = malloc(bytes + HEAD);
  if (memory == NULL) return OUT_OF_MEMORY;
  memcpy(memory, &bytes, sizeof bytes);
  used += bytes;
  return *address = (unsigned long long)(memory + HEAD), 0;
}
int cuMemFree_v2(unsigned long long address) {
  char* memory = (char*)address - HEAD;
  size_t bytes = 0;
  memcpy(&bytes, memory, sizeof bytes);
  used -= bytes;
  return free(memory), 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) { return memcpy((void*)to, from, bytes), 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
  return (void)stream, cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) { return memcpy(to, (void*)from, bytes), 0; }
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
  return (void)stream, cuMemcpyDtoH_v2(to, from, bytes);
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
  return (void)stream, memmove((void*)to, (void*)from, bytes), 0;
}
int cuMemcpy2DAsync_v2(const void* rows, void* stream) { return (void)rows, (void)stream, 0; }
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) { return memset((void*)to, value, bytes), 0; }
int cuStreamSynchronize(void* stream) { return (void)stream, 0; }
int cuModuleLoadData(void** module, const void* image) { return (void)image, *module = NULL, 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  return (void)module, (void)name, *function = NULL, 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** arguments, void** more) {
  (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
  return (void)shared, (void)stream, (void)arguments, (void)more, 0;
}
