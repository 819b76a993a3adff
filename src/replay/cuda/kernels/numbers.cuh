// Numbers as the frameworks compute them, in float or double, and rounded to the type that is stored. The same text
// is compiled for GPUs and, with a shim, by a C++ compiler; nothing here needs a header.

typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE static __device__ inline
#define FUNCTION(name, narrow, wide) \
  DEVICE float name(float x) { return narrow(x); } \
  DEVICE double name(double x) { return wide(x); }

FUNCTION(f_abs, fabsf, fabs)
FUNCTION(f_exp, expf, exp)
FUNCTION(f_exp2, exp2f, exp2)
FUNCTION(f_expm1, expm1f, expm1)
FUNCTION(f_log, logf, log)
FUNCTION(f_log2, log2f, log2)
FUNCTION(f_log10, log10f, log10)
FUNCTION(f_log1p, log1pf, log1p)
FUNCTION(f_sqrt, sqrtf, sqrt)
FUNCTION(f_sin, sinf, sin)
FUNCTION(f_cos, cosf, cos)
FUNCTION(f_tan, tanf, tan)
FUNCTION(f_asin, asinf, asin)
FUNCTION(f_acos, acosf, acos)
FUNCTION(f_atan, atanf, atan)
FUNCTION(f_atanh, atanhf, atanh)
FUNCTION(f_sinh, sinhf, sinh)
FUNCTION(f_cosh, coshf, cosh)
FUNCTION(f_tanh, tanhf, tanh)
FUNCTION(f_erf, erff, erf)

DEVICE float f_pow(float x, float y) { return powf(x, y); }
DEVICE double f_pow(double x, double y) { return pow(x, y); }

// Of a value that is not finite the difference is NaN.
template <class R> DEVICE bool is_finite(R x) { return x - x == R(0); }
template <class R> DEVICE R truth(bool holds) { return holds ? R(1) : R(0); }

template <class R> DEVICE R f_neg(R x) { return -x; }
template <class R> DEVICE R f_sign(R x) { return x > R(0) ? R(1) : x < R(0) ? R(-1) : R(0); }
template <class R> DEVICE R f_rsqrt(R x) { return R(1) / f_sqrt(x); }
template <class R> DEVICE R f_isnan(R x) { return truth<R>(x != x); }
template <class R> DEVICE R f_copy(R x) { return x; }

template <class R> DEVICE R f_add(R x, R y) { return x + y; }
template <class R> DEVICE R f_sub(R x, R y) { return x - y; }
template <class R> DEVICE R f_mul(R x, R y) { return x * y; }
template <class R> DEVICE R f_div(R x, R y) { return x / y; }
// The frameworks hand NaN on from either side.
template <class R> DEVICE R f_max(R x, R y) { return x != x || (x > y && y == y) ? x : y; }
template <class R> DEVICE R f_min(R x, R y) { return x != x || (x < y && y == y) ? x : y; }
template <class R> DEVICE R f_lt(R x, R y) { return truth<R>(x < y); }
template <class R> DEVICE R f_le(R x, R y) { return truth<R>(x <= y); }
template <class R> DEVICE R f_gt(R x, R y) { return truth<R>(x > y); }
template <class R> DEVICE R f_ge(R x, R y) { return truth<R>(x >= y); }
template <class R> DEVICE R f_eq(R x, R y) { return truth<R>(x == y); }
template <class R> DEVICE R f_ne(R x, R y) { return truth<R>(x != y); }
// NaN is not zero, and counts as true.
template <class R> DEVICE R f_where(R condition, R then, R otherwise) {
  return condition == R(0) ? otherwise : then;
}

DEVICE float to_f16(float x) {
  u32 bits = __float_as_uint(x), sign = bits & 0x80000000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return x;
  // From 65520 on it is nearer to what would come after the largest number.
  if (size >= 0x477ff000u) return __uint_as_float(sign | 0x7f800000u);
  // Below the smallest normal number steps are as wide as those of a float between a half and one.
  if (size < 0x38800000u) {
    float held = (__uint_as_float(size) + 0.5f) - 0.5f;
    return __uint_as_float(sign | __float_as_uint(held));
  }
  size += 0x0fffu + ((size >> 13) & 1u);
  return __uint_as_float(sign | (size & ~0x1fffu));
}

DEVICE float to_bf16(float x) {
  u32 bits = __float_as_uint(x), size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return x;
  return __uint_as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

enum { TYPE_F16, TYPE_BF16, TYPE_F32, TYPE_F64 };

DEVICE float rounded(float x, u32 type) {
  return type == TYPE_F16 ? to_f16(x) : type == TYPE_BF16 ? to_bf16(x) : x;
}
// What is narrower than a double is computed in float, and rounded from there.
DEVICE double rounded(double x, u32 type) {
  return type == TYPE_F64 ? x : (double)rounded((float)x, type);
}

DEVICE float from_bits(u64 bits, float) { return (float)__longlong_as_double((long long)bits); }
DEVICE double from_bits(u64 bits, double) { return __longlong_as_double((long long)bits); }
