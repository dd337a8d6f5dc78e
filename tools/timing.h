// Repeated timing of one piece of work, and the lines and keys that every benchmark prints.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tools/machine_report.h"

namespace saccade::tool {

struct Timing {
  std::vector<double> seconds;  // of one call; empty: interrupted before the first was done
  bool interrupted = false;
  double min() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
};

// Runs `work` once unmeasured, then `repeat` samples; a sample is as many calls as take 10 ms (one, if one takes longer).
Timing time_repeats(int repeat, const std::string& what, const std::function<void()>& work);

// Prints the envelope, or a heading and one line per result; peak before and after the work, the larger counts.
struct BenchReport {
  std::string command;  // "bench encoder"
  std::string title;    // what was computed, in words
  const Setup& setup;
  const Timing& timing;
  double flops = 0;  // of one call; 0: not counted
  double peak_before = 0;
  Json more;                                               // further keys of `results`
  std::vector<std::pair<std::string, std::string>> lines;  // and further lines of the text
};
int print_bench(const BenchReport& report, bool json);

}  // namespace saccade::tool
