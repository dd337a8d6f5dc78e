// Times shapes of two modules (compare_shapes.cc) in one process, turn by turn: what the machine does to one of them it does to
// the other a few milliseconds later.
//   compare_turns BASE.so CHANGED.so THREADS SECONDS STARTS     lines "NAME: WORDS" on standard input
// Each shape gets SECONDS, shared by STARTS processes, whose memory lies differently. Exit code 3: some shape is slower by more
// than 2 %, its whole 95 % bootstrap interval above 1.02.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr double kTurnSeconds = 0.010;  // or one call of what takes longer

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Module {
  void* shape = nullptr;
  bool (*run)(void*) = nullptr;

  bool load(const std::string& path, const std::string& words, int threads) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), false;
    const auto make = reinterpret_cast<void* (*)(const char*, int)>(dlsym(library, "make_shape"));
    run = reinterpret_cast<bool (*)(void*)>(dlsym(library, "run_shape"));
    if (make == nullptr || run == nullptr)
      return std::fprintf(stderr, "%s: not a module of bench/compare\n", path.c_str()), false;
    shape = make(words.c_str(), threads);
    return shape != nullptr;
  }
  // Seconds of a call; the first one finds the caches full of the other module's data and is left out where there are several.
  double turn(int calls) const {
    if (calls > 1) must_run();
    const double begin = now();
    for (int i = 0; i < calls; ++i) must_run();
    return (now() - begin) / calls;
  }
  void must_run() const {
    if (!run(shape)) std::_Exit(1);
  }
};

struct Pair {
  double base, changed;
};

// In a process of its own, whose pairs come through a pipe; empty when something failed.
std::vector<Pair> pairs_of(const char* const modules[2], const std::string& words, int threads, double seconds, int start) {
  int ends[2];
  if (pipe(ends) != 0) return std::perror("pipe"), std::vector<Pair>();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Module both[2];
    for (int i : {start % 2, 1 - start % 2}) {  // who is loaded first changes too
      if (!both[i].load(modules[i], words, threads)) std::_Exit(1);
      both[i].turn(2);
    }
    double fastest = both[0].turn(1);
    for (int i = 0; i < 4; ++i) fastest = std::min(fastest, both[0].turn(1));
    const int calls = std::max(1, static_cast<int>(kTurnSeconds / fastest));
    const double end = now() + seconds;
    for (int round = 0; round == 0 || now() < end; ++round) {
      double time[2];
      for (int i : {round % 2, 1 - round % 2}) time[i] = both[i].turn(calls);
      const Pair pair{time[0], time[1]};
      if (write(ends[1], &pair, sizeof pair) != sizeof pair) std::_Exit(1);
    }
    std::_Exit(0);
  }
  close(ends[1]);
  std::vector<Pair> pairs;
  for (Pair pair; child > 0 && read(ends[0], &pair, sizeof pair) == sizeof pair;) pairs.push_back(pair);
  close(ends[0]);
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "%s: its process ended with status %#x\n", words.c_str(), static_cast<unsigned>(status));
    return {};
  }
  return pairs;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Prints the shape's line; whether it is slower. The interval draws starts and then pairs within them: pairs of one start share
// where memory lies.
bool report(const std::string& name, const std::vector<std::vector<Pair>>& starts) {
  std::vector<double> base, changed, ratio;
  for (const auto& pairs : starts) {
    for (const Pair& pair : pairs) {
      base.push_back(pair.base), changed.push_back(pair.changed), ratio.push_back(pair.changed / pair.base);
    }
  }
  std::minstd_rand engine(1);
  std::vector<double> medians;
  for (int draw = 0; draw < 1000; ++draw) {
    std::vector<double> drawn;
    for (size_t s = 0; s < starts.size(); ++s) {
      const std::vector<Pair>& pairs = starts[engine() % starts.size()];
      for (size_t i = 0; i < pairs.size(); ++i) {
        const Pair& pair = pairs[engine() % pairs.size()];
        drawn.push_back(pair.changed / pair.base);
      }
    }
    medians.push_back(median(std::move(drawn)));
  }
  std::sort(medians.begin(), medians.end());
  const double low = medians[25], high = medians[974];
  std::printf("%-28s %10.3f %10.3f %8.3f   %.3f - %.3f %6zu  %s\n", name.c_str(), median(base) * 1e3, median(changed) * 1e3,
              median(ratio), low, high, ratio.size(),
              low > 1.02    ? "slower"
              : high < 0.98 ? "faster"
                            : "");
  std::fflush(stdout);
  return low > 1.02;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "usage: compare_turns BASE.so CHANGED.so THREADS SECONDS STARTS\n"), 2;
  const char* const modules[2] = {argv[1], argv[2]};
  const int threads = std::atoi(argv[3]), starts = std::atoi(argv[5]);
  const double seconds = std::atof(argv[4]) / starts;
  std::printf("%-28s %10s %10s %8s   %s\n", ("shape, threads: " + std::to_string(threads)).c_str(), "base, ms", "changed",
              "ratio", "95 % interval, pairs");
  bool slower = false;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) return std::fprintf(stderr, "no NAME: WORDS: %s\n", line.c_str()), 2;
    std::vector<std::vector<Pair>> pairs;
    for (int start = 0; start < starts; ++start) {
      pairs.push_back(pairs_of(modules, line.substr(colon + 2), threads, seconds, start));
      if (pairs.back().empty()) return 1;
    }
    slower |= report(line.substr(0, colon), pairs);
  }
  return slower ? 3 : 0;
}
