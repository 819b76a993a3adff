// The numbers that are tried: what `replay/sample.rs` draws, bit for bit. Domains come prepared by the host.

struct Words {
  u32 of[4];
};

// Philox 4x32 with ten rounds.
DEVICE Words philox(u64 seed, u32 a, u32 b, u32 c, u32 d) {
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    u64 first = (u64)a * 0xD2511F53u, second = (u64)c * 0xCD9E8D57u;
    a = (u32)(second >> 32) ^ b ^ k0;
    b = (u32)second;
    c = (u32)(first >> 32) ^ d ^ k1;
    d = (u32)first;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  Words words = {{a, b, c, d}};
  return words;
}

// How a sample is drawn: the same number in all inputs, in all places of a row, as data usually is, or of all sizes.
enum { WIDE = 0, ALIKE_INPUTS = 1, ALIKE_PLACES = 2, ORDINARY = 4 };

DEVICE u32 mode_of(u64 seed, u64 sample) {
  u32 drawn = philox(seed, (u32)sample, (u32)(sample >> 32), 0xffffffffu, 0xffffffffu).of[0] % 64u;
  if (drawn < 3u) return drawn + 1u;
  return drawn < 19u ? ORDINARY : WIDE;
}

enum { LOW_BOUND = 1, HIGH_BOUND = 2, WHOLE = 4, SPECIALS = 6 };

struct Input {
  // Its lanes before it, and how many it has.
  u32 start, lanes;
  u32 flags;
  float low, high;
  // The ends that are reached, and what a domain is that rounding has emptied.
  float least, most, emptied;
  // Of whole numbers: the first, and how many there are.
  float first, count;
  u32 specials;
  float special[SPECIALS];
};

DEVICE float even(u32 word) { return (float)(word >> 8) / 16777216.0f; }

DEVICE float bell(Words words) {
  int sum = (int)(words.of[0] >> 16) + (int)(words.of[1] >> 16) + (int)(words.of[2] >> 16) + (int)(words.of[3] >> 16);
  return (float)(sum - 2 * 65535) / 37837.0f;
}

// From 2**-20 to 2**10, in the logarithm evenly.
DEVICE float size_of(Words words) {
  u32 exponent = (words.of[1] >> 8) % 30u + 107u;
  return __uint_as_float((exponent << 23) | (words.of[2] & 0x7fffffu));
}

DEVICE float whole(const Input& input, u32 word) { return input.first + floorf(even(word) * input.count); }

DEVICE float ordinary(const Input& input, Words words) {
  if (input.flags & WHOLE) return whole(input, words.of[0]);
  switch (input.flags & (LOW_BOUND | HIGH_BOUND)) {
    case LOW_BOUND | HIGH_BOUND: return input.low + (input.high - input.low) * even(words.of[0]);
    case LOW_BOUND: return input.low + fabsf(bell(words));
    case HIGH_BOUND: return input.high - fabsf(bell(words));
    default: return bell(words);
  }
}

// Towards either end, or towards a zero between them.
DEVICE float within(const Input& input, Words words, float drawn) {
  float low = input.low, high = input.high, share = fabsf(drawn) / 1024.0f;
  u32 way = (words.of[3] >> 1) % 3u;
  if (way == 0u) return low + (high - low) * share;
  if (way == 1u) return high - (high - low) * share;
  if (low < 0.0f && high > 0.0f) return (drawn / 1024.0f) * (drawn < 0.0f ? -low : high);
  return low + (high - low) * even(words.of[3]);
}

DEVICE float wide(const Input& input, Words words) {
  if (input.flags & WHOLE) return whole(input, words.of[0]);
  if (words.of[0] % 16u == 0u) {
    return input.specials ? input.special[(words.of[0] >> 4) % input.specials] : input.low;
  }
  float size = size_of(words), drawn = words.of[3] & 1u ? -size : size;
  switch (input.flags & (LOW_BOUND | HIGH_BOUND)) {
    case LOW_BOUND | HIGH_BOUND: return within(input, words, drawn);
    case LOW_BOUND: return input.low + size;
    case HIGH_BOUND: return input.high - size;
    default: return drawn;
  }
}

DEVICE float inside(const Input& input, float value) {
  if (input.flags & WHOLE) value = roundf(value);
  return value > input.most ? input.emptied : value < input.least ? input.least : value;
}

DEVICE float drawn(const Input* inputs, u32 input, u32 lane, u64 seed, u64 sample, u32 mode) {
  u32 from = mode & ALIKE_INPUTS ? 0u : input;
  u32 place = mode & ALIKE_PLACES ? 0u : lane;
  Words words = philox(seed, (u32)sample, (u32)(sample >> 32), from, place);
  float value = mode == ORDINARY ? ordinary(inputs[from], words) : wide(inputs[from], words);
  return inside(inputs[input], value);
}
