// Runs any graph: instructions and numbers are data, so that a machine with a driver needs no compiler.

// What a kernel hands in: an operand, its lanes, and whether it is a gradient.
struct Output {
  u32 from, lanes, gradient;
};

template <class R>
DEVICE void interpret(const Job<R>& job, const Instruction* code, u32 steps, const R* numbers, const Output* outputs,
                      u32 outs, R* work) {
  u32 threads = gridDim.x * blockDim.x, own = blockIdx.x * blockDim.x + threadIdx.x;
  Machine<R> machine = {numbers, work + own, threads};
  Tally tally = nothing();
  for (u32 index = own; index < job.count; index += threads) {
    Sample sample = begin(job, index);
    for (u32 at = 0; at < steps; at++) {
      const Instruction step = code[at];
      for (u32 lane = 0; lane < step.lanes; lane++) {
        R value = step.kind == INPUT ? number_of(job, sample, step.a, lane) : computed(machine, step, lane);
        machine.put(step.out + lane, rounded(value, step.type));
      }
    }
    for (u32 at = 0; at < outs; at++) {
      const Output output = outputs[at];
      for (u32 lane = 0; lane < output.lanes; lane++) {
        tell(job, sample, machine.get(output.from, lane), output.gradient);
      }
    }
    add(tally, sample);
  }
  hand_in(tally, job.found);
}

#define INTERPRETER(name, R) \
  extern "C" __global__ void name(JOB(R), const Instruction* code, u32 steps, const R* numbers, const Output* outputs, \
                                  u32 outs, R* work) { \
    JOB_OF(R); \
    interpret(job, code, steps, numbers, outputs, outs, work); \
  }

INTERPRETER(interpret_f32, float)
INTERPRETER(interpret_f64, double)
