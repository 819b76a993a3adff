// The stand-in of `replay/step`: what it is asked, its numbers, its loss and its gradients, by the threads of one block.
// Each sum is made by one thread, from its first term on, as the CPU adds, so that both give the same bits where their
// functions do.

#define FEATURES 8
#define HIDDEN 16
#define BATCH 16
#define OUTPUTS 4
#define ROUNDS 300
#define POINTS 50
#define FEW 2
#define MANY_BATCHES 24

// All layers, one after the other.
#define SECOND (FEATURES * HIDDEN)
#define LAST (SECOND + HIDDEN * HIDDEN)
#define WEIGHTS (LAST + HIDDEN * OUTPUTS)
// What the host takes the numbers of a run for.
#define STATE 3956

#define EACH(index, count) for (u32 index = threadIdx.x; index < (u32)(count); index += blockDim.x)

enum { SQUARES, ALL_PAIRS, PROGRAM };
enum { LEARNS, CUT, UNOWNED };
enum { TEACHER_STREAM, WEIGHTS_STREAM, DATA_STREAM = 4, DROPS_STREAM = 5 };

// What a training is judged by: a sum of squares, or a program of instructions.
struct Head {
  u32 kind;
  u32 code, steps, numbers;
  u32 loss, loss_lanes;
  // The gradient of what the model gives; of no lanes where there is none.
  u32 slope, slope_lanes;
};

struct Act {
  u32 call, every;
};

struct Run {
  u32 key_low, key_high;
  u32 outputs;
  u32 act, acts;
  u32 optimizer, divisor;
  // A loss of several numbers; a graph that the round before has freed.
  u32 has_elements, is_freed;
  u32 learns_in_training, evaluated_in_training, is_drawn;
  u32 layers[3];
  Head head, yardstick;
};

// Numbers of one run, which outlast a launch.
struct State {
  // The host gives these,
  double teacher[FEATURES * OUTPUTS];
  double weights[WEIGHTS];
  double first_rate, momentum, decay, dropped, yardstick_dropped;
  // and reads these.
  double loss, right, ended, why, curve[POINTS];
  double rate, scale, bound, steps, batches, carried, unscaled, stepped, overflowed;
  double held[WEIGHTS], mean[WEIGHTS], square[WEIGHTS], gradient[WEIGHTS];
  double x[BATCH * FEATURES], y[BATCH * OUTPUTS];
  double first[BATCH * HIDDEN], second[BATCH * HIDDEN], kept[BATCH * HIDDEN];
  double output[BATCH * OUTPUTS], slope[BATCH * OUTPUTS], losses[BATCH];
  double inner[BATCH * HIDDEN], further[BATCH * HIDDEN];
};

static_assert(sizeof(State) == STATE * sizeof(double), "the host gives another room");

struct Trainer {
  const Run& run;
  State& state;
  const Act* acts;
  const Instruction* code;
  const double* numbers;
  double* work;
};

// How a batch is looked at.
struct Look {
  const Head& head;
  double dropped;
  bool has_gradient;
};

DEVICE double unit(u32 word) { return ((double)word + 0.5) / 4294967296.0; }

DEVICE Words random_of(const Run& run, u32 a, u32 b, u32 c, u32 d) {
  return philox((u64)run.key_low | ((u64)run.key_high << 32), a, b, c, d);
}

// A number of a normal distribution, by Box and Muller.
DEVICE double normal(const Run& run, u32 stream, u32 index) {
  Words words = random_of(run, index, stream, 0u, 0x57E9u);
  return f_sqrt(-2.0 * f_log(unit(words.of[0]))) * f_cos(6.283185307179586 * unit(words.of[1]));
}

DEVICE double dot(const double* a, const double* b, u32 count) {
  double sum = -0.0;
  for (u32 index = 0; index < count; index++) sum = sum + a[index] * b[index];
  return sum;
}

DEVICE double sum_of(const double* numbers, u32 count) {
  double sum = -0.0;
  for (u32 index = 0; index < count; index++) sum = sum + numbers[index];
  return sum;
}

DEVICE double norm(const double* numbers, u32 count) { return f_sqrt(dot(numbers, numbers, count)); }

DEVICE u32 place_of_most(const double* scores, u32 count) {
  u32 best = 0;
  for (u32 place = 1; place < count; place++) {
    if (scores[place] > scores[best]) best = place;
  }
  return best;
}

DEVICE u32 weights_of(const Run& run) { return LAST + HIDDEN * run.outputs; }
DEVICE u32 layer_of(u32 index) { return index < SECOND ? 0u : index < LAST ? 1u : 2u; }
// Whether gradients come to a layer, from the last one on.
DEVICE bool reached(const Run& run, u32 layer) {
  for (; layer < 3u; layer++) {
    if (run.layers[layer] == CUT) return false;
  }
  return true;
}

// What the teacher says: a number, or which class is right.
DEVICE void target(const Run& run, State& state, u32 sample) {
  double scores[OUTPUTS];
  double* y = state.y + sample * run.outputs;
  for (u32 place = 0; place < run.outputs; place++) {
    scores[place] = dot(state.x + sample * FEATURES, state.teacher + place * FEATURES, FEATURES);
  }
  u32 right = place_of_most(scores, run.outputs);
  for (u32 place = 0; place < run.outputs; place++) {
    if (run.head.kind != PROGRAM) y[place] = f_tanh(scores[place]);
    else y[place] = run.outputs == 1u ? truth<double>(scores[0] > 0.0) : truth<double>(place == right);
  }
}

// What dropout multiplies a hidden number with.
DEVICE double kept(const Run& run, double share, u32 batch, u32 index) {
  if (!(share > 0.0)) return 1.0;
  u32 random = random_of(run, index % HIDDEN, DROPS_STREAM, batch, index / HIDDEN).of[0];
  return unit(random) < share ? 0.0 : 1.0 / (1.0 - share);
}

DEVICE void forward(const Trainer& trainer, u32 batch, double share) {
  const Run& run = trainer.run;
  State& state = trainer.state;
  EACH(index, BATCH * FEATURES) state.x[index] = normal(run, DATA_STREAM, batch * (BATCH * FEATURES) + index);
  __syncthreads();
  EACH(sample, BATCH) target(run, state, sample);
  EACH(index, BATCH * HIDDEN) {
    u32 sample = index / HIDDEN, place = index % HIDDEN;
    state.kept[index] = kept(run, share, batch, index);
    state.first[index] = f_tanh(dot(state.weights + place * FEATURES, state.x + sample * FEATURES, FEATURES));
  }
  __syncthreads();
  EACH(index, BATCH * HIDDEN) {
    u32 sample = index / HIDDEN, place = index % HIDDEN;
    const double* weights = state.weights + SECOND + place * HIDDEN;
    state.second[index] = f_tanh(dot(weights, state.first + sample * HIDDEN, HIDDEN));
  }
  __syncthreads();
  EACH(index, BATCH * run.outputs) {
    u32 from = index / run.outputs * HIDDEN;
    const double* weights = state.weights + LAST + index % run.outputs * HIDDEN;
    double sum = -0.0;
    for (u32 place = 0; place < HIDDEN; place++) {
      sum = sum + weights[place] * (state.second[from + place] * state.kept[from + place]);
    }
    state.output[index] = sum;
  }
  __syncthreads();
}

DEVICE void through_program(const Trainer& trainer, const Head& head, u32 sample) {
  State& state = trainer.state;
  u32 width = trainer.run.outputs;
  Machine<double> machine = {trainer.numbers + head.numbers, trainer.work + sample, BATCH};
  for (u32 at = 0; at < head.steps; at++) {
    const Instruction step = trainer.code[head.code + at];
    const double* input = step.a == 0u ? state.output : state.y;
    for (u32 lane = 0; lane < step.lanes; lane++) {
      double value = step.kind == INPUT ? input[sample * width + lane] : computed(machine, step, lane);
      machine.put(step.out + lane, rounded(value, step.type));
    }
  }
  double loss = -0.0;
  for (u32 lane = 0; lane < head.loss_lanes; lane++) loss = loss + machine.get(head.loss, lane);
  state.losses[sample] = loss;
  for (u32 place = 0; place < width; place++) {
    u32 lane = place < head.slope_lanes ? place : head.slope_lanes - 1u;
    state.slope[sample * width + place] = head.slope_lanes ? machine.get(head.slope, lane) / (double)BATCH : 0.0;
  }
}

DEVICE double squares(const Trainer& trainer, bool pairs) {
  State& state = trainer.state;
  u32 count = BATCH * trainer.run.outputs;
  double mean = sum_of(state.y, count) / (double)count, spread = -0.0, loss = -0.0;
  for (u32 index = 0; index < count; index++) {
    double error = state.output[index] - (pairs ? mean : state.y[index]);
    double away = state.y[index] - mean;
    loss = loss + error * error;
    spread = spread + away * away;
  }
  EACH(index, count) state.slope[index] = 2.0 * (state.output[index] - (pairs ? mean : state.y[index])) / (double)count;
  loss = loss / (double)count;
  return pairs ? loss + spread / (double)count : loss;
}

// The slope in what comes out of a hidden layer, of that in front of its tanh.
DEVICE double before_bend(double slope, double value) { return slope * (1.0 - value * value); }

DEVICE void backward_last(const Trainer& trainer) {
  State& state = trainer.state;
  u32 outputs = trainer.run.outputs;
  EACH(index, HIDDEN * outputs) {
    u32 unit = index / HIDDEN, place = index % HIDDEN;
    double sum = 0.0;
    for (u32 sample = 0; sample < BATCH; sample++) {
      u32 at = sample * HIDDEN + place;
      sum = sum + state.slope[sample * outputs + unit] * state.second[at] * state.kept[at];
    }
    state.gradient[LAST + index] = sum;
  }
  EACH(index, BATCH * HIDDEN) {
    u32 sample = index / HIDDEN, place = index % HIDDEN;
    double sum = 0.0;
    for (u32 unit = 0; unit < outputs; unit++) {
      double weight = state.weights[LAST + unit * HIDDEN + place];
      sum = sum + state.slope[sample * outputs + unit] * weight * state.kept[index];
    }
    state.inner[index] = sum;
  }
  __syncthreads();
}

DEVICE void backward_second(const Trainer& trainer) {
  State& state = trainer.state;
  EACH(index, HIDDEN * HIDDEN) {
    u32 unit = index / HIDDEN, place = index % HIDDEN;
    double sum = 0.0;
    for (u32 sample = 0; sample < BATCH; sample++) {
      u32 at = sample * HIDDEN + unit;
      sum = sum + before_bend(state.inner[at], state.second[at]) * state.first[sample * HIDDEN + place];
    }
    state.gradient[SECOND + index] = sum;
  }
  EACH(index, BATCH * HIDDEN) {
    u32 sample = index / HIDDEN, place = index % HIDDEN;
    double sum = 0.0;
    for (u32 unit = 0; unit < HIDDEN; unit++) {
      u32 at = sample * HIDDEN + unit;
      double weight = state.weights[SECOND + unit * HIDDEN + place];
      sum = sum + before_bend(state.inner[at], state.second[at]) * weight;
    }
    state.further[index] = sum;
  }
  __syncthreads();
}

DEVICE void backward_first(const Trainer& trainer) {
  State& state = trainer.state;
  EACH(index, FEATURES * HIDDEN) {
    u32 unit = index / FEATURES, place = index % FEATURES;
    double sum = 0.0;
    for (u32 sample = 0; sample < BATCH; sample++) {
      u32 at = sample * HIDDEN + unit;
      sum = sum + before_bend(state.further[at], state.first[at]) * state.x[sample * FEATURES + place];
    }
    state.gradient[index] = sum;
  }
}

// The loss of a batch, and its gradient in all layers that it reaches.
static __device__ __noinline__ double walk(const Trainer& trainer, const Look& look, u32 batch) {
  const Run& run = trainer.run;
  State& state = trainer.state;
  forward(trainer, batch, look.dropped);
  double loss = 0.0;
  if (look.head.kind == PROGRAM) {
    EACH(sample, BATCH) through_program(trainer, look.head, sample);
    __syncthreads();
    loss = sum_of(state.losses, BATCH) / (double)BATCH;
  } else {
    loss = squares(trainer, look.head.kind == ALL_PAIRS);
    __syncthreads();
  }
  if (!look.has_gradient) return loss;
  EACH(index, weights_of(run)) {
    if (!reached(run, layer_of(index))) state.gradient[index] = 0.0;
  }
  if (reached(run, 2)) backward_last(trainer);
  if (reached(run, 1)) backward_second(trainer);
  if (reached(run, 0)) backward_first(trainer);
  __syncthreads();
  return loss;
}

DEVICE double share_of_right(const Trainer& trainer) {
  const State& state = trainer.state;
  u32 outputs = trainer.run.outputs, right = 0;
  for (u32 sample = 0; sample < BATCH; sample++) {
    const double *output = state.output + sample * outputs, *y = state.y + sample * outputs;
    if (outputs == 1u) right += (output[0] > 0.0) == (y[0] > 0.5);
    else right += place_of_most(output, outputs) == place_of_most(y, outputs);
  }
  return (double)right / (double)BATCH;
}

// The loss on batches that were never learned from, by the loss as it should be.
DEVICE double evaluated(const Trainer& trainer, u32 batches, double* right) {
  const Run& run = trainer.run;
  Look look = {run.yardstick, run.evaluated_in_training ? trainer.state.yardstick_dropped : 0.0, false};
  double loss = 0.0;
  *right = 0.0;
  for (u32 index = 0; index < batches; index++) {
    loss = loss + walk(trainer, look, 0xffffffffu / 1024u - index);
    *right = *right + share_of_right(trainer);
  }
  *right = *right / (double)batches;
  return loss / (double)batches;
}
