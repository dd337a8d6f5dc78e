// Attention of one head after the other on one thread, packing included: GFLOP/s (4 queries keys head_dim FLOPs a head) beside
// the FMA peak measured in the same rounds. Times are minima over rounds that visit every shape in turn, so that a slow moment of
// the machine meets all of them.
//   attention_bench [rounds = 30] [part of a shape's name]        SACCADE_FORCE_ISA names the ISA
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace {

using namespace saccade::kernels;

// Long calls are timed by the processor time of this thread (a busy machine takes the core away in the middle of one), short ones
// by the wall clock, which costs less to read.
double now(bool processor_time) {
  timespec t;
  clock_gettime(processor_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Aligned {
  explicit Aligned(size_t floats) : data(static_cast<float*>(std::aligned_alloc(64, round_up(floats * 4 + 64, 64)))) {
    std::memset(data, 0, floats * 4);
  }
  ~Aligned() { std::free(data); }
  Aligned(Aligned&& other) noexcept : data(other.data) { other.data = nullptr; }
  float* data;
};

struct Shape {
  const char* name;
  size_t heads, tokens, head_dim;
  bool token_major = false;  // rows of all heads side by side, as a QKV matmul writes them plainly; else one matrix per head
  int64_t left = kUnlimited, right = kUnlimited;
};

struct Case {
  explicit Case(const KernelTable& t, const Shape& s)
      : table(t),
        shape(s),
        q(size()),
        k(size()),
        v(size()),
        out(size()),
        packed(attention_pack_floats(t, s.tokens, s.head_dim, s.head_dim)),
        rows(attention_row_floats(t, s.tokens, s.head_dim)) {
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float* x : {q.data, k.data, v.data}) {
      for (size_t i = 0; i < size(); ++i) x[i] = uniform(engine);
    }
  }
  size_t size() const { return shape.heads * shape.tokens * shape.head_dim; }
  size_t stride() const { return shape.token_major ? shape.heads * shape.head_dim : shape.head_dim; }
  double flops() const {  // of one head
    double pairs = 0;
    const int64_t n = static_cast<int64_t>(shape.tokens);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t begin = i - shape.left > 0 ? i - shape.left : 0, end = i + shape.right + 1 < n ? i + shape.right + 1 : n;
      pairs += static_cast<double>(end - begin);
    }
    return 4 * pairs * static_cast<double>(shape.head_dim);
  }
  // All heads. A piece of the work (packing, or a block of rows) is shorter than a time slice of a busy machine; each piece has
  // its own minimum over heads and rounds.
  void run() {
    const size_t block = shape.tokens <= kFullRowKeys ? shape.tokens : table.query_tile * kOnlineQueryTiles;
    const bool long_calls = shape.tokens >= kFullRowKeys;
    best.resize(1 + (shape.tokens + block - 1) / block, 1e30);
    for (size_t h = 0; h < shape.heads; ++h) {
      const size_t at = h * (shape.token_major ? shape.head_dim : shape.tokens * shape.head_dim);
      double start = now(long_calls);
      table.attention_pack({.k = k.data + at,
                            .k_stride = stride(),
                            .v = v.data + at,
                            .v_stride = stride(),
                            .keys = shape.tokens,
                            .head_dim = shape.head_dim,
                            .value_dim = shape.head_dim,
                            .scratch = packed.data});
      best[0] = std::min(best[0], now(long_calls) - start);
      AttentionArgs args;
      args.q = q.data + at;
      args.q_stride = stride();
      args.out = out.data + at;
      args.out_stride = stride();
      args.keys = shape.tokens;
      args.head_dim = args.value_dim = shape.head_dim;
      args.scale = 0.125f;
      args.left = shape.left;
      args.right = shape.right;
      args.scratch = packed.data;
      args.row_scratch = rows.data;
      for (size_t b = 1; b < best.size(); ++b) {
        args.row_begin = args.row_end;
        args.row_end = std::min(shape.tokens, args.row_begin + block);
        start = now(long_calls);
        table.attention(args);
        best[b] = std::min(best[b], now(long_calls) - start);
      }
    }
  }
  double seconds() const { return std::accumulate(best.begin(), best.end(), 0.0); }  // of one head
  const KernelTable& table;
  Shape shape;
  Aligned q, k, v, out, packed, rows;
  std::vector<double> best;
};

double peak_sample(const KernelTable& table) {
  float sink[16];
  double flops = 0;
  const double start = now(false);
  table.fma_chains({.iterations = 200000, .sink = sink, .flops = &flops});
  return flops / (now(false) - start);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  const char* only = argc > 2 ? argv[2] : "";  // part of a shape's name
  const char* forced = std::getenv("SACCADE_FORCE_ISA");
  Isa isa;
  if (select(built_isas(), supported_isas(), forced == nullptr ? "" : forced, isa) != Choice::kOk) {
    std::fprintf(stderr, "attention_bench: no such ISA here\n");
    return 2;
  }
  const KernelTable& table = *table_for(isa);
  const uint64_t state = set_float_state();
  const Shape shapes[] = {{"12 x 16 x 32", 96, 16, 32, true},
                          {"12 x 32 x 32", 48, 32, 32, true},
                          {"12 x 128 x 32", 12, 128, 32, true},
                          {"12 x 128 x 64", 12, 128, 64, true},
                          {"12 x 512 x 32", 4, 512, 32},
                          {"12 x 512 x 32 strided", 12, 512, 32, true},
                          {"12 x 512 x 64", 4, 512, 64},
                          {"12 x 512 x 64 strided", 12, 512, 64, true},
                          {"16 x 512 x 64 strided", 16, 512, 64, true},
                          {"12 x 512 x 64 causal", 4, 512, 64, false, kUnlimited, 0},
                          {"12 x 512 x 64 window 128", 4, 512, 64, false, 64, 64},
                          {"12 x 1024 x 64", 2, 1024, 64},
                          {"1 x 2048 x 64", 1, 2048, 64},
                          {"1 x 8192 x 64", 1, 8192, 64}};
  std::vector<Case> cases;
  cases.reserve(std::size(shapes));
  for (const Shape& shape : shapes) {
    if (std::strstr(shape.name, only) != nullptr) cases.emplace_back(table, shape);
  }
  double peak = 0;
  for (int round = 0; round < rounds; ++round) {
    for (Case& c : cases) {
      if (c.shape.tokens > 4096 && round % 4 != 0) continue;
      peak = std::max(peak, peak_sample(table));
      c.run();
    }
  }
  restore_float_state(state);
  std::printf("%s, FMA peak %.1f GFLOP/s, one thread, minima of %d rounds\n", std::string(name(isa)).c_str(), peak / 1e9, rounds);
  for (Case& c : cases) {
    const double rate = c.flops() / c.seconds();
    std::printf("  %-26s %7.1f GFLOP/s  %.3f of peak, packing %4.1f %%\n", c.shape.name, rate / 1e9, rate / peak,
                100 * c.best[0] / c.seconds());
  }
  return 0;
}
