// What the command says and how: exit codes, errors, tables, colours, progress and interruption.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "saccade/status.h"

namespace saccade::tool {

enum Exit : int { kDone = 0, kFailure = 1, kUsage = 2, kCheckFailed = 3, kModelUnusable = 4, kInterrupted = 130, kTerminated = 143 };

// Ends the command with one line on stderr.
class Failure : public std::runtime_error {
 public:
  Failure(Exit exit, const std::string& message) : std::runtime_error(message), exit_(exit) {}
  Exit exit() const { return exit_; }

 private:
  Exit exit_;
};

// Thrown where SIGINT or SIGTERM was seen; whoever holds results prints them and returns interrupted().
struct Interrupted {};

// The flag that SIGINT and SIGTERM set (a second one kills); runs of the library take it as their stop flag.
void catch_interrupts();
const std::atomic<bool>& stop_flag();
void throw_if_interrupted();
Exit interrupted();  // says so on stderr, after what is there was printed: kInterrupted or kTerminated

// Turns what the library returns into exceptions: kCancelled into Interrupted, other errors into Failure.
void check(const Status& status);
template <class T>
T take(Result<T> result) {
  check(result.status());
  return *std::move(result);
}

// Columns that UTF-8 text takes on a terminal: 2 for East Asian wide characters and emoji, 0 for combining marks.
int display_width(std::string_view text);
// Text from a file without control characters (a terminal would obey them), cut to `columns`.
std::string printable(std::string_view text, int columns = 1000);

// The whole file; a Failure when it cannot be read or holds more than 16 MiB (no list of lengths or worked example does).
std::string read_file(const std::string& file);

// True when stdout is a terminal that shows colours and NO_COLOR is not set.
bool colours();

struct Cell {
  Cell(std::string t) : text(std::move(t)) {}
  Cell(const char* t) : text(t) {}
  Cell(std::string t, std::string s) : text(std::move(t)), style(std::move(s)) {}
  std::string text;
  std::string style;  // ANSI codes, used when colours(): "48;5;24"
};

// A number with a shade for 0 .. 1: a glyph everywhere, and a background where there are colours.
Cell shaded(double value, int decimals);

// The first column is left-aligned, all others are right-aligned.
class TextTable {
 public:
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

// 12345678 -> "12,345,678"
std::string thousands(double value);
// Three significant digits: 0.00123, 1.23, 123
std::string significant(double value);
// 1536 -> "1.5 KiB"
std::string bytes_text(int64_t bytes);

// Says on stderr what is going on once it has taken a second: one line that is rewritten on a terminal, else a plain line that is
// repeated every 10 seconds.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  void at(int64_t done, int64_t total) {
    total_.store(total, std::memory_order_relaxed);
    done_.store(done, std::memory_order_relaxed);
  }

 private:
  void watch();
  void show(bool terminal);

  std::string what_;
  std::atomic<int64_t> done_{0}, total_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace saccade::tool
