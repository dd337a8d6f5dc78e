// Our matmul beside oneDNN's at its best: f32, bias, a primitive for the exact shape, weights in the layout it asks for, one
// thread. Turn after turn goes over all shapes, ours and oneDNN's one after the other on the same inputs; the smallest time of
// each counts. The FMA peak is sampled before and with every turn, the largest counts.
//
//   matmul_vs_onednn [--rows 1,4,16,256] [--shapes 384x384,...] [--weights-mib 64] [--turns 30] [--isa avx2] [--json]
//
// --weights-mib W: each shape cycles through as many different weights as fill W MiB (0: one weight, which stays in the cache
// where it fits). A model's run is between the two: every weight once, 43 MB (MiniLM) or 340 MB (BERT-base) of them.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/machine.h"
#include "bench/support/shapes.h"
#include "dnnl.hpp"
#include "kernels/isa.h"
#include "kernels/kernels.h"

namespace saccade::bench {
namespace {

struct Options {
  std::vector<size_t> rows = {1, 2, 3, 4, 8, 16, 32, 64, 256, 1024};
  std::vector<LinearShape> shapes;
  size_t weights_mib = 0;
  int turns = 30;
  std::string isa;
  bool json = false;
};

struct Row {
  size_t rows, k, n, weights;
  double ours, onednn, peak, bandwidth;  // FLOP/s; bytes/s
  double flops() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(k) * static_cast<double>(n); }
  double weight_bandwidth() const { return ours / flops() * static_cast<double>(k) * static_cast<double>(n) * 4; }
};

// oneDNN: every weight reordered into the layout that the primitive prefers.
class OneDnn {
 public:
  OneDnn(size_t rows, LinearShape s, const std::vector<const float*>& weights, float* a, float* bias, float* c) {
    using dnnl::memory;
    const auto m = static_cast<memory::dim>(rows), k = static_cast<memory::dim>(s.k), n = static_cast<memory::dim>(s.n);
    const memory::desc a_desc({m, k}, memory::data_type::f32, memory::format_tag::ab);
    const memory::desc any({k, n}, memory::data_type::f32, memory::format_tag::any);
    const memory::desc plain({k, n}, memory::data_type::f32, memory::format_tag::ab);
    const memory::desc bias_desc({1, n}, memory::data_type::f32, memory::format_tag::ab);
    const memory::desc c_desc({m, n}, memory::data_type::f32, memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(engine_, a_desc, any, bias_desc, c_desc, attributes);
#else
    const dnnl::matmul::primitive_desc desc({a_desc, any, bias_desc, c_desc}, attributes, engine_);
#endif
    matmul_ = dnnl::matmul(desc);
    implementation = desc.impl_info_str();
    const size_t floats = (desc.weights_desc().get_size() + 63) / 64 * 16;
    packed_ = std::make_unique<HugeBuffer>(floats * weights.size());
    scratch_ = std::make_unique<HugeBuffer>(desc.scratchpad_desc().get_size() / sizeof(float) + 16);
    for (size_t i = 0; i < weights.size(); ++i) {
      memory from(plain, engine_, const_cast<float*>(weights[i])), to(desc.weights_desc(), engine_, packed_->data() + i * floats);
      dnnl::reorder(from, to).execute(stream_, from, to);
      arguments_.push_back({{DNNL_ARG_SRC, memory(a_desc, engine_, a)},
                            {DNNL_ARG_WEIGHTS, to},
                            {DNNL_ARG_BIAS, memory(bias_desc, engine_, bias)},
                            {DNNL_ARG_DST, memory(c_desc, engine_, c)},
                            {DNNL_ARG_SCRATCHPAD, memory(desc.scratchpad_desc(), engine_, scratch_->data())}});
    }
    stream_.wait();
  }
  void run(size_t weight) { matmul_.execute(stream_, arguments_[weight]); }
  std::string implementation;

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::matmul matmul_;
  std::unique_ptr<HugeBuffer> packed_, scratch_;
  std::vector<std::unordered_map<int, dnnl::memory>> arguments_;
};

// One shape: both libraries ready to run on the same inputs.
class Case {
 public:
  Case(const kernels::KernelTable& table, size_t rows, LinearShape s, const Options& options)
      : weights(std::max<size_t>(1, (options.weights_mib << 20) / (s.k * s.n * sizeof(float)))),
        row{rows, s.k, s.n, weights, 0, 0, 0, 0},
        table_(table),
        panel_floats_(pack_weight_floats(table, s.k, s.n)),
        a_(rows * s.k),
        bias_(s.n),
        c_(rows * s.n),
        c_onednn_(rows * s.n),
        panels_(panel_floats_ * weights) {
    HugeBuffer plain(s.k * s.n * weights);
    fill_uniform(a_.data(), rows * s.k, 1), fill_uniform(bias_.data(), s.n, 2),
        fill_uniform(plain.data(), s.k * s.n * weights, 3);
    std::vector<const float*> each;
    for (size_t i = 0; i < weights; ++i) {
      each.push_back(plain.data() + i * s.k * s.n);
      table.pack_weight({.w = each[i],
                         .in = s.k,
                         .out = s.n,
                         .in_stride = s.n,
                         .out_stride = 1,
                         .panels = panels_.data() + i * panel_floats_,
                         .panel_begin = 0,
                         .panel_end = (s.n + table.nr - 1) / table.nr});
    }
    onednn_ = std::make_unique<OneDnn>(rows, s, each, a_.data(), bias_.data(), c_onednn_.data());
    args_.a = a_.data(), args_.a_stride = s.k;
    args_.rows = rows, args_.k = s.k, args_.n = s.n;
    args_.panel_end = (s.n + table.nr - 1) / table.nr;
    args_.bias = bias_.data();
    args_.c = c_.data(), args_.c_stride = s.n;
    time_ours(1), time_onednn(1);
    for (size_t i = 0; i < rows * s.n; ++i) {
      if (!(std::fabs(c_.data()[i] - c_onednn_.data()[i]) < 1e-3f)) {
        std::fprintf(stderr, "%zux%zux%zu: element %zu is %g, oneDNN has %g\n", rows, s.k, s.n, i, c_.data()[i],
                     c_onednn_.data()[i]);
        std::exit(1);
      }
    }
    repeats_ = std::max(1, static_cast<int>(1e-4 / (time_ours(1) * static_cast<double>(weights))));
  }
  // Each a dozen times in turn: all weights once, several times over if that takes under 0.1 ms.
  void turn() {
    for (int i = 0; i < 12; ++i) {
      row.ours = std::max(row.ours, row.flops() / time_ours(repeats_));
      row.onednn = std::max(row.onednn, row.flops() / time_onednn(repeats_));
      if (i >= 3 && weights > 1) break;
    }
  }
  void measure_bandwidth() {
    row.bandwidth = std::max(row.bandwidth, measure_read_bandwidth(panels_.data(), panel_floats_ * weights, 2));
  }

  size_t weights;
  Row row;

 private:
  template <class Run>
  double time(int repeats, Run run) {
    const double begin = now();
    for (int i = 0; i < repeats; ++i) {
      for (size_t w = 0; w < weights; ++w) run(w);
    }
    return (now() - begin) / repeats / static_cast<double>(weights);
  }
  double time_ours(int repeats) {
    return time(repeats, [&](size_t weight) {
      args_.panels = panels_.data() + weight * panel_floats_;
      table_.matmul(args_);
    });
  }
  double time_onednn(int repeats) {
    return time(repeats, [&](size_t weight) { onednn_->run(weight); });
  }

  const kernels::KernelTable& table_;
  size_t panel_floats_;
  HugeBuffer a_, bias_, c_, c_onednn_, panels_;
  std::unique_ptr<OneDnn> onednn_;
  kernels::MatmulArgs args_;
  int repeats_ = 1;
};

struct GeometricMean {
  double log_sum = 0, smallest = 1e9;
  int count = 0;
  void add(double x) { log_sum += std::log(x), smallest = std::min(smallest, x), ++count; }
  double value() const { return count == 0 ? 0 : std::exp(log_sum / count); }
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char x : text) {
    if (x == at) {
      parts.emplace_back();
    } else {
      parts.back() += x;
    }
  }
  return parts;
}

int run(const Options& options) {
  kernels::Isa isa;
  if (kernels::select(kernels::built_isas(), kernels::supported_isas(), options.isa, isa) != kernels::Choice::kOk) {
    std::fprintf(stderr, "cannot run ISA %s here\n", options.isa.c_str());
    return 2;
  }
  const kernels::KernelTable& table = *kernels::table_for(isa);
  std::vector<Row> all;
  if (!options.json) {
    std::printf("isa %s, one thread, oneDNN %d.%d.%d, %s\n", std::string(kernels::name(isa)).c_str(), dnnl_version()->major,
                dnnl_version()->minor, dnnl_version()->patch,
                options.weights_mib == 0 ? "one weight" : (std::to_string(options.weights_mib) + " MiB of weights").c_str());
    std::printf("%6s %6s %6s %9s %8s %9s %7s %16s\n", "rows", "k", "n", "GFLOP/s", "of peak", "oneDNN", "ratio",
                "GB/s (readable)");
  }
  for (const size_t rows : options.rows) {
    GeometricMean peak, ratio, bandwidth;
    std::vector<std::unique_ptr<Case>> cases;
    for (const LinearShape shape : options.shapes) cases.push_back(std::make_unique<Case>(table, rows, shape, options));
    double best_peak = measure_peak(table);
    for (int turn = 0; turn < options.turns; ++turn) {
      for (const auto& each : cases) each->turn();
      if (turn % 4 == 0) {
        for (const auto& each : cases) each->measure_bandwidth();
      }
      best_peak = std::max(best_peak, measure_peak(table, 2));
    }
    for (const auto& each : cases) {
      Row& row = each->row;
      row.peak = best_peak;
      all.push_back(row);
      peak.add(row.ours / row.peak), ratio.add(row.ours / row.onednn), bandwidth.add(row.weight_bandwidth() / row.bandwidth);
      if (options.json) continue;
      std::printf("%6zu %6zu %6zu %9.1f %8.3f %9.1f %7.3f %7.1f (%5.1f)\n", row.rows, row.k, row.n, row.ours * 1e-9,
                  row.ours / row.peak, row.onednn * 1e-9, row.ours / row.onednn, row.weight_bandwidth() * 1e-9,
                  row.bandwidth * 1e-9);
      std::fflush(stdout);
    }
    if (!options.json) {
      std::printf("%6zu geometric mean: %.3f of peak, %.3f x oneDNN (smallest %.3f), %.2f of readable bandwidth\n", rows,
                  peak.value(), ratio.value(), ratio.smallest, bandwidth.value());
    }
  }
  if (options.json) {
    std::printf("{\"isa\": \"%s\", \"threads\": 1, \"weights_mib\": %zu, \"matmul\": [", std::string(kernels::name(isa)).c_str(),
                options.weights_mib);
    for (size_t i = 0; i < all.size(); ++i) {
      const Row& r = all[i];
      std::printf(
          "%s\n  {\"rows\": %zu, \"k\": %zu, \"n\": %zu, \"gflops\": %.2f, \"peak_gflops\": %.2f, \"onednn_gflops\": %.2f, "
          "\"weight_gb_per_s\": %.2f, \"readable_gb_per_s\": %.2f}",
          i == 0 ? "" : ",", r.rows, r.k, r.n, r.ours * 1e-9, r.peak * 1e-9, r.onednn * 1e-9, r.weight_bandwidth() * 1e-9,
          r.bandwidth * 1e-9);
    }
    std::printf("\n]}\n");
  }
  return 0;
}

}  // namespace
}  // namespace saccade::bench

int main(int argc, char** argv) {
  using namespace saccade::bench;
  omp_set_num_threads(1);
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--json") {
      options.json = true;
      continue;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "%s: unknown, or its value is missing\n", flag.c_str());
      return 2;
    }
    const std::string value = argv[++i];
    if (flag == "--rows") {
      options.rows.clear();
      for (const std::string& part : split(value, ',')) options.rows.push_back(std::stoul(part));
    } else if (flag == "--shapes") {
      for (const std::string& part : split(value, ',')) {
        const std::vector<std::string> sizes = split(part, 'x');
        if (sizes.size() != 2) return 2;
        options.shapes.push_back({std::stoul(sizes[0]), std::stoul(sizes[1])});
      }
    } else if (flag == "--weights-mib") {
      options.weights_mib = std::stoul(value);
    } else if (flag == "--turns") {
      options.turns = std::stoi(value);
    } else if (flag == "--isa") {
      options.isa = value;
    } else {
      std::fprintf(stderr, "%s: unknown\n", flag.c_str());
      return 2;
    }
  }
  if (options.shapes.empty()) {
    options.shapes.assign(std::begin(kMiniLm), std::end(kMiniLm));
    options.shapes.insert(options.shapes.end(), std::begin(kBertBase), std::end(kBertBase));
  }
  return run(options);
}
