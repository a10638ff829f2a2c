// In the place of NVIDIA's libraries that nothing is called of, and of NVRTC, which compiles nothing.
#include <stddef.h>

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
int nvrtcCreateProgram(void** program, const char* text, const char* name, int count, const char* const* headers,
                       const char* const* names) {
  (void)text, (void)name, (void)count, (void)headers, (void)names;
  return *program = NULL, 0;
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  return (void)program, (void)count, (void)options, 0;
}
int nvrtcGetProgramLogSize(void* program, size_t* size) { return (void)program, *size = 0, 0; }
int nvrtcGetProgramLog(void* program, char* log) { return (void)program, (void)log, 0; }
int nvrtcGetCUBINSize(void* program, size_t* size) { return (void)program, *size = 1, 0; }
int nvrtcGetCUBIN(void* program, char* image) { return (void)program, *image = 0, 0; }
int nvrtcDestroyProgram(void** program) { return *program = NULL, 0; }
