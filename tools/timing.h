// Repeated timing of one piece of work, and the lines and keys that every benchmark prints.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/machine_report.h"

namespace saccade::tool {

struct Timing {
  std::vector<double> seconds;  // of one call; empty: interrupted before the first was done
  bool interrupted = false;
  double min() const;
  double median() const;
};

int64_t peak_rss_bytes();  // largest resident memory of this process so far

// Runs `work` once unmeasured, then `repeat` samples; a sample is as many calls as take 10 ms (one, if one takes longer).
Timing time_repeats(int repeat, const std::string& what, const std::function<void()>& work);

// A key of `results`: seconds and rates are doubles, counts and bytes are integers.
struct Number {
  Number(std::string k, double v) : key(std::move(k)), value(v) {}
  Number(std::string k, int64_t v) : key(std::move(k)), value(static_cast<double>(v)), integer(true) {}
  std::string key;
  double value;
  bool integer = false;
};
using Numbers = std::vector<Number>;

struct BenchReport {
  std::string command;  // "bench encoder"
  std::string title;    // what was computed, in words
  const Setup& setup;
  const Timing& timing;
  double flops = 0;  // of one call; 0: not counted
  double peak_before = 0;
  Numbers more = {};                                            // further keys of `results`
  std::vector<std::pair<std::string, std::string>> lines = {};  // and further lines of the text
};
// Adds what a run of an encoder is told by: tokens and sequences a second, memory.
void add_rates(BenchReport& report, int64_t tokens, int64_t sequences, int64_t arena_bytes, int64_t weight_bytes);

// Prints the envelope, or a heading and one line per result. The peak is measured again; the larger one counts.
int print_bench(const BenchReport& report, bool json);

// An envelope whose results are isa, threads and these numbers.
void print_numbers(const std::string& command, const Setup& setup, const Numbers& numbers);

}  // namespace saccade::tool
