// Custom operators for ONNX Runtime in the domain "test.ops", for test_custom_ops.py.
//
//   Twist(X) -> Y              0.5 X + 0.25 X|X|, elementwise
//   Halves(X) -> Above, Below  max(X, 0) and min(X, 0)
//   Signs(X) -> S              int64: -1, 0 or 1
//   Fails(X) -> Y              an error of its own
//
// Compiled with -DDOMAIN="text" the domain is another; with -DFAILS="text" registering fails with that text, with -DCRASHES
// it crashes. It also does on another thread than the process's first.
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DOMAIN
#define DOMAIN "test.ops"
#endif

static const OrtApi* api;

typedef struct {
  OrtCustomOp base;
  const char* name;
  size_t outputs;
  ONNXTensorElementDataType type;
} Operator;

typedef struct {
  const Operator* op;
} Kernel;

static OrtStatusPtr make_kernel(const OrtCustomOp* self, const OrtApi* of, const OrtKernelInfo* info, void** kernel) {
  Kernel* made = malloc(sizeof(Kernel));
  made->op = (const Operator*)self;
  *kernel = made;
  return NULL;
}

static OrtStatusPtr compute(void* kernel, OrtKernelContext* context) {
  const Operator* op = ((Kernel*)kernel)->op;
  if (strcmp(op->name, "Fails") == 0) return api->CreateStatus(ORT_FAIL, "the operator has had enough");
  const OrtValue* input;
  OrtTensorTypeAndShapeInfo* info;
  size_t rank, count;
  int64_t dims[16];
  float* x;
  OrtStatusPtr status;
  if ((status = api->KernelContext_GetInput(context, 0, &input)) || (status = api->GetTensorTypeAndShape(input, &info)))
    return status;
  if ((status = api->GetDimensionsCount(info, &rank)) || (status = api->GetDimensions(info, dims, rank)) ||
      (status = api->GetTensorShapeElementCount(info, &count)) ||
      (status = api->GetTensorMutableData((OrtValue*)input, (void**)&x)))
    return status;
  api->ReleaseTensorTypeAndShapeInfo(info);
  for (size_t o = 0; o < op->outputs; ++o) {
    OrtValue* output;
    void* data;
    if ((status = api->KernelContext_GetOutput(context, o, dims, rank, &output))) return status;
    if (output == NULL) continue;
    if ((status = api->GetTensorMutableData(output, &data))) return status;
    for (size_t i = 0; i < count; ++i) {
      const float a = x[i];
      if (strcmp(op->name, "Twist") == 0) ((float*)data)[i] = 0.5f * a + 0.25f * a * (a < 0 ? -a : a);
      if (strcmp(op->name, "Halves") == 0) ((float*)data)[i] = (a > 0) == (o == 0) ? a : 0;
      if (strcmp(op->name, "Signs") == 0) ((int64_t*)data)[i] = (a > 0) - (a < 0);
    }
  }
  return NULL;
}

static void drop_kernel(void* kernel) { free(kernel); }
static const char* name_of(const OrtCustomOp* self) { return ((const Operator*)self)->name; }
static const char* provider_of(const OrtCustomOp* self) { return NULL; }
static ONNXTensorElementDataType input_type(const OrtCustomOp* self, size_t index) {
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static ONNXTensorElementDataType output_type(const OrtCustomOp* self, size_t index) {
  return ((const Operator*)self)->type;
}
static size_t one_input(const OrtCustomOp* self) { return 1; }
static size_t output_count(const OrtCustomOp* self) { return ((const Operator*)self)->outputs; }
static OrtCustomOpInputOutputCharacteristic required(const OrtCustomOp* self, size_t index) {
  return INPUT_OUTPUT_REQUIRED;
}
static OrtMemType usual_memory(const OrtCustomOp* self, size_t index) { return OrtMemTypeDefault; }
static int one(const OrtCustomOp* self) { return 1; }
static int newest(const OrtCustomOp* self) { return 1000; }

static Operator operators[] = {
    {{0}, "Twist", 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
    {{0}, "Halves", 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
    {{0}, "Signs", 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},
    {{0}, "Fails", 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
};

/* A copy of a process has the thread that copied alone: whatever lock another one held stays locked in it for good. The
   program's first thread reads models meanwhile, unless it is the one that copies. */
static void refuse_other_threads(void) {
  unsigned long first = 0, end = 0;
  char line[4352];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    if (strstr(line, "[stack]") != NULL) sscanf(line, "%lx-%lx", &first, &end);
  }
  if (maps != NULL) fclose(maps);
  const unsigned long here = (unsigned long)line;
  if (first <= here && here < end) return;
  fputs("registered beside the first thread\n", stderr);
  abort();
}

OrtStatusPtr RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  static OrtCustomOpDomain* domain;
  api = base->GetApi(17);
  refuse_other_threads();
#ifdef FAILS
  return api->CreateStatus(ORT_FAIL, FAILS);
#endif
#ifdef CRASHES
  fputs("out of operators\n", stderr);
  abort();
#endif
  if (domain == NULL) {
    OrtStatusPtr status = api->CreateCustomOpDomain(DOMAIN, &domain);
    for (size_t i = 0; status == NULL && i < sizeof(operators) / sizeof(operators[0]); ++i) {
      OrtCustomOp* op = &operators[i].base;
      op->version = 17;
      op->GetName = name_of;
      op->GetExecutionProviderType = provider_of;
      op->GetInputType = input_type;
      op->GetInputTypeCount = one_input;
      op->GetOutputType = output_type;
      op->GetOutputTypeCount = output_count;
      op->GetInputCharacteristic = op->GetOutputCharacteristic = required;
      op->GetInputMemoryType = usual_memory;
      op->GetVariadicInputMinArity = op->GetVariadicInputHomogeneity = one;
      op->GetVariadicOutputMinArity = op->GetVariadicOutputHomogeneity = one;
      op->CreateKernelV2 = make_kernel;
      op->KernelComputeV2 = compute;
      op->KernelDestroy = drop_kernel;
      op->GetStartVersion = one;
      op->GetEndVersion = newest;
      status = api->CustomOpDomain_Add(domain, op);
    }
    if (status) return status;
  }
  return api->AddCustomOpDomain(options, domain);
}
