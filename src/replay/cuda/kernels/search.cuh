// What every kernel over samples is called with, and what it counts.

template <class R> struct Job {
  const Input* inputs;
  // Numbers in place of those that would be drawn, and where to put what came out; either may be null.
  const R* given;
  R* told;
  u64* found;
  u64 seed, first;
  u32 count, given_lanes, told_lanes;
};

#define JOB(R) \
  const Input *inputs, const R *given, R *told, u64 *found, u64 seed, u64 first, u32 count, u32 given_lanes, \
      u32 told_lanes
#define JOB_OF(R) \
  Job<R> job = {inputs, given, told, found, seed, first, count, given_lanes, told_lanes}

// One sample while it is computed.
struct Sample {
  u64 id;
  u32 index, mode, size;
  u32 told;
  bool forward, gradient;
};

struct Tally {
  u64 forward, gradient, ordinary, ordinary_forward, ordinary_gradient, least_forward, least_gradient;
};

DEVICE Tally nothing() {
  Tally tally = {0, 0, 0, 0, 0, ~0ull, ~0ull};
  return tally;
}

template <class R> DEVICE Sample begin(const Job<R>& job, u32 index) {
  u64 id = job.first + index;
  Sample sample = {id, index, job.given ? (u32)WIDE : mode_of(job.seed, id), 0u, 0u, false, false};
  return sample;
}

template <class R> DEVICE R number_of(const Job<R>& job, Sample& sample, u32 input, u32 lane) {
  if (job.given) return job.given[(u64)sample.index * job.given_lanes + job.inputs[input].start + lane];
  float value = drawn(job.inputs, input, lane, job.seed, sample.id, sample.mode);
  u32 size = __float_as_uint(value) & 0x7fffffffu;
  if (size > sample.size) sample.size = size;
  return (R)value;
}

// A number of the result, or of a gradient.
template <class R> DEVICE void tell(const Job<R>& job, Sample& sample, R value, bool gradient) {
  if (job.told) job.told[(u64)sample.index * job.told_lanes + sample.told++] = value;
  if (!is_finite(value)) {
    if (gradient) sample.gradient = true;
    else sample.forward = true;
  }
}

DEVICE u64 less(u64 a, u64 b) { return a < b ? a : b; }

DEVICE void add(Tally& tally, const Sample& sample) {
  u64 key = ((u64)sample.size << 32) | (u32)sample.id;
  bool ordinary = sample.mode == ORDINARY;
  tally.ordinary += ordinary;
  if (sample.forward) {
    tally.forward++;
    tally.ordinary_forward += ordinary;
    tally.least_forward = less(tally.least_forward, key);
  }
  if (sample.gradient) {
    tally.gradient++;
    tally.ordinary_gradient += ordinary;
    tally.least_gradient = less(tally.least_gradient, key);
  }
}

DEVICE void hand_in(const Tally& tally, u64* found) {
  atomicAdd(found + 0, tally.forward);
  atomicAdd(found + 1, tally.gradient);
  atomicAdd(found + 2, tally.ordinary);
  atomicAdd(found + 3, tally.ordinary_forward);
  atomicAdd(found + 4, tally.ordinary_gradient);
  atomicMin(found + 5, tally.least_forward);
  atomicMin(found + 6, tally.least_gradient);
}
