// Loops over the columns of a row. A body is written once: it gets the column and `lanes`, which is either FullLanes or
// FirstLanes (the tail) with the same functions.
#pragma once

#include "kernels/generic/vec.h"

namespace saccade::kernels {
namespace {

template <class Arch>
struct FullLanes {
  SACCADE_INLINE Vec<float, Arch> load(const float* p) const { return kernels::load<Arch>(p); }
  SACCADE_INLINE void store(float* p, Vec<float, Arch> v) const { kernels::store<Arch>(p, v); }
  SACCADE_INLINE Vec<float, Arch> select(Vec<float, Arch> v, Vec<float, Arch>) const { return v; }
  SACCADE_INLINE Vec<int32_t, Arch> load_u16(const uint16_t* p) const { return kernels::load_u16<Arch>(p); }
};

template <class Arch>
struct FirstLanes {
  size_t n;
  SACCADE_INLINE Vec<float, Arch> load(const float* p) const { return load_first<Arch>(p, n); }  // zeros behind n
  SACCADE_INLINE void store(float* p, Vec<float, Arch> v) const { store_first<Arch>(p, v, n); }
  // v in the lanes that exist, rest behind them.
  SACCADE_INLINE Vec<float, Arch> select(Vec<float, Arch> v, Vec<float, Arch> rest) const {
    return select_first<Arch>(v, rest, n);
  }
  SACCADE_INLINE Vec<int32_t, Arch> load_u16(const uint16_t* p) const { return load_u16_first<Arch>(p, n); }
};

// body(j, lanes) for every vector of columns from `begin` to `end`.
template <class Arch, class Body>
SACCADE_INLINE void for_columns(size_t begin, size_t end, Body body) {
  size_t j = begin;
  for (; j + kLanes<Arch> <= end; j += kLanes<Arch>) body(j, FullLanes<Arch>{});
  if (j < end) body(j, FirstLanes<Arch>{end - j});
}

// Reduces a row by four accumulators (latency x throughput of an addition is 4 to 8 vectors), in an order fixed by `width`:
// accumulator = step(accumulator, j, lanes), and in the end join(accumulator, accumulator).
template <class Arch, class Step, class Join>
SACCADE_INLINE Vec<float, Arch> reduce_columns(size_t width, Vec<float, Arch> start, Step step, Join join) {
  constexpr size_t kStep = kLanes<Arch>;
  Vec<float, Arch> a = start, b = start, c = start, d = start;
  const FullLanes<Arch> full{};
  size_t j = 0;
  for (; j + 4 * kStep <= width; j += 4 * kStep) {
    a = step(a, j, full);
    b = step(b, j + kStep, full);
    c = step(c, j + 2 * kStep, full);
    d = step(d, j + 3 * kStep, full);
  }
  if (j + kStep <= width) a = step(a, j, full), j += kStep;
  if (j + kStep <= width) b = step(b, j, full), j += kStep;
  if (j + kStep <= width) c = step(c, j, full), j += kStep;
  if (j < width) d = step(d, j, FirstLanes<Arch>{width - j});
  return join(join(a, b), join(c, d));
}

// The sum of term(j, lanes) over a row; lanes behind the row's end count 0.
template <class Arch, class Term>
SACCADE_INLINE float sum_columns(size_t width, Term term) {
  const Vec<float, Arch> zero = broadcast<Arch>(0.0f);
  return reduce_add<Arch>(reduce_columns<Arch>(
      width, zero,
      [&](Vec<float, Arch> sum, size_t j, auto lanes) SACCADE_LAMBDA { return sum + lanes.select(term(j, lanes), zero); },
      [](Vec<float, Arch> x, Vec<float, Arch> y) SACCADE_LAMBDA { return x + y; }));
}

}  // namespace
}  // namespace saccade::kernels
