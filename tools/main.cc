// The `saccade` command: reads the command line, runs one subcommand, turns every end into an exit code.
//   0 done, 1 failure, 2 usage, 3 a check failed, 4 model unusable, 130 interrupted,
//   143 terminated.  Data on stdout, everything else on stderr.
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <new>

#include "tools/command_line.h"
#include "tools/console.h"

namespace saccade::tool {
namespace {

int run(int argc, char** argv) {
  try {
    catch_interrupts();
    return CommandLine().parse_and_run(argc, argv);
  } catch (const Failure& failure) {
    fmt::print(stderr, "saccade: {}\n", failure.what());
    return failure.exit();
  } catch (const Interrupted&) {
    return interrupted();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "saccade: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "saccade: {}\n", error.what());
  }
  return kFailure;
}

}  // namespace
}  // namespace saccade::tool

int main(int argc, char** argv) {
  const int exit = saccade::tool::run(argc, argv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {  // a full disk, for instance
    std::fputs("saccade: cannot write to standard output\n", stderr);
    return saccade::tool::kFailure;
  }
  return exit;
}
