// Group<Arch, N>: an Arch whose vectors are N vectors of Arch. The functions of math.h and the bodies of columns.h take it like
// any other, and then do each of their steps for all N before the next step. A chain of dependent operations fills no FMA unit,
// and one behind the other such chains are too long for the processor to see the next one (Zen 3: 8 cycles for the exponential of
// a vector, 5 in a group of four). Same bits.
#pragma once

#include <utility>

#include "kernels/generic/vec.h"

namespace saccade::kernels {
namespace {

template <class Arch, size_t N>
struct Group {
  using One = Arch;
  static constexpr size_t kCount = N;
};
template <class Arch>
concept IsGroup = requires { typename Arch::One; };

}  // namespace
}  // namespace saccade::kernels

template <class Arch, size_t N>
class xsimd::batch<float, saccade::kernels::Group<Arch, N>> {
 public:
  static constexpr size_t size = N * saccade::kernels::kLanes<Arch>;
  saccade::kernels::Vec<float, Arch> v[N];
};
template <class Arch, size_t N>
class xsimd::batch<int32_t, saccade::kernels::Group<Arch, N>> {};  // none of math.h's steps; overloads name it

namespace saccade::kernels {
namespace {

// f(i) for every i < N as a group; without a loop, which compilers may leave rolled up and then keep the vectors in memory.
template <IsGroup G, class F>
SACCADE_INLINE Vec<float, G> each(F f) {
  return [&]<size_t... I>(std::index_sequence<I...>)
             SACCADE_LAMBDA { return Vec<float, G>{{f(I)...}}; }(std::make_index_sequence<G::kCount>{});
}

template <IsGroup G>
SACCADE_INLINE Vec<float, G> load(const float* p) {
  return each<G>([&](size_t i) SACCADE_LAMBDA { return load<typename G::One>(p + i * kLanes<typename G::One>); });
}
template <IsGroup G>
SACCADE_INLINE void store(float* p, Vec<float, G> x) {
  [&]<size_t... I>(std::index_sequence<I...>) SACCADE_LAMBDA {
    (store<typename G::One>(p + I * kLanes<typename G::One>, x.v[I]), ...);
  }(std::make_index_sequence<G::kCount>{});
}
template <IsGroup G>
SACCADE_INLINE Vec<float, G> broadcast(float x) {
  return each<G>([&](size_t) SACCADE_LAMBDA { return broadcast<typename G::One>(x); });
}

template <IsGroup G>
SACCADE_INLINE Vec<float, G> operator+(Vec<float, G> a, Vec<float, G> b) {
  return each<G>([&](size_t i) SACCADE_LAMBDA { return a.v[i] + b.v[i]; });
}
template <IsGroup G>
SACCADE_INLINE Vec<float, G> operator-(Vec<float, G> a, Vec<float, G> b) {
  return each<G>([&](size_t i) SACCADE_LAMBDA { return a.v[i] - b.v[i]; });
}
template <IsGroup G>
SACCADE_INLINE Vec<float, G> operator*(Vec<float, G> a, Vec<float, G> b) {
  return each<G>([&](size_t i) SACCADE_LAMBDA { return a.v[i] * b.v[i]; });
}

// The functions of vec.h that math.h is made of.
#define SACCADE_EACH_OF_1(name)                                                             \
  template <IsGroup G>                                                                      \
  SACCADE_INLINE Vec<float, G> name(Vec<float, G> a) {                                      \
    return each<G>([&](size_t i) SACCADE_LAMBDA { return name<typename G::One>(a.v[i]); }); \
  }
#define SACCADE_EACH_OF_2(name)                                                                     \
  template <IsGroup G>                                                                              \
  SACCADE_INLINE Vec<float, G> name(Vec<float, G> a, Vec<float, G> b) {                             \
    return each<G>([&](size_t i) SACCADE_LAMBDA { return name<typename G::One>(a.v[i], b.v[i]); }); \
  }
#define SACCADE_EACH_OF_3(name)                                                                             \
  template <IsGroup G>                                                                                      \
  SACCADE_INLINE Vec<float, G> name(Vec<float, G> a, Vec<float, G> b, Vec<float, G> c) {                    \
    return each<G>([&](size_t i) SACCADE_LAMBDA { return name<typename G::One>(a.v[i], b.v[i], c.v[i]); }); \
  }
SACCADE_EACH_OF_1(abs)
SACCADE_EACH_OF_1(pow2_of_field)
SACCADE_EACH_OF_2(max)
SACCADE_EACH_OF_2(min)
SACCADE_EACH_OF_2(divide)
SACCADE_EACH_OF_2(copy_sign)
SACCADE_EACH_OF_2(add_to_field)
SACCADE_EACH_OF_3(fma)
SACCADE_EACH_OF_3(fnma)
SACCADE_EACH_OF_3(fma_exact)
#undef SACCADE_EACH_OF_1
#undef SACCADE_EACH_OF_2
#undef SACCADE_EACH_OF_3
template <IsGroup G>
SACCADE_INLINE Vec<float, G> select_less(Vec<float, G> a, Vec<float, G> b, Vec<float, G> x, Vec<float, G> y) {
  return each<G>([&](size_t i) SACCADE_LAMBDA { return select_less<typename G::One>(a.v[i], b.v[i], x.v[i], y.v[i]); });
}

}  // namespace
}  // namespace saccade::kernels
