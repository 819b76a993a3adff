// Whole runs of a training, one block a run: the calls of a script, made one after the other as the frameworks mean
// them. What all threads have to know, such as the size of a gradient, all of them compute.

enum { SGD, ADAM, ADAMW, RMSPROP };
enum { CLEAR, BACKWARD, SCALED_BACKWARD, UNSCALE, CLIP, STEP, SCALED_STEP, UPDATE, SCHEDULE, BUILD };
// Why a framework ends a run.
enum { GOES_ON, ELEMENTS, FREED, UNSCALED_TWICE, STEPPED_TWICE, NOT_LOOKED };

// The same in every thread.
struct Progress {
  double rate, scale, bound;
  u32 steps, batches, carried, unscaled, stepped, overflowed, ended, why;
};

DEVICE bool owned(const Run& run, u32 index) { return run.layers[layer_of(index)] != UNOWNED; }

DEVICE double power(double base, u32 exponent) {
  double product = 1.0;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1u) product = product * base;
    base = base * base;
  }
  return product;
}

DEVICE u32 unscale(const Trainer& trainer, Progress& now) {
  if (now.unscaled || now.stepped) return UNSCALED_TWICE;
  double* held = trainer.state.held;
  u32 count = weights_of(trainer.run);
  now.unscaled = 1;
  now.overflowed = 0;
  for (u32 index = 0; index < count; index++) now.overflowed |= !is_finite(held[index]);
  __syncthreads();
  EACH(index, count) held[index] = held[index] / now.scale;
  __syncthreads();
  return GOES_ON;
}

DEVICE u32 backward(const Trainer& trainer, Progress& now, bool scaled) {
  const Run& run = trainer.run;
  State& state = trainer.state;
  if (run.has_elements) return ELEMENTS;
  now.carried += run.is_freed;
  if (now.carried > 1u) return FREED;
  Look look = {run.head, run.learns_in_training ? state.dropped : 0.0, true};
  walk(trainer, look, now.batches++);
  EACH(index, weights_of(run)) {
    double fresh = state.gradient[index] / (double)run.divisor;
    // What half precision holds of a gradient that was multiplied.
    state.held[index] = state.held[index] + (scaled ? rounded(fresh * now.scale, TYPE_F16) : fresh);
  }
  __syncthreads();
  return GOES_ON;
}

DEVICE void clip(const Trainer& trainer, const Progress& now) {
  u32 count = weights_of(trainer.run);
  double* held = trainer.state.held;
  double size = norm(held, count);
  if (!(size > now.bound)) return;
  double share = now.bound / size;
  __syncthreads();
  EACH(index, count) held[index] = held[index] * share;
  __syncthreads();
}

DEVICE double moved(const Trainer& trainer, const Progress& now, u32 index) {
  State& state = trainer.state;
  double weight = state.weights[index], gradient = state.held[index];
  if (trainer.run.optimizer == ADAMW) weight = weight * (1.0 - now.rate * state.decay);
  else gradient = gradient + state.decay * weight;
  double &mean = state.mean[index], &square = state.square[index];
  switch (trainer.run.optimizer) {
    case SGD:
      mean = state.momentum * mean + gradient;
      return weight - now.rate * mean;
    case RMSPROP:
      square = 0.99 * square + 0.01 * gradient * gradient;
      return weight - now.rate * (gradient / (f_sqrt(square) + 1e-8));
    default:
      mean = 0.9 * mean + 0.1 * gradient;
      square = 0.999 * square + 0.001 * gradient * gradient;
      double first = 1.0 - power(0.9, now.steps), second = 1.0 - power(0.999, now.steps);
      return weight - now.rate * (mean / first / (f_sqrt(square / second) + 1e-8));
  }
}

DEVICE void step(const Trainer& trainer, Progress& now) {
  now.steps++;
  EACH(index, weights_of(trainer.run)) {
    if (owned(trainer.run, index)) trainer.state.weights[index] = moved(trainer, now, index);
  }
  __syncthreads();
}

// A step through the scaler, which makes none after an overflow.
DEVICE u32 scaled_step(const Trainer& trainer, Progress& now) {
  if (now.stepped) return STEPPED_TWICE;
  if (!now.unscaled) unscale(trainer, now);
  now.stepped = 1;
  if (!now.overflowed) step(trainer, now);
  return GOES_ON;
}

DEVICE u32 update(Progress& now) {
  if (!now.unscaled) return NOT_LOOKED;
  if (now.overflowed) now.scale = now.scale * 0.5;
  now.unscaled = now.stepped = now.overflowed = 0;
  return GOES_ON;
}

DEVICE void clear(const Trainer& trainer) {
  EACH(index, weights_of(trainer.run)) {
    if (owned(trainer.run, index)) trainer.state.held[index] = 0.0;
  }
  __syncthreads();
}

DEVICE void build(const Trainer& trainer, Progress& now) {
  now.steps = 0;
  EACH(index, WEIGHTS) trainer.state.mean[index] = trainer.state.square[index] = 0.0;
  __syncthreads();
}

DEVICE u32 make(const Trainer& trainer, Progress& now, u32 call) {
  switch (call) {
    case CLEAR: clear(trainer); return GOES_ON;
    case BACKWARD:
    case SCALED_BACKWARD: return backward(trainer, now, call == SCALED_BACKWARD);
    case UNSCALE: return unscale(trainer, now);
    case CLIP: clip(trainer, now); return GOES_ON;
    case STEP: step(trainer, now); return GOES_ON;
    case SCALED_STEP: return scaled_step(trainer, now);
    case UPDATE: return update(now);
    case SCHEDULE: now.rate = now.rate * 0.9; return GOES_ON;
    default: build(trainer, now); return GOES_ON;
  }
}

DEVICE void round_of(const Trainer& trainer, Progress& now, u32 number) {
  const Run& run = trainer.run;
  for (u32 at = 0; at < run.acts && !now.ended; at++) {
    const Act act = trainer.acts[run.act + at];
    if ((number + 1u) % act.every) continue;
    now.why = make(trainer, now, act.call);
    if (now.why) now.ended = number + 1u;
  }
}

// The first numbers of all; clipping is at half of what gradients are to begin with.
DEVICE Progress begin_run(const Trainer& trainer) {
  State& state = trainer.state;
  EACH(index, WEIGHTS) state.held[index] = state.mean[index] = state.square[index] = 0.0;
  EACH(point, POINTS) state.curve[point] = from_bits(0x7ff8000000000000ull, 0.0);
  Look look = {trainer.run.head, state.dropped, true};
  walk(trainer, look, 0u);
  double bound = norm(state.gradient, weights_of(trainer.run)) / 2.0;
  Progress now = {state.first_rate, 65536.0, bound, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
  return now;
}

DEVICE Progress taken_up(const State& state) {
  Progress now = {state.rate,          state.scale,          state.bound,           (u32)state.steps,
                  (u32)state.batches,  (u32)state.carried,   (u32)state.unscaled,   (u32)state.stepped,
                  (u32)state.overflowed, (u32)state.ended,   (u32)state.why};
  return now;
}

DEVICE void put_down(State& state, const Progress& now) {
  if (threadIdx.x) return;
  state.rate = now.rate, state.scale = now.scale, state.bound = now.bound;
  state.steps = now.steps, state.batches = now.batches, state.carried = now.carried;
  state.unscaled = now.unscaled, state.stepped = now.stepped, state.overflowed = now.overflowed;
  state.ended = now.ended, state.why = now.why;
}

// Some rounds of all runs; behind the last round is the evaluation.
extern "C" __global__ void train(const Run* runs, const Act* acts, const Instruction* code, const double* numbers,
                                 State* states, double* work, u32 slots, u32 first, u32 end) {
  State& state = states[blockIdx.x];
  const Trainer trainer = {runs[blockIdx.x], state, acts, code, numbers, work + (u64)blockIdx.x * slots * BATCH};
  Progress now = first ? taken_up(state) : begin_run(trainer);
  __syncthreads();
  double right = 0.0;
  for (u32 number = first; number < end && number < ROUNDS && !now.ended; number++) {
    if (trainer.run.is_drawn && number % (ROUNDS / POINTS) == 0u) {
      double loss = evaluated(trainer, FEW, &right);
      if (!threadIdx.x) state.curve[number / (ROUNDS / POINTS)] = loss;
    }
    round_of(trainer, now, number);
  }
  if (end > ROUNDS) {
    double loss = evaluated(trainer, MANY_BATCHES, &right);
    if (!threadIdx.x) state.loss = loss, state.right = right;
  }
  put_down(state, now);
}
