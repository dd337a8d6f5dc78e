// saccade bench matmul and bench softmax: kernels by themselves, the one file of the command that looks behind the public API.
// With several threads each takes an equal share of the rows.
#include <fmt/core.h>

#include <memory>
#include <new>
#include <random>

#include "kernels/kernels.h"
#include "tools/console.h"
#include "tools/timing.h"

namespace saccade::tool {
namespace {

const kernels::KernelTable& table_of(const Setup& setup) {
  kernels::Isa isa;
  if (!kernels::parse_isa(setup.isa, isa) || kernels::table_for(isa) == nullptr) {
    throw Failure(kFailure, "no kernels of ISA '" + setup.isa + "' in the command");
  }
  return *kernels::table_for(isa);
}

// Floats on a cache line, as the runtime's arena gives them.
struct Aligned {
  explicit Aligned(size_t size) : data(new(std::align_val_t{64}) float[size]) {}
  ~Aligned() { ::operator delete[](data, std::align_val_t{64}); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  void fill(size_t size, uint32_t seed) {
    std::mt19937 engine(seed);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<float>(engine() >> 8) * 0x1p-23f - 1.0f;
  }
  float* data;
};

// Calls rows(begin, end) on every worker with its share of [0, count).
template <class Rows>
void share_rows(Executor& executor, size_t count, const Rows& rows) {
  struct Call {
    const Rows& rows;
    size_t count;
  } call{rows, count};
  const auto task = [](void* arg, int index, int team) {
    const Call& c = *static_cast<const Call*>(arg);
    const auto i = static_cast<size_t>(index), n = static_cast<size_t>(team);
    c.rows(c.count * i / n, c.count * (i + 1) / n);
  };
  check(executor.run(executor.width(), task, &call));
}

double gigabytes_per_second(size_t floats, double seconds) {
  return static_cast<double>(floats * sizeof(float)) / seconds * 1e-9;
}

}  // namespace

int run_bench_matmul(const BenchMatmulOptions& options) {
  const Setup setup = make_setup(options);
  const kernels::KernelTable& t = table_of(setup);
  const auto rows = static_cast<size_t>(options.rows), in = static_cast<size_t>(options.in),
             out = static_cast<size_t>(options.out);
  Aligned a(rows * in), w(in * out), c(rows * out), panels(kernels::pack_weight_floats(t, in, out));
  a.fill(rows * in, 1);
  w.fill(in * out, 2);
  const size_t panel_count = kernels::round_up(out, t.nr) / t.nr;
  t.pack_weight(
      {.w = w.data, .in = in, .out = out, .in_stride = out, .out_stride = 1, .panels = panels.data, .panel_end = panel_count});
  const int64_t l2 = machine().l2_bytes;
  const auto part = [&](size_t begin, size_t end) {
    kernels::MatmulArgs args;
    args.a = a.data + begin * in;
    args.a_stride = in;
    args.panels = panels.data;
    args.rows = end - begin;
    args.k = in;
    args.n = out;
    args.panel_end = panel_count;
    args.c = c.data + begin * out;
    args.c_stride = out;
    if (l2 > 0) args.cache_bytes = static_cast<size_t>(l2);
    t.matmul(args);
  };

  const double peak = measure_peak_of(setup.isa, setup.threads);
  const Timing timing = time_repeats(options.repeat, "matmul", [&] { share_rows(*setup.executor, rows, part); });
  BenchReport report{.command = "bench matmul", .title = {}, .setup = setup, .timing = timing, .peak_before = peak};
  report.flops = 2 * static_cast<double>(options.rows) * static_cast<double>(options.in) * static_cast<double>(options.out);
  report.title = fmt::format("matmul, f32, packed weight: [{}, {}] x [{}, {}]", rows, in, in, out);
  if (!timing.seconds.empty()) {
    const double rate = gigabytes_per_second(rows * in + in * out + rows * out, timing.min());
    report.more.emplace_back("gbs", rate);
    report.lines.emplace_back("GB/s", fmt::format("{} (operands once each)", significant(rate)));
  }
  return print_bench(report, options.json);
}

int run_bench_softmax(const BenchSoftmaxOptions& options) {
  const Setup setup = make_setup(options);
  const kernels::KernelTable& t = table_of(setup);
  const auto rows = static_cast<size_t>(options.rows), width = static_cast<size_t>(options.width);
  Aligned x(rows * width), y(rows * width);
  x.fill(rows * width, 1);
  const auto part = [&](size_t begin, size_t end) {
    kernels::SoftmaxArgs args;
    args.x = x.data + begin * width;
    args.y = y.data + begin * width;
    args.x_stride = args.y_stride = args.width = width;
    args.rows = end - begin;
    t.softmax(args);
  };

  const double peak = measure_peak_of(setup.isa, setup.threads);
  const Timing timing = time_repeats(options.repeat, "softmax", [&] { share_rows(*setup.executor, rows, part); });
  BenchReport report{.command = "bench softmax", .title = {}, .setup = setup, .timing = timing, .peak_before = peak};
  report.title = fmt::format("softmax, f32: {} rows of {}", rows, width);
  if (!timing.seconds.empty()) {
    const double elements = static_cast<double>(rows * width) / timing.min();
    report.more.emplace_back("elements_per_second", elements);
    report.more.emplace_back("gbs", gigabytes_per_second(2 * rows * width, timing.min()));
    report.lines.emplace_back("elements/s", fmt::format("{} G", significant(elements * 1e-9)));
    report.lines.emplace_back(
        "GB/s", fmt::format("{} (read + written)", significant(gigabytes_per_second(2 * rows * width, timing.min()))));
  }
  return print_bench(report, options.json);
}

}  // namespace saccade::tool
