// The `saccade` command: reads the command line, runs one subcommand, turns every end into an exit code.
//   0 done, 1 failure, 2 usage, 3 a check failed, 130 interrupted.  Data on stdout, everything else on stderr.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "saccade/version.h"
#include "tools/command.h"
#include "tools/console.h"

namespace saccade::tool {
namespace {

constexpr const char* kUse =
    "Saccade {}: transformer attention on CPUs, on batches of sequences of any lengths.\n"
    "\n"
    "  saccade demo              a worked example, checked; then an encoder, checked and timed\n"
    "  saccade info              this machine: CPU, ISAs, caches, threads, peak\n"
    "  saccade bench encoder     a whole encoder on lengths of your choice\n"
    "  saccade bench WHAT        one part: matmul, attention, softmax or peak\n"
    "  saccade COMMAND --help    the options of a command\n"
    "\n"
    "Examples:\n"
    "  saccade demo --quick\n"
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

// Validators whose conditions the help texts tell in words.
template <class Number>
CLI::Validator range(Number low, Number high) {
  return CLI::Range(low, high).description("");
}
CLI::Validator existing_file() { return CLI::Validator(CLI::ExistingFile).description(""); }

// One empty line where the parser's help has several, none at the end.
std::string without_gaps(const std::string& help) {
  std::string text;
  for (const char c : help) {
    if (c != '\n' || text.empty() || !text.ends_with("\n\n")) text += c;
  }
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

// Every subcommand sets its options and, when chosen, `run`.
class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("--version", std::string("saccade ") + SACCADE_VERSION, "Print the version");
    app_.footer(
        "\nEnvironment: SACCADE_FORCE_ISA, SACCADE_NUM_THREADS (options win), NO_COLOR.\n"
        "Exit codes: 0 done, 1 failure, 2 usage, 3 a check failed, 130 interrupted.");
    app_.require_subcommand(0, 1);
    app_.get_formatter()->column_width(34);
    add_demo();
    add_info();
    add_bench();
  }

  int parse_and_run(int argc, char** argv) {
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

 private:
  void add_common(CLI::App* command, CommonOptions& options, bool threads = true) {
    command->add_option("--isa", options.isa, "Instruction set: sse2, avx2, avx512 or neon  [best]")
        ->check(CLI::IsMember({"sse2", "avx2", "avx512", "neon"}).description(""))
        ->type_name("NAME")
        ->group("Performance");
    if (threads) {
      command->add_option("--threads", options.threads, "Threads to compute with  [cores within the quota]")
          ->check(range(1, 1024))
          ->type_name("N")
          ->group("Performance");
    }
    command->add_flag("--json", options.json, "One JSON document on stdout")->group("Output");
  }
  void add_repeat(CLI::App* command, BenchOptions& options) {
    command->add_option("--repeat", options.repeat, "Measured repeats")
        ->capture_default_str()
        ->check(range(1, 1000000))
        ->type_name("N")
        ->group("Performance");
  }
  void add_size(CLI::App* command, const char* name, int64_t& value, const char* what) {
    command->add_option(name, value, what)
        ->capture_default_str()
        ->check(range(int64_t{1}, kMaxLength))
        ->type_name("N")
        ->group("Input");
  }

  void add_demo() {
    CLI::App* command = app_.add_subcommand("demo", "A worked example, why scores are scaled, and an encoder: checked and timed");
    command->add_flag("--quick", demo_.quick, "A small encoder (2 layers, 4 sequences), timed once")->group("Input");
    command->add_option("--example", demo_.example, "Another worked example, in the form of tests/data/seed_example.json")
        ->check(existing_file())
        ->type_name("FILE")
        ->group("Input");
    add_common(command, demo_);
    command->footer(
        "\nExamples:\n  saccade demo\n  saccade demo --quick --isa sse2 --json\n\n"
        "Exit code 3: a printed number was not reproduced or a result left its tolerance.");
    command->callback([this] { run_ = [this] { return run_demo(demo_); }; });
  }

  void add_info() {
    CLI::App* command = app_.add_subcommand("info", "This machine: CPU, ISAs, caches, threads, executor, peak and bandwidth");
    add_common(command, info_);
    command->footer("\nExamples:\n  saccade info\n  SACCADE_NUM_THREADS=1 saccade info --json");
    command->callback([this] { run_ = [this] { return run_info(info_); }; });
  }

  void add_bench() {
    CLI::App* bench = app_.add_subcommand("bench", "Time an encoder, attention, matmul, softmax or the FMA peak");
    bench->require_subcommand(1);
    bench->footer(
        "\nExamples:\n  saccade bench encoder --shape bert-base --lengths 12,128,77\n  saccade bench matmul --rows 32 --in 768 "
        "--out 3072 --threads 1");

    CLI::App* encoder = bench->add_subcommand("encoder", "A whole encoder with generated weights, from ids to pooled vectors");
    encoder->add_option("--shape", encoder_.shape, "minilm, bert-base or LAYERS,WIDTH,HEADS,FFN")
        ->capture_default_str()
        ->check(CLI::Validator(
            [](std::string& text) {
              EncoderShape shape;
              std::string error;
              parse_shape(text, shape, error);
              return error;
            },
            "", "shape"))
        ->type_name("SHAPE")
        ->group("Input");
    CLI::Option* lengths =
        encoder->add_option("--lengths", encoder_.lengths, "Tokens of each sequence: 12,128,77  [32 from 8 to 128]")
            ->delimiter(',')
            ->check(range(int64_t{0}, kMaxLength))
            ->type_name("LIST")
            ->group("Input");
    encoder->add_option("--lengths-file", encoder_.lengths_file, "The same from a file, separated by commas or white space")
        ->check(existing_file())
        ->type_name("FILE")
        ->excludes(lengths)
        ->group("Input");
    finish(encoder, encoder_, [this] { return run_bench_encoder(encoder_); });
    encoder->footer(
        "\nExamples:\n  saccade bench encoder --lengths 12,128,77 --threads 1\n  saccade bench encoder --shape 4,256,8,1024 "
        "--lengths-file lengths.txt --json");

    CLI::App* attention = bench->add_subcommand("attention", "attention() on strided f32 inputs");
    add_size(attention, "--batch", attention_.batch, "Sequences");
    add_size(attention, "--heads", attention_.heads, "Heads");
    add_size(attention, "--length", attention_.length, "Queries and keys of each sequence");
    add_size(attention, "--head-dim", attention_.head_dim, "Width of a head");
    attention->add_flag("--causal", attention_.causal, "Key j is seen by queries i >= j")->group("Input");
    finish(attention, attention_, [this] { return run_bench_attention(attention_); });

    CLI::App* matmul = bench->add_subcommand("matmul", "One matrix product with a packed weight: [rows, in] x [in, out]");
    add_size(matmul, "--rows", matmul_.rows, "Rows of the activations");
    add_size(matmul, "--in", matmul_.in, "Columns of the activations");
    add_size(matmul, "--out", matmul_.out, "Columns of the weight");
    finish(matmul, matmul_, [this] { return run_bench_matmul(matmul_); });

    CLI::App* softmax = bench->add_subcommand("softmax", "Softmax of each row of a matrix");
    add_size(softmax, "--rows", softmax_.rows, "Rows");
    add_size(softmax, "--width", softmax_.width, "Numbers of a row");
    finish(softmax, softmax_, [this] { return run_bench_softmax(softmax_); });

    CLI::App* peak = bench->add_subcommand("peak", "The FMA peak: independent chains, 20 samples of 10 ms a repeat");
    peak_.repeat = 1;
    finish(peak, peak_, [this] { return run_bench_peak(peak_); });
  }
  void finish(CLI::App* command, BenchOptions& options, std::function<int()> run) {
    add_repeat(command, options);
    add_common(command, options);
    command->callback([this, run = std::move(run)] { run_ = run; });
  }

  CLI::App app_{"Transformer attention on CPUs, on batches of sequences of any lengths.", "saccade"};
  std::function<int()> run_;
  DemoOptions demo_;
  InfoOptions info_;
  BenchEncoderOptions encoder_;
  BenchAttentionOptions attention_;
  BenchMatmulOptions matmul_;
  BenchSoftmaxOptions softmax_;
  BenchOptions peak_;
};

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
