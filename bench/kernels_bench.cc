// Google Benchmark programs of the kernels, every ISA that is built and supported here: kernel/isa/sizes.
// Counters: FLOP/s, of_peak (FMA peak of that ISA, sampled before and after, the largest counts), and for weights B/s.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/machine.h"
#include "bench/support/shapes.h"
#include "kernels/isa.h"
#include "kernels/kernels.h"

namespace saccade::bench {
namespace {

using kernels::KernelTable;

// FLOP/s beside the peak; a kernel above its peak means that one of the two is measured wrongly.
void report(benchmark::State& state, const KernelTable& table, double flops, double seconds, double peak) {
  peak = std::max(peak, measure_peak(table, 5, 0.002));
  const double rate = flops / seconds;
  state.counters["FLOP/s"] = benchmark::Counter(rate, benchmark::Counter::kDefaults, benchmark::Counter::kIs1000);
  state.counters["of_peak"] = rate / peak;
  if (rate > peak * 1.02) state.SkipWithError("faster than the FMA peak");
}

void matmul(benchmark::State& state, const KernelTable& table, size_t rows, LinearShape s, kernels::Unary activation) {
  const size_t panels = (s.n + table.nr - 1) / table.nr;
  HugeBuffer a(rows * s.k), w(s.k * s.n), bias(s.n), c(rows * s.n), packed(pack_weight_floats(table, s.k, s.n));
  fill_uniform(a.data(), rows * s.k, 1), fill_uniform(w.data(), s.k * s.n, 2), fill_uniform(bias.data(), s.n, 3);
  table.pack_weight({.w = w.data(),
                     .in = s.k,
                     .out = s.n,
                     .in_stride = s.n,
                     .out_stride = 1,
                     .panels = packed.data(),
                     .panel_begin = 0,
                     .panel_end = panels});
  kernels::MatmulArgs args;
  args.a = a.data(), args.a_stride = s.k;
  args.panels = packed.data();
  args.rows = rows, args.k = s.k, args.n = s.n;
  args.panel_end = panels;
  args.bias = bias.data();
  args.activation = activation;
  args.c = c.data(), args.c_stride = s.n;
  const double peak = measure_peak(table, 5, 0.002);
  double best = 1e9;  // the smallest of all runs: others may use the machine
  for (auto _ : state) {
    const double begin = now();
    table.matmul(args);
    best = std::min(best, now() - begin);
    benchmark::ClobberMemory();
  }
  report(state, table, 2.0 * static_cast<double>(rows) * static_cast<double>(s.k) * static_cast<double>(s.n), best, peak);
}

void pack_weight(benchmark::State& state, const KernelTable& table, LinearShape s, bool out_in) {
  HugeBuffer w(s.k * s.n), packed(pack_weight_floats(table, s.k, s.n));
  kernels::PackWeightArgs args{.w = w.data(),
                               .in = s.k,
                               .out = s.n,
                               .in_stride = out_in ? 1 : s.n,
                               .out_stride = out_in ? s.k : 1,
                               .panels = packed.data(),
                               .panel_begin = 0,
                               .panel_end = (s.n + table.nr - 1) / table.nr};
  for (auto _ : state) {
    table.pack_weight(args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * s.k * s.n * 2 * sizeof(float)));
}

void register_all() {
  const kernels::IsaSet isas = kernels::built_isas() & kernels::supported_isas();
  std::vector<LinearShape> shapes(std::begin(kMiniLm), std::end(kMiniLm));
  shapes.insert(shapes.end(), std::begin(kBertBase), std::end(kBertBase));
  for (const kernels::Isa isa : kernels::kAllIsas) {
    if ((isas & bit(isa)) == 0) continue;
    const KernelTable& table = *kernels::table_for(isa);
    std::string suffix("/");  // (GCC 12 warns wrongly about "/" + name)
    suffix += kernels::name(isa);
    for (const LinearShape s : shapes) {
      const std::string size = "/k:" + std::to_string(s.k) + "/n:" + std::to_string(s.n);
      for (const size_t rows : {1, 4, 16, 64, 256, 1024}) {
        benchmark::RegisterBenchmark(("matmul" + suffix + "/rows:" + std::to_string(rows) + size).c_str(), matmul, table, rows, s,
                                     kernels::Unary::kIdentity);
      }
      benchmark::RegisterBenchmark(("matmul_gelu" + suffix + "/rows:256" + size).c_str(), matmul, table, size_t{256}, s,
                                   kernels::Unary::kGeluErf);
      for (const bool out_in : {false, true}) {
        benchmark::RegisterBenchmark(((out_in ? "pack_weight_out_in" : "pack_weight_in_out") + suffix + size).c_str(),
                                     pack_weight, table, s, out_in);
      }
    }
  }
}

}  // namespace
}  // namespace saccade::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  saccade::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
