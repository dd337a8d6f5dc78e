// `saccade bench`: keys, types, lengths from options and files, interruption.
#include <gtest/gtest.h>

#include "tests/tools/run_command.h"

namespace saccade::test {
namespace {

using nlohmann::json;

const std::string kShape = "bench encoder --shape 1,32,2,64 --threads 1 --json ";
const std::string kTiny = kShape + "--repeat 2 ";

TEST(Bench, EncoderHasItsKeys) {
  const Outcome outcome = run_command(kTiny + "--lengths 12,0,77,1");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  const json document = outcome.json();
  EXPECT_EQ(document["command"], "bench encoder");
  const json& results = document["results"];
  for (const char* key : {"seconds_min", "seconds_median", "useful_tokens_per_second", "gflops"}) {
    EXPECT_TRUE(results[key].is_number_float()) << key;
    EXPECT_GT(results[key], 0.0) << key;
  }
  for (const char* key : {"arena_bytes", "peak_rss_bytes", "threads"}) {
    EXPECT_TRUE(results[key].is_number_integer()) << key;
    EXPECT_GT(results[key], 0) << key;
  }
  EXPECT_TRUE(results["isa"].is_string());
  EXPECT_LE(results["seconds_min"], results["seconds_median"]);
  EXPECT_EQ(results["tokens"], 90);
  EXPECT_EQ(results["sequences"], 4);
}

TEST(Bench, OtherPartsHaveTheirKeys) {
  for (const char* part : {"matmul --rows 7 --in 40 --out 50", "attention --batch 2 --heads 2 --length 33 --head-dim 20",
                           "attention --batch 1 --heads 1 --length 9 --head-dim 8 --causal", "softmax --rows 3 --width 17"}) {
    const Outcome outcome = run_command(std::string("bench ") + part + " --repeat 2 --threads 2 --json");
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    const json results = outcome.json()["results"];
    for (const char* key : {"seconds_min", "seconds_median", "peak_gflops"}) EXPECT_GT(results[key], 0.0) << part << ": " << key;
    EXPECT_EQ(results["threads"], 2);
    EXPECT_EQ(results.contains("gflops"), std::string(part).rfind("softmax", 0) != 0) << part;
  }
  const json peak = run_command("bench peak --json --threads 1").json()["results"];
  EXPECT_GT(peak["peak_gflops"], 0.1);
}

TEST(Bench, TextNamesThePeak) {
  const Outcome outcome = run_command("bench matmul --rows 64 --in 64 --out 64 --repeat 2 --threads 1");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("% of the FMA peak"), std::string::npos) << outcome.out;
}

TEST(Bench, LengthsComeFromAFile) {
  const TemporaryFile file("3, 4\n5\t6\n\n7");
  EXPECT_EQ(run_command(kTiny + "--lengths-file " + file.path()).json()["results"]["tokens"], 25);
  EXPECT_EQ(run_command(kTiny + "--lengths 0,0").json()["results"]["tokens"], 0);
  EXPECT_EQ(run_command(kTiny + "--lengths 0,0").exit, 0);
}

TEST(Bench, RefusesBadLengthsFiles) {
  for (const char* text : {"", " \n", "3,x", "3,-1", "3.5", "99999999999999999999", "1048577"}) {
    const TemporaryFile file(text);
    const Outcome outcome = run_command(kTiny + "--lengths-file " + file.path());
    EXPECT_EQ(outcome.exit, 1) << text;
    EXPECT_EQ(outcome.out, "") << text;
    EXPECT_NE(outcome.err.find(file.path()), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(run_command(kTiny + "--lengths-file /dev/zero").exit, 1);
}

TEST(Bench, AnInterruptPrintsWhatIsThere) {
  const Outcome outcome = run_and_interrupt(kShape + "--lengths 12,77 --repeat 1000000");
  EXPECT_EQ(outcome.exit, 130);
  EXPECT_NE(outcome.err.find("encoding"), std::string::npos) << outcome.err;  // the progress line
  const json results = outcome.json()["results"];
  EXPECT_GT(results["seconds_min"], 0.0);
  EXPECT_LT(results["repeats"], 1000000);
}

}  // namespace
}  // namespace saccade::test
