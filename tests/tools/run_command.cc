#include "tests/tools/run_command.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace saccade::test {
namespace {

std::string shell_line(const std::string& arguments, const std::string& environment) {
  const char* command = std::getenv("SACCADE_COMMAND");
  const std::string prefix = command != nullptr && *command != '\0' ? command : SACCADE_COMMAND;
  return "exec env -u SACCADE_FORCE_ISA -u SACCADE_NUM_THREADS -u NO_COLOR " + environment + " " + prefix + " " + arguments;
}

void wait_for(pid_t child, Outcome& outcome) {
  int status = 0;
  rusage usage = {};
  wait4(child, &status, 0, &usage);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.peak_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
}

[[noreturn]] void become(const std::string& line) {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

// Reads both pipes to their end; sends `signal` once, when `ready` says so.
void collect(int out, int err, pid_t child, int signal, std::function<bool(const Outcome&)> ready, Outcome& outcome) {
  std::array<pollfd, 2> fds = {{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::string* const texts[] = {&outcome.out, &outcome.err};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (poll(fds.data(), fds.size(), ready ? 20 : -1) < 0) continue;
    for (size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = read(fds[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<size_t>(count));
      } else {
        close(fds[i].fd);
        fds[i].fd = -1;
      }
    }
    if (ready && ready(outcome)) {
      kill(child, signal);
      ready = nullptr;
    }
  }
}

Outcome run_with_pipes(const std::string& line, int signal, std::function<bool(const Outcome&)> ready) {
  Outcome outcome;
  int out[2], err[2];
  if (pipe(out) != 0 || pipe(err) != 0) return outcome;
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const int fd : {out[0], out[1], err[0], err[1]}) close(fd);
    become(line);
  }
  close(out[1]);
  close(err[1]);
  collect(out[0], err[0], child, signal, std::move(ready), outcome);
  wait_for(child, outcome);
  return outcome;
}

std::vector<std::string> isas(bool supported) {
  static const nlohmann::json results = run_command("info --json").json()["results"];
  const std::vector<std::string> all = results["isas_built"], have = results["isas_supported"];
  std::vector<std::string> chosen;
  for (const std::string& isa : all) {
    if ((std::find(have.begin(), have.end(), isa) != have.end()) == supported) chosen.push_back(isa);
  }
  return chosen;
}

}  // namespace

nlohmann::json Outcome::json() const {
  const nlohmann::json document = nlohmann::json::parse(out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << "no JSON object on stdout:\n" << out << "\nstderr:\n" << err;
  return document.is_object() ? document : nlohmann::json();
}

Outcome run_command(const std::string& arguments, const std::string& environment) {
  return run_with_pipes(shell_line(arguments, environment), 0, nullptr);
}

Outcome run_and_interrupt(const std::string& arguments, int signal, std::function<bool(const Outcome&)> ready) {
  return run_with_pipes(shell_line(arguments, ""), signal, std::move(ready));
}
Outcome run_and_interrupt(const std::string& arguments) {
  return run_and_interrupt(arguments, SIGINT, [](const Outcome& outcome) { return outcome.err.find('\n') != std::string::npos; });
}

Outcome run_on_terminal(const std::string& arguments, const std::string& environment) {
  Outcome outcome;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) become(shell_line(arguments, environment));
  char buffer[4096];
  for (ssize_t count = 0; (count = read(terminal, buffer, sizeof buffer)) > 0;)
    outcome.out.append(buffer, static_cast<size_t>(count));
  close(terminal);
  wait_for(child, outcome);
  return outcome;
}

std::vector<std::string> supported_isas() { return isas(true); }
std::vector<std::string> unsupported_isas() { return isas(false); }

TemporaryFile::TemporaryFile(const std::string& text) {
  const char* folder = std::getenv("TMPDIR");
  path_ = std::string(folder != nullptr ? folder : "/tmp") + "/saccade-test-XXXXXX";
  const int fd = mkstemp(path_.data());
  EXPECT_GE(fd, 0) << path_;
  close(fd);
  std::ofstream(path_, std::ios::binary) << text;
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace saccade::test
