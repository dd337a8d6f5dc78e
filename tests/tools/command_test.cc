// Exit codes, help, usage errors, ISA choice, colours and the JSON envelope of the command.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/run_command.h"

namespace saccade::test {
namespace {

bool one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n'; }

TEST(Command, AloneTellsHowToUseIt) {
  const Outcome alone = run_command("");
  EXPECT_EQ(alone.exit, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_TRUE(contains(alone.out, "Examples:\n  saccade demo"));
  EXPECT_LE(std::count(alone.out.begin(), alone.out.end(), '\n'), 17);
}

TEST(Command, HelpAndVersion) {
  for (const char* command : {"", "demo", "info", "embed", "rerank", "similarity", "tokenize", "inspect", "bench",
                              "bench encoder", "bench attention", "bench matmul", "bench softmax", "bench peak"}) {
    const Outcome help = run_command(std::string(command) + " --help");
    EXPECT_EQ(help.exit, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_TRUE(contains(help.out, "Usage:")) << command;
  }
  EXPECT_TRUE(contains(run_command("bench encoder --help").out, "--lengths-file"));
  const Outcome version = run_command("--version");
  EXPECT_EQ(version.exit, 0);
  EXPECT_EQ(version.out.rfind("saccade 0.", 0), 0u) << version.out;
}

TEST(Command, WrongUseIsExitCode2WithOneLine) {
  for (const char* arguments : {"--nonsense",
                                "nonsense",
                                "demo --qick",
                                "demo extra",
                                "demo --isa nonsense",
                                "demo --threads 0",
                                "demo --threads -1",
                                "demo --threads x",
                                "demo --example /nonexistent/file.json",
                                "info --isa",
                                "bench",
                                "bench nonsense",
                                "bench encoder --shape tiny",
                                "bench encoder --shape 2,64,3,128",
                                "bench encoder --shape 2,64,2",
                                "bench encoder --shape 2,64,2,128,1",
                                "bench encoder --shape 0,64,2,128",
                                "bench encoder --shape 2,-64,2,128",
                                "bench encoder --lengths 12,x",
                                "bench encoder --lengths 12,-1",
                                "bench encoder --lengths 99999999999999999999",
                                "bench encoder --lengths 5 --lengths-file /dev/null",
                                "bench encoder --repeat 0",
                                "bench encoder --shape minilm --model /tmp",
                                "embed",
                                "embed /tmp /nonexistent/texts.txt",
                                "embed /tmp /dev/null extra",
                                "embed /tmp --pooling median",
                                "embed /tmp --format xml",
                                "embed /tmp --max-batch-tokens 0",
                                "embed /tmp --threads 0",
                                "rerank /tmp /dev/null",
                                "similarity",
                                "tokenize",
                                "inspect /tmp extra",
                                "bench matmul --rows 0",
                                "bench attention --head-dim 1.5"}) {
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(one_line(outcome.err)) << arguments << ": " << outcome.err;
    EXPECT_EQ(outcome.err.rfind("saccade: ", 0), 0u) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "--help")) << outcome.err;
  }
}

TEST(Command, UnknownWordsGetASuggestion) {
  EXPECT_TRUE(contains(run_command("demo --qick").err, "did you mean --quick?"));
  EXPECT_TRUE(contains(run_command("demo --thread=2").err, "did you mean --threads?"));
  EXPECT_TRUE(contains(run_command("dmeo").err, "did you mean demo?"));
  EXPECT_TRUE(contains(run_command("bench encodr").err, "did you mean encoder?"));
  EXPECT_FALSE(contains(run_command("demo --zzzzzzzzzz").err, "did you mean"));
}

TEST(Command, IsaIsForcedByOptionThenVariable) {
  for (const std::string& isa : supported_isas()) {
    EXPECT_EQ(run_command("bench peak --threads 1 --json", "SACCADE_FORCE_ISA=" + isa).json()["results"]["isa"], isa);
    EXPECT_EQ(run_command("bench peak --threads 1 --json --isa " + isa).json()["results"]["isa"], isa);
    EXPECT_EQ(run_command("bench peak --threads 1 --json --isa " + isa, "SACCADE_FORCE_ISA=" + supported_isas().back())
                  .json()["results"]["isa"],
              isa);
  }
}

TEST(Command, IsaThatCannotBeHadIsAFailure) {
  std::vector<std::string> names = unsupported_isas();
  names.push_back("nonsense");
  for (const std::string& isa : names) {
    for (const char* command : {"demo --quick", "info", "bench encoder", "bench peak"}) {
      const Outcome outcome = run_command(command, "SACCADE_FORCE_ISA=" + isa);
      EXPECT_EQ(outcome.exit, 1) << command << " on " << isa;
      EXPECT_EQ(outcome.out, "");
      EXPECT_TRUE(one_line(outcome.err) && contains(outcome.err, isa)) << outcome.err;
    }
  }
  for (const std::string& isa : unsupported_isas()) EXPECT_EQ(run_command("demo --quick --isa " + isa).exit, 1) << isa;
}

TEST(Command, ThreadsComeFromOptionThenVariable) {
  EXPECT_EQ(run_command("bench peak --json --threads 2", "SACCADE_NUM_THREADS=1").json()["results"]["threads"], 2);
  EXPECT_EQ(run_command("bench peak --json", "SACCADE_NUM_THREADS=1").json()["results"]["threads"], 1);
  for (const std::string value : {"two", "0", "-1", "1,2", "99999999999"}) {
    const Outcome outcome = run_command("bench peak", "SACCADE_NUM_THREADS=" + value);
    EXPECT_EQ(outcome.exit, 1) << value;
    EXPECT_TRUE(one_line(outcome.err) && contains(outcome.err, "SACCADE_NUM_THREADS " + value)) << outcome.err;
  }
}

TEST(Command, InfoNamesTheMachine) {
  const nlohmann::json document = run_command("info --json").json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["command"], "info");
  EXPECT_TRUE(document["saccade"].is_string());
  EXPECT_TRUE(document["machine"].is_object());
  const nlohmann::json& results = document["results"];
  for (const char* key :
       {"cpu", "isas_built", "isas_supported", "isa", "l1d_bytes", "l2_bytes", "l3_bytes", "logical_cpus", "physical_cores",
        "cpu_quota", "threads", "threads_source", "executor", "onednn", "huge_pages", "peak_gflops", "copy_gbs", "read_gbs"}) {
    EXPECT_TRUE(results.contains(key)) << key;
  }
  EXPECT_GT(results["peak_gflops"], 0.1);
  EXPECT_GT(results["copy_gbs"], 0.01);
  const Outcome text = run_command("info");
  EXPECT_EQ(text.exit, 0);
  for (const char* word : {"cpu", "isas", "caches", "threads", "executor", "oneDNN", "huge pages", "FMA peak", "bandwidth"}) {
    EXPECT_TRUE(contains(text.out, word)) << word;
  }
}

TEST(Command, ColoursOnlyOnATerminal) {
  const std::string escape = "\x1b[", demo = "demo --quick --threads 1";
  const Outcome terminal = run_on_terminal(demo, "TERM=xterm-256color");
  EXPECT_EQ(terminal.exit, 0);
  EXPECT_TRUE(contains(terminal.out, escape + "38;5;255;48;5;"));
  EXPECT_FALSE(contains(run_on_terminal(demo, "TERM=xterm-256color NO_COLOR=1").out, escape + "38;5;"));
  EXPECT_TRUE(contains(run_on_terminal(demo, "TERM=xterm-256color NO_COLOR=").out, escape + "38;5;"));
  EXPECT_FALSE(contains(run_on_terminal(demo, "TERM=dumb").out, escape + "38;5;"));
  EXPECT_FALSE(contains(run_command(demo, "TERM=xterm-256color").out, escape));
}

TEST(Command, FullDiskIsAFailure) {
  const Outcome outcome = run_command("bench peak --threads 1 > /dev/full");
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
}

}  // namespace
}  // namespace saccade::test
