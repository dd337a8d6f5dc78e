// Loops over the columns of a row. A body is written once: it gets the column and `lanes`, which is either FullLanes or
// FirstLanes (the tail) with the same functions. Where columns go in groups, it takes its Arch from `lanes` too.
#pragma once

#include "kernels/generic/group.h"
#include "kernels/generic/vec.h"

namespace saccade::kernels {
namespace {

template <class A>
struct FullLanes {
  using Arch = A;
  SACCADE_INLINE Vec<float, Arch> all(float x) const { return broadcast<Arch>(x); }
  SACCADE_INLINE Vec<float, Arch> load(const float* p) const { return kernels::load<Arch>(p); }
  SACCADE_INLINE void store(float* p, Vec<float, Arch> v) const { kernels::store<Arch>(p, v); }
  SACCADE_INLINE Vec<float, Arch> select(Vec<float, Arch> v, Vec<float, Arch>) const { return v; }
  SACCADE_INLINE Vec<int32_t, Arch> load_u16(const uint16_t* p) const { return kernels::load_u16<Arch>(p); }
};

template <class A>
struct FirstLanes {
  using Arch = A;
  size_t n;
  SACCADE_INLINE Vec<float, Arch> all(float x) const { return broadcast<Arch>(x); }
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

// The same in groups of four vectors as far as they go: for bodies with long chains of operations.
template <class Arch, class Body>
SACCADE_INLINE void for_columns_in_groups(size_t begin, size_t end, Body body) {
  using Four = Group<Arch, 4>;
  size_t j = begin;
  for (; j + kLanes<Four> <= end; j += kLanes<Four>) body(j, FullLanes<Four>{});
  for_columns<Arch>(j, end, body);
}

// Reduces a row in groups of four vectors, in an order fixed by `width`: group = step(group, j, lanes), behind the last whole
// group vector by vector into the first, second and third, the tail into the fourth; in the end join(vector, vector).
template <class Arch, class Step, class Join>
SACCADE_INLINE Vec<float, Arch> reduce_columns(size_t width, float start, Step step, Join join) {
  using Four = Group<Arch, 4>;
  constexpr size_t kStep = kLanes<Arch>;
  Vec<float, Four> four = broadcast<Four>(start);
  size_t j = 0;
  for (; j + 4 * kStep <= width; j += 4 * kStep) four = step(four, j, FullLanes<Four>{});
  auto& [a, b, c, d] = four.v;
  const FullLanes<Arch> full{};
  if (j + kStep <= width) a = step(a, j, full), j += kStep;
  if (j + kStep <= width) b = step(b, j, full), j += kStep;
  if (j + kStep <= width) c = step(c, j, full), j += kStep;
  if (j < width) d = step(d, j, FirstLanes<Arch>{width - j});
  return join(join(a, b), join(c, d));
}

// The sum of term(j, lanes) over a row; lanes behind the row's end count 0.
template <class Arch, class Term>
SACCADE_INLINE float sum_columns(size_t width, Term term) {
  return reduce_add<Arch>(reduce_columns<Arch>(
      width, 0.0f,
      [&](auto sum, size_t j, auto lanes) SACCADE_LAMBDA { return sum + lanes.select(term(j, lanes), lanes.all(0.0f)); },
      [](auto x, auto y) SACCADE_LAMBDA { return x + y; }));
}

}  // namespace
}  // namespace saccade::kernels
