// Saccade's side of the line protocol of bench/peers: one command a line, one answer a line, "ok ..." or "error TEXT". worker.py
// speaks the same for the other runtimes.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "saccade/status.h"

namespace peers {

inline void check(const saccade::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}
template <class T>
T take(saccade::Result<T> result) {
  check(result.status());
  return std::move(*result);
}

template <class T>
std::vector<T> numbers(std::istream& stream) {
  std::vector<T> values;
  for (T value; stream >> value;) values.push_back(value);
  return values;
}

inline void write_floats(const std::string& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

// Seconds of each of `count` calls, for an answer.
inline std::string time_calls(int64_t count, const std::function<void()>& call) {
  std::ostringstream seconds;
  seconds.precision(9);
  for (int64_t i = 0; i < count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    seconds << (i > 0 ? " " : "") << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return seconds.str();
}

// The largest resident size of the process so far, bytes.
inline std::string peak_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    int64_t kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes) return std::to_string(kilobytes * 1024);
  }
  throw std::runtime_error("/proc/self/status has no VmHWM");
}

// Answers every line of standard input with what `answer` gives for it.
inline int serve(const std::function<std::string(const std::string& line)>& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const std::string text = answer(line);
      std::cout << (text.empty() ? "ok" : "ok ") << text << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace peers
