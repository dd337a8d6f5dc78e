// JSON and files of a model directory: what is refused, and that the message names file, key, expected and found.
#include "runtime/model/json.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/graph/check.h"
#include "runtime/model/files.h"

namespace saccade {
namespace {

template <class F>
std::string message_of(F&& f, Code code) {
  const Status status = caught(f);
  EXPECT_EQ(status.code(), code) << status.to_string();
  return status.message();
}

TEST(Json, ReadsValuesAndDefaults) {
  const JsonDocument document("config.json",
                              R"({"a": 3.0, "b": {"c": [1, "x", null, true]}, "n": null, "big": 18446744073709551615})");
  const Json root = document.root();
  EXPECT_EQ(root.at("a").integer(0, 10), 3);
  EXPECT_EQ(root.integer_or("n", 7, 0, 10), 7);
  EXPECT_EQ(root.string_or("absent", "x"), "x");
  const auto list = root.at("b").at("c").elements();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].number(), 1);
  EXPECT_EQ(list[1].string(), "x");
  EXPECT_FALSE(list[2].present());
  EXPECT_TRUE(list[3].boolean());
  EXPECT_EQ(list[1].where(), "config.json: b.c[1]");
  EXPECT_EQ(root.members().size(), 4u);
}

TEST(Json, IntegersBeyond64BitsAreNumbers) {
  const JsonDocument document("tokenizer_config.json", R"({"s": "\"1000000000000000019884624838656\\",
      "model_max_length": 1000000000000000019884624838656, "least": -10000000000000000000, "one": 1})");
  const Json root = document.root();
  EXPECT_EQ(root.at("model_max_length").number(), 1e30);
  EXPECT_EQ(root.at("least").number(), -1e19);
  EXPECT_EQ(root.at("s").string(), "\"1000000000000000019884624838656\\");
  EXPECT_EQ(root.at("one").integer(0, 1), 1);
  (void)message_of([&] { (void)root.at("model_max_length").integer(0, INT64_MAX); }, Code::kCorruptData);
  (void)message_of([] { JsonDocument("f.json", "[10000000000000000000000, 1.]"); }, Code::kCorruptData);
}

TEST(Json, MessagesNameThePlace) {
  const JsonDocument document("config.json", R"({"b": {"c": [1, "x"]}, "i": 1.5, "big": 18446744073709551615})");
  const Json root = document.root();
  EXPECT_EQ(message_of([&] { (void)root.at("b").at("c").elements()[1].number(); }, Code::kCorruptData),
            "config.json: b.c[1]: expected a number, found \"x\"");
  EXPECT_EQ(message_of([&] { (void)root.at("b").at("d"); }, Code::kCorruptData), "config.json: b: the key \"d\" is missing");
  EXPECT_EQ(message_of([&] { (void)root.at("i").integer(0, 9); }, Code::kCorruptData),
            "config.json: i: expected an integer from 0 to 9, found 1.5");
  EXPECT_NE(message_of([&] { (void)root.at("big").integer(0, 9); }, Code::kCorruptData).find("found 18446744073709551615"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)root.at("i").find("x"); }, Code::kCorruptData).find("expected an object, found 1.5"),
            std::string::npos);
}

TEST(Json, RefusesWhatIsNotOneDocument) {
  const std::string deep = std::string(2000, '[') + std::string(2000, ']');
  for (const std::string& bad : {std::string(), std::string("{"), std::string("{} {}"), std::string("{\"a\": 1, \"a\": 2}"),
                                 std::string("{\"x\": {\"a\": 1, \"b\": 0, \"a\": 2}}"), std::string("{\"a\": NaN}"),
                                 std::string("{\"a\": \"\xff\"}"), std::string("\0\0", 2), deep}) {
    const Status status = caught([&] { JsonDocument("f.json", bad); });
    EXPECT_EQ(status.code(), Code::kCorruptData) << bad.substr(0, 40);
    EXPECT_EQ(status.message().substr(0, 8), "f.json: ");
  }
}

TEST(Files, RefusesDirectoriesMissingLargeAndOutside) {
  const std::string folder = std::string(testing::TempDir()) + "saccade_files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/f") << "hello";
  EXPECT_EQ(read_file(folder + "/f", 5), "hello");
  EXPECT_NE(message_of([&] { (void)read_file(folder + "/f", 4); }, Code::kCorruptData).find("5 bytes, expected at most 4"),
            std::string::npos);
  (void)message_of([&] { (void)read_file(folder + "/none", 4); }, Code::kNotFound);
  EXPECT_NE(message_of([&] { (void)read_file(folder, 4); }, Code::kInvalidArgument).find("is a directory"), std::string::npos);
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  (void)message_of([&] { (void)read_file(folder + "/pipe", 4); }, Code::kInvalidArgument);
  for (const char* outside : {"/etc/passwd", "../x", "a/../../x", "..", ""}) {
    (void)message_of([&] { (void)join_path(folder, outside); }, Code::kCorruptData);
  }
  EXPECT_EQ(join_path(folder + "/", "1_Pooling/config.json"), folder + "/1_Pooling/config.json");
  const MappedFile mapped(folder + "/f");
  EXPECT_EQ(mapped.bytes().size(), 5u);
  mapped.release(mapped.bytes().data(), 5);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace saccade
