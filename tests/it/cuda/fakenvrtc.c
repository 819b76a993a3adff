// A compiler that compiles nothing: what it gives for any text is the head of an ELF file. `FAKE_NVRTC_LOG` makes it
// refuse, in these words.
#include <stdlib.h>
#include <string.h>

typedef int Result;

Result nvrtcVersion(int *major, int *minor) {
  *major = 12;
  *minor = 9;
  return 0;
}
Result nvrtcCreateProgram(void **program, const char *text, const char *name, int count, const char *const *headers,
                          const char *const *names) {
  (void)name, (void)headers, (void)names;
  *program = (void *)text;
  return count || !strstr(text, "__global__ void fused(");
}
Result nvrtcDestroyProgram(void **program) {
  *program = NULL;
  return 0;
}
Result nvrtcCompileProgram(void *program, int count, const char *const *options) {
  (void)program;
  int contracts = 1, fits = 0;
  for (int at = 0; at < count; at++) {
    contracts &= strcmp(options[at], "--fmad=false") != 0;
    fits |= !strcmp(options[at], "--gpu-architecture=sm_90");
  }
  return contracts || !fits || getenv("FAKE_NVRTC_LOG") ? 6 : 0;
}
Result nvrtcGetProgramLogSize(void *program, size_t *size) {
  (void)program;
  *size = 16;
  return 0;
}
Result nvrtcGetProgramLog(void *program, char *log) {
  (void)program;
  strcpy(log, "it was refused");
  return 0;
}
Result nvrtcGetCUBINSize(void *program, size_t *size) {
  (void)program;
  *size = 8;
  return 0;
}
Result nvrtcGetCUBIN(void *program, char *code) {
  (void)program;
  memcpy(code, "\177ELF\0\0\0\0", 8);
  return 0;
}
