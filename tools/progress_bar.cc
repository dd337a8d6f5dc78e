#include "tools/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/console.h"

namespace saccade::tool {

ProgressBar::ProgressBar(std::string what, std::string unit)
    : what_(std::move(what)), unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (shown_ == begin_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

void ProgressBar::at(int64_t count, double share) {
  constexpr auto kPause = std::chrono::milliseconds(100);  // between two pictures, so that a terminal keeps up
  const auto now = Clock::now();
  if (!terminal_ || now - shown_ < kPause) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::string line = "\r" + what_;
  if (share >= 0) {
    constexpr int kCells = 24;
    const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kCells);
    line += " [";
    for (int cell = 0; cell < kCells; ++cell) line += cell < full ? "█" : "·";
    line += fmt::format("] {:3.0f} %", 100 * share);
  }
  line += fmt::format("  {} {}, {} a second", thousands(static_cast<double>(count)), unit_,
                      thousands(static_cast<double>(count) / seconds));
  if (share > 0) line += ", ETA " + duration_text(seconds * (1 - share) / share);
  fmt::print(stderr, "{}\x1b[K", line);
  std::fflush(stderr);
}

std::string duration_text(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace saccade::tool
