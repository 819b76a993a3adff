// Kernels with barriers, after `shim.hpp`: threads of a block take turns at each barrier.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ucontext.h>
#include <vector>

// Headers have a use of their own for it, so that it comes after them.
#define __noinline__ __attribute__((noinline))

// A thread of a block that has barriers.
struct Turn {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done;
};
static const size_t STACK = 256 << 10;
// More threads of a block say nothing new, and take long. Kernels ask how many there are.
static const unsigned MOST = 8;
static thread_local ucontext_t between;
static thread_local Turn* running;
static thread_local void (*body)(void**);
static thread_local void** given;

static void __syncthreads() { swapcontext(&running->context, &between); }

static void take_turns() {
  body(given);
  running->done = true;
}

// All threads go as far as the next barrier, in their order and in the other one by turns: what one of them reads
// before it has waited for it, is there in one order and not in the other.
static void launch_block(std::vector<Turn>& turns) {
  for (Turn& turn : turns) {
    turn.done = false;
    getcontext(&turn.context);
    turn.context.uc_stack.ss_sp = turn.stack.get();
    turn.context.uc_stack.ss_size = STACK;
    turn.context.uc_link = &between;
    makecontext(&turn.context, take_turns, 0);
  }
  size_t count = turns.size();
  for (unsigned round = 0; !turns[0].done; round++) {
    for (size_t at = 0; at < count; at++) {
      size_t thread = round & 1 ? count - 1 - at : at;
      threadIdx.x = (unsigned)thread;
      running = &turns[thread];
      swapcontext(&between, &running->context);
    }
    for (Turn& turn : turns) {
      if (turn.done == turns[0].done) continue;
      std::fprintf(stderr, "threads of a block wait at different barriers\n");
      std::abort();
    }
  }
}

static void launch_with_barriers(void (*kernel)(void**), void** arguments, unsigned blocks, unsigned threads) {
  threads = threads < MOST ? threads : MOST;
  gridDim = Dim3{blocks, 1, 1};
  blockDim = Dim3{threads, 1, 1};
  body = kernel;
  given = arguments;
  std::vector<Turn> turns(threads);
  for (Turn& turn : turns) turn.stack.reset(new char[STACK]);
  for (unsigned block = 0; block < blocks; block++) {
    blockIdx = Dim3{block, 0, 0};
    launch_block(turns);
  }
}

// What a driver looks up for the name of such a kernel.
#define HOST_WITH_BARRIERS(name) \
  static void body_##name(void** arguments) { call_all(name, arguments); } \
  extern "C" void host_##name(void** arguments, unsigned blocks, unsigned threads) { \
    launch_with_barriers(body_##name, arguments, blocks, threads); \
  }
