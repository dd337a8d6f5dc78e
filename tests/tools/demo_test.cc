// `saccade demo`: what it computes, that it notices wrong numbers, and that bad files are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/tools/run_command.h"

namespace saccade::test {
namespace {

using nlohmann::json;

json seed_example() { return json::parse(std::ifstream(std::string(SACCADE_TEST_DATA) + "/seed_example.json")); }

void expect_reproduced(const json& results) {
  const json& seed = results["seed_example"];
  EXPECT_EQ(seed["printed"], 123);
  EXPECT_EQ(seed["reproduced"], 123);
  EXPECT_LE(seed["max_error"], 1e-6);
  const std::pair<const char*, int> groups[] = {{"entry", 100}, {"shape", 10}, {"simulation", 13}};
  for (const auto& [group, count] : groups) {
    EXPECT_EQ(seed[group]["printed"], count) << group;
    EXPECT_EQ(seed[group]["reproduced"], count) << group;
  }
  const json want = seed_example()["simulation"]["rows"];
  ASSERT_EQ(results["scaling"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const json& row = results["scaling"][i];
    EXPECT_EQ(row["d"], want[i]["d"]);
    EXPECT_NEAR(row["std"], want[i]["std_sampled"], 1e-5);
    EXPECT_NEAR(row["std_theory"], want[i]["std_theory"], 1e-6);
    EXPECT_NEAR(row["unscaled"], want[i]["max_weight_unscaled"], 1e-5);
    EXPECT_NEAR(row["scaled"], want[i]["max_weight_scaled"], 1e-5);
  }
  EXPECT_LE(results["encoder"]["max_error"], 1e-5);
}

// Everything that is neither a time nor a rate.
json lasting(json results) {
  results.erase("peak_gflops");
  for (const char* key : {"seconds", "padded_seconds", "useful_tokens_per_second", "gflops"}) {
    EXPECT_GT(results["encoder"][key], 0.0) << key;
    results["encoder"].erase(key);
  }
  return results;
}

TEST(Demo, ReproducesEveryNumberOnEveryIsa) {
  for (const std::string& isa : supported_isas()) {
    SCOPED_TRACE(isa);
    const Outcome outcome = run_command("demo --quick --json --isa " + isa);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    const json document = outcome.json();
    EXPECT_EQ(document["command"], "demo");
    EXPECT_EQ(document["results"]["isa"], isa);
    expect_reproduced(document["results"]);
    EXPECT_EQ(document["results"]["encoder"]["padded_tokens"], 4 * 32);
    EXPECT_LT(document["results"]["encoder"]["tokens"], 4 * 32);
  }
}

TEST(Demo, SameResultsAgainAndWithOtherThreads) {
  const json one = lasting(run_command("demo --quick --json --threads 1").json()["results"]);
  EXPECT_EQ(one, lasting(run_command("demo --quick --json --threads 1").json()["results"]));
  json three = lasting(run_command("demo --quick --json --threads 3").json()["results"]);
  EXPECT_EQ(three["threads"], 3);
  three["threads"] = 1;
  EXPECT_EQ(one, three);
}

TEST(Demo, TextShowsTablesAndCounts) {
  const Outcome outcome = run_command("demo --quick");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* part : {"<PAD>", "Attention weights", "0.334 ▒▒", "reproduced: 123 of 123", "entry 100 of 100",
                           "shape 10 of 10", "simulation 13 of 13", "2.83", "published", "0.70", "padded", "GFLOP/s"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

TEST(Demo, ReadsAnotherExample) {
  const Outcome outcome = run_command(std::string("demo --quick --json --example ") + SACCADE_TEST_DATA + "/seed_example.json");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  expect_reproduced(outcome.json()["results"]);
}

// The file with `change` made is run; the change must be noticed, by the printed numbers or only by the expected values.
void expect_noticed(const std::string& weight, size_t row, size_t column, bool by_printed_numbers) {
  json example = seed_example();
  example[weight][row][column] = example[weight][row][column].get<double>() + 1.0 / 16;
  const TemporaryFile file(example.dump());
  const Outcome outcome = run_command("demo --quick --json --example " + file.path());
  EXPECT_EQ(outcome.exit, 3);
  const json seed = outcome.json()["results"]["seed_example"];
  EXPECT_EQ(seed["printed"], 123);
  EXPECT_EQ(seed["reproduced"] != 123, by_printed_numbers);
  EXPECT_GT(seed["max_error"], 1e-3);
  EXPECT_NE(outcome.err.find("check failed"), std::string::npos) << outcome.err;
}

TEST(Demo, NoticesAChangedQueryWeight) { expect_noticed("Wq", 0, 0, true); }
TEST(Demo, NoticesAChangedValueWeightBesideThePrintedColumns) { expect_noticed("Wv", 0, 7, false); }

TEST(Demo, NoticesAPrintedNumberThatIsWrong) {
  json example = seed_example();
  for (json& entry : example["printed"]) {
    if (entry["name"] == "exp_of_fill") entry["value"] = 0.1;
  }
  const TemporaryFile file(example.dump());
  const Outcome outcome = run_command("demo --quick --json --example " + file.path());
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.json()["results"]["seed_example"]["entry"]["reproduced"], 99);
}

TEST(Demo, ReadsTheShapeOfTheSimulation) {
  json example = seed_example();
  json shape = {{"name", "max_weight_scaled"}, {"group", "shape"}};
  shape["indices"] = json::array({0});
  shape["value"] = json::array({3});
  example["printed"].insert(example["printed"].begin(), shape);
  const TemporaryFile file(example.dump());
  const Outcome outcome = run_command("demo --quick --example " + file.path());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
}

TEST(Demo, RefusesBrokenFiles) {
  const json good = seed_example();
  std::vector<std::string> texts = {"", "nonsense", "[]", "{}", "null", good.dump() + "x", good.dump().substr(0, 5000)};
  const auto broken = [&](const char* pointer, const json& value) {
    json example = good;
    example[json::json_pointer(pointer)] = value;
    texts.push_back(example.dump());
  };
  broken("/X", 5);
  broken("/X/1", json::array({1, 2}));
  broken("/X/0/0", "one");
  broken("/X", json::array());
  broken("/Wq", json::array({{1, 2}, {3, 4}}));
  broken("/Wk/7", json::array());
  broken("/tokens", json::array({"a"}));
  broken("/tokens/0", 1);
  broken("/pad_mask/0", 2);
  broken("/pad_mask/0", -1);
  broken("/pad_mask", "11100");
  broken("/mask_fill", nullptr);
  broken("/expected/scores", json::array({{1.0}}));
  broken("/expected", json::array());
  broken("/printed", 3);
  broken("/printed/0/name", "nothing");
  broken("/printed/0/indices", json::array({0, 8}));
  broken("/printed/0/indices", json::array({-1, 0}));
  broken("/printed/0/indices", json::array({0}));
  broken("/printed/0/value", "1.46");
  broken("/printed/0/group", "other");
  broken("/printed/0", 0);
  for (const std::string& text : texts) {
    const TemporaryFile file(text);
    const Outcome outcome = run_command("demo --quick --json --example " + file.path());
    const std::string what = "file of " + std::to_string(text.size()) + " bytes: " + outcome.err;
    EXPECT_EQ(outcome.exit, 1) << what;
    EXPECT_EQ(outcome.out, "") << what;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what;
    EXPECT_NE(outcome.err.find(file.path()), std::string::npos) << what;
  }
}

TEST(Demo, TokensCannotCommandTheTerminal) {
  json example = seed_example();
  example["tokens"][0] = "\x1b[31mred\x1b[0m";
  const TemporaryFile file(example.dump());
  const Outcome outcome = run_command("demo --quick --example " + file.path());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

TEST(Demo, AnExampleWithNothingLive) {
  json example = seed_example();
  example["pad_mask"] = {0, 0, 0, 0, 0};
  const TemporaryFile file(example.dump());
  EXPECT_EQ(run_command("demo --quick --json --example " + file.path()).exit, 3);
}

TEST(Demo, FullSize) {
  const Outcome outcome = run_command("demo --json");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  const json results = outcome.json()["results"];
  expect_reproduced(results);
  EXPECT_EQ(results["encoder"]["padded_tokens"], 32 * 128);
}

}  // namespace
}  // namespace saccade::test
