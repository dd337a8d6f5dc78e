// A bar on stderr with rate and time left; nothing at all unless stderr is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace saccade::tool {

class ProgressBar {
 public:
  // `what` and `unit` for people: "embedding", "texts".
  ProgressBar(std::string what, std::string unit);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `count` units are done, and `share` of all the work; a share below 0 says that the whole is not known.
  void at(int64_t count, double share);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_, unit_;
  const bool terminal_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

// "1:05" of 65 seconds, "2:00:00" of two hours.
std::string duration_text(double seconds);

}  // namespace saccade::tool
