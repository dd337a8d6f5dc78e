#include "tools/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "saccade/version.h"
#include "tools/console.h"

namespace saccade::tool {
namespace {

constexpr const char* kUse =
    "Saccade {}: transformer attention on CPUs, on batches of sequences of any lengths.\n"
    "\n"
    "  saccade demo              a worked example, checked; then an encoder, checked and timed\n"
    "  saccade embed DIR FILE    vectors of the lines of a file by a published model; also similarity, rerank, tokenize\n"
    "  saccade inspect DIR       what a published model is: sizes, limits, pooling, memory, plan\n"
    "  saccade info              this machine: CPU, ISAs, caches, threads, peak\n"
    "  saccade bench encoder     a whole encoder on lengths of your choice\n"
    "  saccade bench WHAT        one part: matmul, attention, softmax or peak\n"
    "  saccade COMMAND --help    the options of a command\n"
    "\n"
    "Examples:\n"
    "  saccade demo --quick\n"
    "  saccade embed all-MiniLM-L6-v2 texts.txt --output vectors.npy\n"
    "  saccade bench encoder --shape minilm --lengths 12,128,77 --threads 2\n"
    "  saccade info --json\n";

// Number of single-character changes from a to b.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// "did you mean --threads? " for a word that the parser did not expect, else nothing.
std::string suggestion(const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) known.push_back(sub->get_name());
  const std::string asked = word.substr(0, word.find('='));
  const auto closer = [&](const std::string& a, const std::string& b) {
    return edit_distance(asked, a) < edit_distance(asked, b);
  };
  const auto best = std::min_element(known.begin(), known.end(), closer);
  if (best == known.end() || edit_distance(asked, *best) > std::max<size_t>(2, best->size() / 3)) return "";
  return "did you mean " + *best + "? ";
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  std::string what = error.what();
  std::string hint;
  if (const std::vector<std::string> extra = command->remaining(); !extra.empty()) {
    what = fmt::format("unexpected '{}'", printable(extra.front(), 60));
    hint = suggestion(*command, extra.front());
  }
  std::replace(what.begin(), what.end(), '\n', ' ');
  fmt::print(stderr, "saccade: {}; {}see {} --help\n", printable(what, 300), hint, path);
  return kUsage;
}

// One empty line where the parser's help has several, none at the end.
std::string without_gaps(const std::string& help) {
  std::string text;
  for (const char c : help) {
    if (c != '\n' || text.empty() || !text.ends_with("\n\n")) text += c;
  }
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace

CommandLine::CommandLine() : app_("Transformer attention on CPUs, on batches of sequences of any lengths.", "saccade") {
  app_.set_version_flag("--version", std::string("saccade ") + SACCADE_VERSION, "Print the version");
  app_.footer(
      "\nEnvironment: SACCADE_FORCE_ISA, SACCADE_NUM_THREADS (options win), NO_COLOR.\n"
      "Exit codes: 0 done, 1 failure, 2 usage, 3 a check failed, 4 model unusable, 130 interrupted, 143 terminated.");
  app_.require_subcommand(0, 1);
  app_.get_formatter()->column_width(34);
  add_demo();
  add_info();
  add_embed();
  add_rerank();
  add_similarity();
  add_tokenize();
  add_inspect();
  add_bench();
}

int CommandLine::parse_and_run(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}\n", without_gaps(app_.help()));
    return kDone;
  } catch (const CLI::Success& success) {
    return app_.exit(success);  // --version
  } catch (const CLI::ParseError& error) {
    return usage_error(app_, error);
  }
  if (run_) return run_();
  fmt::print(fmt::runtime(kUse), SACCADE_VERSION);
  return kDone;
}

}  // namespace saccade::tool
