#include "tools/console.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace saccade::tool {
namespace {

std::atomic<bool> stop{false}, terminated{false};
static_assert(std::atomic<bool>::is_always_lock_free, "written by a signal handler");

// One code point of UTF-8 at `i`, which moves past it; U+FFFD for a byte that starts none.
char32_t next_code_point(std::string_view text, size_t& i) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(i++);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
  if (more == 0 || first >= 0xf8 || i + static_cast<size_t>(more) > text.size()) return 0xfffd;
  char32_t code = first & (0x3fu >> more);
  for (int k = 0; k < more; ++k) {
    if ((byte(i + static_cast<size_t>(k)) & 0xc0) != 0x80) return 0xfffd;
    code = code << 6 | (byte(i + static_cast<size_t>(k)) & 0x3fu);
  }
  i += static_cast<size_t>(more);
  return code;
}

// East Asian Width W and F (Unicode Annex 11), in the blocks that terminals draw two columns wide.
bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf && c != 0x303f) || (c >= 0xac00 && c <= 0xd7a3) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
         (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
}

bool is_zero_width(char32_t c) {
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f) ||
         (c >= 0x20d0 && c <= 0x20ff);
}

int columns_of(char32_t c) { return is_zero_width(c) ? 0 : is_wide(c) ? 2 : 1; }

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) {
    if (signal == SIGTERM) terminated.store(true, std::memory_order_relaxed);
    stop.store(true, std::memory_order_relaxed);
  };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& stop_flag() { return stop; }

void throw_if_interrupted() {
  if (stop.load(std::memory_order_relaxed)) throw Interrupted{};
}

Exit interrupted() {
  const bool by_term = terminated.load(std::memory_order_relaxed);
  fmt::print(stderr, "saccade: {}\n", by_term ? "terminated" : "interrupted");
  return by_term ? kTerminated : kInterrupted;
}

void check(const Status& status) {
  if (status.ok()) return;
  if (status.code() == Code::kCancelled) throw Interrupted{};
  throw Failure(kFailure, status.to_string());
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size();) width += columns_of(next_code_point(text, i));
  return width;
}

std::string printable(std::string_view text, int columns) {
  std::string out;
  int width = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char32_t c = next_code_point(text, i);
    width += columns_of(c);
    if (width > columns) return out + "…";
    if (is_control(c) || c == 0xfffd) {
      out += '?';
    } else {
      out += text.substr(begin, i - begin);
    }
  }
  return out;
}

std::string read_file(const std::string& file) {
  constexpr size_t kLimit = size_t{16} << 20;
  std::ifstream stream(file, std::ios::binary);
  std::string text(kLimit + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.eof()) throw Failure(kFailure, printable(file) + (stream ? ": more than 16 MiB" : ": cannot be read"));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

bool colours() {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb" &&
         (no_color == nullptr || *no_color == '\0');
}

Cell shaded(double value, int decimals) {
  constexpr const char* kGlyphs[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  constexpr int kBackgrounds[] = {234, 17, 19, 26, 39};  // dark blue to light blue, in the 6 x 6 x 6 cube
  const int level = value > 0 ? std::clamp(static_cast<int>(std::ceil(value * 4)), 1, 4) : 0;
  return {fmt::format("{:.{}f} {}", value, decimals, kGlyphs[level]), fmt::format("38;5;255;48;5;{}", kBackgrounds[level])};
}

void TextTable::print() const {
  std::vector<int> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(row[c].text));
  }
  const bool paint = colours();
  for (const auto& row : rows_) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string gap(static_cast<size_t>(widths[c] - display_width(row[c].text)), ' ');
      std::string text = c == 0 ? row[c].text + gap : gap + row[c].text;
      if (paint && !row[c].style.empty()) text = fmt::format("\x1b[{}m{}\x1b[0m", row[c].style, text);
      line += (c == 0 ? " " : "  ") + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

std::string thousands(double value) {
  const std::string digits = fmt::format("{:.0f}", std::fabs(value));
  std::string text = value < 0 ? "-" : "";
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string significant(double value) {
  if (!std::isfinite(value) || value == 0) return fmt::format("{}", value);
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  if (magnitude < -4) return fmt::format("{:.2e}", value);
  return fmt::format("{:.{}f}", value, std::clamp(2 - magnitude, 0, 6));
}

std::string bytes_text(int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{} {}", value < 1000 ? fmt::format("{:.4g}", std::round(value * 10) / 10) : fmt::format("{:.0f}", value),
                     units[unit]);
}

Progress::Progress(std::string what) : what_(std::move(what)), thread_([this] { watch(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::watch() {
  using namespace std::chrono_literals;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::unique_lock lock(mutex_);
  bool shown = false;
  for (auto pause = std::chrono::milliseconds(1s); !wake_.wait_for(lock, pause, [&] { return finished_; });) {
    show(terminal);
    shown = true;
    pause = terminal ? std::chrono::milliseconds(500ms) : std::chrono::milliseconds(10s);
  }
  if (shown && terminal) fmt::print(stderr, "\r\x1b[K");
}

void Progress::show(bool terminal) {
  const int64_t total = total_.load(std::memory_order_relaxed);
  const std::string count = total == 0 ? "" : fmt::format(" {}/{}", done_.load(std::memory_order_relaxed), total);
  fmt::print(stderr, "{}{}{} ...{}", terminal ? "\r" : "", what_, count, terminal ? "\x1b[K" : "\n");
  std::fflush(stderr);
}

}  // namespace saccade::tool
