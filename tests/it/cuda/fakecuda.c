// A driver without a GPU: as much of libcuda as replays call, over kernels that a C++ compiler built. What goes wrong
// is said by environment variables:
//
//   FAKE_CUDA_KERNELS   the library of kernels that every module stands for
//   FAKE_CUDA_FAULT     `init=CODE`, `none`, `old`, `context=CODE`, `memory=N`, `module=CODE`,
//                       `illegal=N`, `hang=N`, `killed=N`: the N-th launch (or allocation) of a process, from 1
//   FAKE_CUDA_TOTAL     bytes of the card
//   FAKE_CUDA_LOG       a file that every process of this driver appends its id to
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
typedef uint64_t Address;

enum { GRANULE = 2 << 20, CONTEXT = 300 << 20, OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700 };

static size_t used;
static int contexts, launches, allocations, initialised;
// After a fault every call gives its code.
static Result dead;

// The number behind `kind=`, -1 without it.
static int fault(const char *kind) {
  const char *said = getenv("FAKE_CUDA_FAULT");
  size_t length = strlen(kind);
  if (!said || strncmp(said, kind, length)) return -1;
  return said[length] == '=' ? atoi(said + length + 1) : 0;
}

static size_t total(void) {
  const char *said = getenv("FAKE_CUDA_TOTAL");
  return said ? strtoull(said, NULL, 10) : (size_t)8 << 30;
}

Result cuInit(unsigned flags) {
  (void)flags;
  const char *log = getenv("FAKE_CUDA_LOG");
  if (log && !initialised) {
    FILE *file = fopen(log, "a");
    if (file) {
      fprintf(file, "%d\n", (int)getpid());
      fclose(file);
    }
  }
  initialised = 1;
  int code = fault("init");
  return code < 0 ? 0 : code;
}

Result cuDriverGetVersion(int *version) {
  *version = fault("old") < 0 ? 12040 : 11040;
  return 0;
}

Result cuDeviceGetCount(int *count) {
  if (!initialised) return 3;
  *count = fault("none") < 0 ? 1 : 0;
  return 0;
}

Result cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal ? 101 : 0;
}

Result cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  snprintf(name, (size_t)length, "Fake GPU");
  return 0;
}

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  // The two of the compute capability; one multiprocessor.
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 1;
  return 0;
}

Result cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = total();
  return 0;
}

Result cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  int code = fault("context");
  if (code >= 0) return code;
  contexts++;
  *context = &contexts;
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  contexts--;
  return dead;
}
Result cuCtxSetCurrent(void *context) {
  (void)context;
  return dead;
}
Result cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device) {
  (void)affinity, (void)count, (void)flags, (void)device;
  contexts++;
  *context = &contexts;
  return dead;
}
Result cuCtxDestroy_v2(void *context) {
  (void)context;
  contexts--;
  return dead;
}
Result cuCtxSynchronize(void) { return dead; }

Result cuMemGetInfo_v2(size_t *free, size_t *all) {
  size_t pieces = (used + GRANULE - 1) / GRANULE * GRANULE;
  *all = total();
  *free = total() - (size_t)contexts * CONTEXT - pieces;
  return dead;
}

// Sizes lie before what is handed out.
Result cuMemAlloc_v2(Address *at, size_t size) {
  if (dead) return dead;
  if (++allocations == fault("memory") || used + size + (size_t)contexts * CONTEXT > total()) return OUT_OF_MEMORY;
  size_t *block = malloc(size + 16);
  if (!block) return OUT_OF_MEMORY;
  // Nobody clears memory.
  memset(block, 0xa5, size + 16);
  *block = size;
  used += size;
  *at = (Address)(uintptr_t)((char *)block + 16);
  return 0;
}
Result cuMemFree_v2(Address at) {
  if (dead) return dead;
  size_t *block = (size_t *)(uintptr_t)(at - 16);
  used -= *block;
  free(block);
  return 0;
}
Result cuMemcpyHtoD_v2(Address to, const void *from, size_t size) {
  if (!dead) memcpy((void *)(uintptr_t)to, from, size);
  return dead;
}
Result cuMemcpyDtoH_v2(void *to, Address from, size_t size) {
  if (!dead) memcpy(to, (const void *)(uintptr_t)from, size);
  return dead;
}

// The image has to be what a driver takes: PTX, closed by a zero, or an ELF file.
Result cuModuleLoadData(void **module, const void *image) {
  int code = fault("module");
  if (code >= 0) return code;
  if (memcmp(image, "\177ELF", 4) && !strstr(image, ".version")) return 209;
  *module = dlopen(getenv("FAKE_CUDA_KERNELS"), RTLD_NOW | RTLD_LOCAL);
  if (*module) return 0;
  fprintf(stderr, "%s\n", dlerror());
  return 209;
}
Result cuModuleUnload(void *module) {
  (void)module;
  return dead;
}
Result cuModuleGetFunction(void **function, void *module, const char *name) {
  char host[128];
  snprintf(host, sizeof host, "host_%s", name);
  *function = dlsym(module, host);
  return *function ? 0 : 500;
}

Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **arguments, void **extra) {
  (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
  if (dead) return dead;
  launches++;
  if (launches == fault("hang")) {
    for (;;) sleep(1);
  }
  if (launches == fault("killed")) raise(SIGKILL);
  if (launches == fault("illegal")) {
    // A launch only queues: what it does wrong shows later.
    dead = ILLEGAL_ADDRESS;
    return 0;
  }
  ((void (*)(void **, unsigned, unsigned))function)(arguments, gx, bx);
  return 0;
}

Result cuGetErrorName(Result code, const char **name) {
  *name = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
Result cuGetErrorString(Result code, const char **text) {
  *text = code == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "an error";
  return 0;
}
