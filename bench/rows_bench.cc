// Kernels that work on rows: GB/s (bytes read once + written once) and cycles per vector, on data in L1 (512 floats) and beyond.
// Cycles are seconds x clock; the clock comes from a chain of additions, timed around every figure. Both are minima over
// samples of about 20 us: on a shared machine everything else measures the neighbours.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A chain of additions: one a cycle on every core. (FLOPs would not tell: a Zen 4 does one FMA of 512 bits a cycle, a Xeon two.)
double clock_hz() {
  constexpr int kAdditions = 20000;
  double best = 0;
  uint64_t x = 1;
  for (int i = 0; i < 50; ++i) {
    const double seconds = seconds_of([&] {
      for (int n = 0; n < kAdditions; ++n) {
        x += x;
        __asm__ volatile("" : "+r"(x));
      }
    });
    best = std::max(best, kAdditions / seconds);
  }
  return best;
}

struct Case {
  const char* name;
  double streams;  // arrays of the row's size that are read or written
  std::function<void(const KernelTable&, size_t rows, size_t width, std::vector<float>* a)> run;
};

template <class Args>
Args row_args(size_t rows, size_t width, std::vector<float>* a) {
  Args args;
  args.x = a[0].data(), args.x_stride = width, args.rows = rows, args.width = width, args.y = a[2].data(), args.y_stride = width;
  return args;
}

Case map_case(const char* name, Unary f) {
  return {name, 2, [f](const KernelTable& t, size_t rows, size_t width, std::vector<float>* a) {
            auto args = row_args<MapArgs>(rows, width, a);
            args.f = f;
            t.map(args);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> list = {
      {"softmax", 2,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) { t.softmax(row_args<SoftmaxArgs>(rows, width, a)); }},
      {"layer_norm", 3,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         auto args = row_args<NormArgs>(rows, width, a);
         args.residual = a[1].data(), args.residual_stride = width, args.gain = a[3].data(), args.bias = a[3].data();
         t.norm(args);
       }},
      {"rms_norm", 2,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         auto args = row_args<NormArgs>(rows, width, a);
         args.rms = true, args.gain = a[3].data();
         t.norm(args);
       }},
      {"l2_normalize", 2,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         t.l2_normalize(row_args<L2NormalizeArgs>(rows, width, a));
       }},
      {"add", 3,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         t.add({.a = a[0].data(),
                .a_stride = width,
                .b = a[1].data(),
                .b_stride = width,
                .rows = rows,
                .width = width,
                .y = a[2].data(),
                .y_stride = width});
       }},
      {"gate_silu", 3,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         auto args = row_args<GateArgs>(rows, width, a);
         args.up = a[1].data(), args.up_stride = width;
         t.gate(args);
       }},
      {"rope_halves", 2,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         static const std::vector<int32_t> positions(1 << 16, 0);
         t.rope({.x = a[0].data(),
                 .x_stride = width,
                 .rows = rows,
                 .heads = width / 64,
                 .head_dim = 64,
                 .rotary_dim = 64,
                 .positions = positions.data(),
                 .cos = a[3].data(),
                 .sin = a[3].data(),
                 .y = a[2].data(),
                 .y_stride = width});
       }},
      {"rope_pairs", 2,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         static const std::vector<int32_t> positions(1 << 16, 0);
         t.rope({.x = a[0].data(),
                 .x_stride = width,
                 .rows = rows,
                 .heads = width / 64,
                 .head_dim = 64,
                 .rotary_dim = 64,
                 .interleaved = true,
                 .positions = positions.data(),
                 .cos = a[3].data(),
                 .sin = a[3].data(),
                 .y = a[2].data(),
                 .y_stride = width});
       }},
      {"embedding", 4,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         static const std::vector<int32_t> ids(1 << 16, 0);
         t.embedding({.tables = 3,
                      .table = {a[0].data(), a[1].data(), a[3].data()},
                      .table_stride = {width, width, width},
                      .ids = {ids.data(), ids.data(), ids.data()},
                      .rows = rows,
                      .width = width,
                      .y = a[2].data(),
                      .y_stride = width});
       }},
      {"pool_mean", 1,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         const int64_t offsets[] = {0, static_cast<int64_t>(rows)};
         t.pool({.x = a[0].data(),
                 .x_stride = width,
                 .offsets = offsets,
                 .sequences = 1,
                 .width = width,
                 .y = a[2].data(),
                 .y_stride = width});
       }},
      {"widen_f16", 1.5,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         t.widen({.x = reinterpret_cast<const uint16_t*>(a[0].data()), .count = rows * width, .y = a[2].data()});
       }},
      {"widen_bf16", 1.5,
       [](const KernelTable& t, size_t rows, size_t width, auto* a) {
         t.widen(
             {.x = reinterpret_cast<const uint16_t*>(a[0].data()), .count = rows * width, .bfloat16 = true, .y = a[2].data()});
       }},
  };
  list.push_back(map_case("gelu_erf", Unary::kGeluErf));
  list.push_back(map_case("gelu_tanh", Unary::kGeluTanh));
  list.push_back(map_case("silu", Unary::kSilu));
  list.push_back(map_case("tanh", Unary::kTanh));
  list.push_back(map_case("sigmoid", Unary::kSigmoid));
  list.push_back(map_case("erf", Unary::kErf));
  list.push_back(map_case("exp2", Unary::kExp2));
  return list;
}

void run_case(benchmark::State& state, const Case& kernel, const KernelTable& table, size_t rows, size_t width) {
  std::vector<float> a[4];
  for (size_t i = 0; i < 4; ++i) {
    a[i].resize(rows * width);
    for (size_t j = 0; j < a[i].size(); ++j) a[i][j] = 3.0f * std::sin(static_cast<float>(j * 7 + i));
  }
  const size_t calls = std::max<size_t>(1, 16384 / (rows * width));
  double clock = clock_hz(), best = 1e30;
  for (auto _ : state) {
    const double seconds = seconds_of([&] {
      for (size_t n = 0; n < calls; ++n) kernel.run(table, rows, width, a);
    });
    best = std::min(best, seconds / static_cast<double>(calls));
  }
  clock = std::max(clock, clock_hz());
  const double vectors = static_cast<double>(rows * width) / static_cast<double>(table.vector);
  state.counters["GB/s"] = 1e-9 * kernel.streams * 4.0 * static_cast<double>(rows * width) / best;
  state.counters["cycles/vector"] = best * clock / vectors;
  state.counters["GHz"] = clock * 1e-9;
}

}  // namespace
}  // namespace saccade::kernels

int main(int argc, char** argv) {
  using namespace saccade::kernels;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  static const std::vector<Case> list = cases();
  for (Isa isa : kAllIsas) {
    if ((built_isas() & supported_isas() & bit(isa)) == 0) continue;
    const KernelTable& table = *table_for(isa);
    for (const Case& kernel : list) {
      for (const auto& [rows, width] : {std::pair<size_t, size_t>{1, 512}, {1, 384}, {1024, 1536}}) {
        const std::string name = std::string(kernel.name) + "/" + std::string(saccade::kernels::name(isa)) + "/" +
                                 std::to_string(rows) + "x" + std::to_string(width);
        benchmark::RegisterBenchmark(name.c_str(), [&kernel, &table, rows = rows, width = width](benchmark::State& state) {
          run_case(state, kernel, table, rows, width);
        })->MinTime(0.05);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
