#include "tools/timing.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tools/console.h"

namespace saccade::tool {

int64_t peak_rss_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

double Timing::min() const { return *std::min_element(seconds.begin(), seconds.end()); }

double Timing::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Timing time_repeats(int repeat, const std::string& what, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  constexpr double kSample = 0.01;  // long beside the clock's resolution
  const auto elapsed = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  Timing timing;
  Progress progress(what);
  try {
    work();
    auto begin = Clock::now();
    work();
    const int64_t calls = std::max<int64_t>(1, static_cast<int64_t>(kSample / std::max(elapsed(begin), 1e-9)));
    for (int r = 0; r < repeat; ++r) {
      progress.at(r, repeat);
      throw_if_interrupted();
      begin = Clock::now();
      for (int64_t i = 0; i < calls; ++i) work();
      timing.seconds.push_back(elapsed(begin) / static_cast<double>(calls));
    }
  } catch (const Interrupted&) {
    timing.interrupted = true;
  }
  return timing;
}

void add_rates(BenchReport& report, int64_t tokens, int64_t sequences, int64_t arena_bytes, int64_t weight_bytes) {
  report.more = {{"sequences", sequences}, {"tokens", tokens}, {"arena_bytes", arena_bytes}};
  if (!report.timing.seconds.empty()) {
    const double rate = static_cast<double>(tokens) / report.timing.min();
    report.more.emplace_back("useful_tokens_per_second", rate);
    report.lines.emplace_back("useful tokens/s", thousands(rate));
    report.lines.emplace_back("sequences/s", significant(static_cast<double>(sequences) / report.timing.min()));
  }
  report.lines.emplace_back("memory", fmt::format("arena {}, weights {}, peak RSS {}", bytes_text(arena_bytes),
                                                  bytes_text(weight_bytes), bytes_text(peak_rss_bytes())));
}

int print_bench(const BenchReport& report, bool json) {
  const Timing& timing = report.timing;
  const bool any = !timing.seconds.empty();
  double peak = report.peak_before;
  if (!timing.interrupted) peak = std::max(peak, measure_peak_of(report.setup.isa, report.setup.threads));
  const double gflops = any ? report.flops / timing.min() * 1e-9 : 0;

  if (json) {
    Numbers numbers = {{"repeats", static_cast<int64_t>(timing.seconds.size())}};
    if (any) {
      numbers.emplace_back("seconds_min", timing.min());
      numbers.emplace_back("seconds_median", timing.median());
      if (report.flops > 0) numbers.emplace_back("gflops", gflops);
    }
    numbers.emplace_back("peak_gflops", peak);
    numbers.emplace_back("peak_rss_bytes", peak_rss_bytes());
    numbers.insert(numbers.end(), report.more.begin(), report.more.end());
    print_numbers(report.command, report.setup, numbers);
  } else {
    const auto line = [](const std::string& key, const std::string& value) { fmt::print("{:<18}{}\n", key, value); };
    fmt::print("{}\n{}\n", headline(report.setup), report.title);
    if (any) {
      line("seconds", fmt::format("{} min, {} median of {}", significant(timing.min()), significant(timing.median()),
                                  timing.seconds.size()));
      if (report.flops > 0)
        line("GFLOP/s",
             fmt::format("{}, {:.1f} % of the FMA peak {}", significant(gflops), 100 * gflops / peak, significant(peak)));
      for (const auto& [key, value] : report.lines) line(key, value);
    } else {
      fmt::print("interrupted before the first result\n");
    }
  }
  return timing.interrupted ? interrupted() : kDone;
}

void print_numbers(const std::string& command, const Setup& setup, const Numbers& numbers) {
  Json results = {{"isa", setup.isa}, {"threads", setup.threads}};
  for (const Number& n : numbers) results[n.key] = n.integer ? Json(static_cast<int64_t>(n.value)) : Json(n.value);
  print_envelope(command, results);
}

}  // namespace saccade::tool
