// Megabytes of text per second through a tokenizer on one thread: tokenizer_bench DIR FILE [SECONDS]. The texts are the file's
// paragraphs (parts between empty lines), special tokens included. bench/peers/tokenizer.py runs the published library beside it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "saccade/tokenizer.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tokenizer_bench DIR FILE [SECONDS]\n");
    return 2;
  }
  const auto tokenizer = saccade::Tokenizer::load(argv[1]);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s\n", tokenizer.status().to_string().c_str());
    return 4;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string_view> texts;
  size_t bytes = 0;
  for (size_t from = 0; from < content.size();) {
    const size_t to = std::min(content.find("\n\n", from), content.size());
    if (to > from) texts.push_back(std::string_view(content).substr(from, to - from));
    bytes += to - from;
    from = to + 2;
  }
  if (bytes == 0) {
    std::fprintf(stderr, "%s: no text\n", argv[2]);
    return 1;
  }

  // Best of samples of at least 10 ms.
  const double seconds = argc > 3 ? std::strtod(argv[3], nullptr) : 1;
  double best = 0;
  size_t tokens = 0;
  saccade::Tokens out;
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (const auto begin = Clock::now(); since(begin) < seconds;) {
    const auto start = Clock::now();
    int rounds = 0;
    do {
      tokens = 0;
      for (const std::string_view text : texts) {
        if (!tokenizer->encode(text, {}, out).ok()) return 1;
        tokens += out.ids.size();
      }
      ++rounds;
    } while (since(start) < 0.01);
    best = std::max(best, static_cast<double>(bytes) * rounds / since(start));
  }
  std::printf("%s: %zu texts, %zu bytes, %zu tokens: %.1f MB/s\n", tokenizer->model().c_str(), texts.size(), bytes, tokens,
              best / 1e6);
  return 0;
}
