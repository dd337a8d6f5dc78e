// Runs the `saccade` command as a child process and collects what it says.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace saccade::test {

struct Outcome {
  int exit = -1;  // 128 + signal when a signal ended it
  std::string out, err;
  int64_t peak_rss_bytes = 0;
  // The JSON document on stdout; a test failure and null when there is none.
  nlohmann::json json() const;
};

// `arguments` and `environment` ("NO_COLOR=1 TERM=xterm") are words for the shell.
Outcome run_command(const std::string& arguments, const std::string& environment = "");
// The same with stdout and stderr on a terminal; both come back in `out`.
Outcome run_on_terminal(const std::string& arguments, const std::string& environment);
// The same, with SIGINT sent when the first line has arrived on stderr.
Outcome run_and_interrupt(const std::string& arguments);
// The same, with that signal sent when `ready` says so; it is asked often.
Outcome run_and_interrupt(const std::string& arguments, int signal, std::function<bool(const Outcome&)> ready);

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ISAs of this build that the CPU supports, and those that it lacks, as `saccade info` names them.
std::vector<std::string> supported_isas();
std::vector<std::string> unsupported_isas();

// A file in the temporary directory that is removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace saccade::test
