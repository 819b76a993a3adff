// Graphs as data: instructions over numbers, one thread a sample.

struct Instruction {
  u32 kind, op;
  // Where the result lies, its lanes, and what it is rounded to.
  u32 out, lanes, type;
  u32 a, b, c;
};

enum { INPUT, UNARY, BINARY, CHOICE, REDUCTION };
enum { SUM, MEAN, PRODUCT, GREATEST, LEAST };

// An operand is a number of the script, a value, or one value a lane.
#define NUMBER 0x80000000u
#define MANY 0x40000000u
#define WHERE 0x3fffffffu

template <class R> struct Machine {
  const R* numbers;
  // The values of all threads, those of one thread far apart, so that neighbours read together.
  R* work;
  u32 threads;

  __device__ R get(u32 operand, u32 lane) const {
    u32 at = operand & WHERE;
    if (operand & NUMBER) return numbers[at];
    return work[(u64)(operand & MANY ? at + lane : at) * threads];
  }
  __device__ void put(u32 at, R value) const { work[(u64)at * threads] = value; }
};

template <class R> DEVICE R unary(u32 op, R x) {
  switch (op) {
    case 0: return f_neg(x);
    case 1: return f_abs(x);
    case 2: return f_sign(x);
    case 3: return f_exp(x);
    case 4: return f_exp2(x);
    case 5: return f_expm1(x);
    case 6: return f_log(x);
    case 7: return f_log2(x);
    case 8: return f_log10(x);
    case 9: return f_log1p(x);
    case 10: return f_sqrt(x);
    case 11: return f_rsqrt(x);
    case 12: return f_sin(x);
    case 13: return f_cos(x);
    case 14: return f_tan(x);
    case 15: return f_asin(x);
    case 16: return f_acos(x);
    case 17: return f_atan(x);
    case 18: return f_atanh(x);
    case 19: return f_sinh(x);
    case 20: return f_cosh(x);
    case 21: return f_tanh(x);
    case 22: return f_erf(x);
    case 23: return f_isnan(x);
    default: return f_copy(x);
  }
}

template <class R> DEVICE R binary(u32 op, R x, R y) {
  switch (op) {
    case 0: return f_add(x, y);
    case 1: return f_sub(x, y);
    case 2: return f_mul(x, y);
    case 3: return f_div(x, y);
    case 4: return f_pow(x, y);
    case 5: return f_max(x, y);
    case 6: return f_min(x, y);
    case 7: return f_lt(x, y);
    case 8: return f_le(x, y);
    case 9: return f_gt(x, y);
    case 10: return f_ge(x, y);
    case 11: return f_eq(x, y);
    default: return f_ne(x, y);
  }
}

template <class R> DEVICE R reduction(u32 op, const Machine<R>& machine, u32 operand, u32 lanes) {
  R sum = machine.get(operand, 0);
  for (u32 lane = 1; lane < lanes; lane++) {
    R x = machine.get(operand, lane);
    switch (op) {
      case PRODUCT: sum = sum * x; break;
      case GREATEST: sum = f_max(sum, x); break;
      case LEAST: sum = f_min(sum, x); break;
      default: sum = sum + x;
    }
  }
  return op == MEAN ? sum / R(lanes) : sum;
}

template <class R> DEVICE R computed(const Machine<R>& machine, const Instruction& step, u32 lane) {
  switch (step.kind) {
    case UNARY: return unary(step.op, machine.get(step.a, lane));
    case BINARY: return binary(step.op, machine.get(step.a, lane), machine.get(step.b, lane));
    case CHOICE: return f_where(machine.get(step.a, lane), machine.get(step.b, lane), machine.get(step.c, lane));
    default: return reduction(step.op, machine, step.a, step.b);
  }
}
