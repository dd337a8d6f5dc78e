// Ids, type ids and special masks, compared with what the published `tokenizers` library made of the same files and strings
// (tests/data/tokenizers, made by make_tokenizer_data.py).
#include "tests/model/tokenizer_support.h"

namespace saccade {
namespace {

using namespace tokenizer_test;
// Where tools/get_model puts the real one when asked to: it is not part of the repository.
const std::string kMiniLm = SACCADE_TEST_DATA "/../../build/models/all-MiniLM-L6-v2";

// Code points but surrogates, with an "a", a blank or nothing between: all of them, 128 to a string, up to where scripts and
// symbols end, then some of every plane.
std::vector<std::string> make_sweep() {
  std::vector<std::string> all;
  const auto add = [&](char32_t first, char32_t end, char32_t size, char32_t step) {
    for (; first < end; first += step) {
      std::string& text = all.emplace_back();
      for (char32_t c = first; c < first + size; ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        append_char(text, c);
        if (c % 3 < 2) text += c % 3 == 0 ? 'a' : ' ';
      }
    }
  };
  add(0, 0x32400, 128, 128);
  add(0xE0000, 0xE0200, 128, 128);
  add(0x32400, 0x110000, 4096, 0x10000);
  return all;
}

const std::vector<std::string>& sweep() {
  static const std::vector<std::string> all = make_sweep();
  return all;
}

// CRC-32 (reflected, polynomial EDB88320): of each one the ids, then type and mask of each token; folded to 16 bits.
uint16_t digest(const std::vector<Tokens>& all) {
  static const std::vector<uint32_t> table = [] {
    std::vector<uint32_t> entries(256);
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t entry = i;
      for (int bit = 0; bit < 8; ++bit) entry = entry >> 1 ^ (entry & 1) * 0xEDB88320;
      entries[i] = entry;
    }
    return entries;
  }();
  uint32_t crc = ~uint32_t{0};
  const auto add = [&](uint32_t byte) { crc = crc >> 8 ^ table[(crc ^ byte) & 255]; };
  for (const Tokens& tokens : all) {
    for (const int32_t id : tokens.ids) {
      for (int shift = 0; shift < 32; shift += 8) add(static_cast<uint32_t>(id) >> shift & 255);
    }
    for (size_t i = 0; i < tokens.ids.size(); ++i) add(static_cast<uint32_t>(tokens.type_ids[i] << 1 | tokens.special[i]));
  }
  crc = ~crc;
  return static_cast<uint16_t>(crc >> 16 ^ (crc & 0xFFFF));
}

// The tokenizer.json of a case: its base with the changes (make_tokenizer_data.py: apply).
std::string document_of(const json& test) {
  json document = tokenizer_test::document(test["base"]);
  for (const auto& [key, value] : test["changes"].items()) {
    json& vocabulary = document["model"]["vocab"];
    if (key == "model") {
      document["model"].update(value);
    } else if (key == "bytes") {
      for (int byte = 0; byte < 256; ++byte) {
        char piece[8];
        std::snprintf(piece, sizeof(piece), "<0x%02X>", byte);
        if (vocabulary.is_array()) {
          vocabulary.push_back({piece, -30.0});
        } else {
          vocabulary[piece] = vocabulary.size();
        }
      }
    } else {
      document[key] = value;
    }
  }
  std::string text = document.dump();
  const std::string mark = R"("precompiled_charsmap":"@")";
  if (const size_t at = text.find(mark); at != std::string::npos) {
    const json charsmap = tokenizer_test::document("unigram")["normalizer"]["precompiled_charsmap"];
    text.replace(at, mark.size(), R"("precompiled_charsmap":)" + charsmap.dump());
  }
  return text;
}

// Compares everything in NAME.out. At most five differences are printed.
void compare(const Tokenizer& tokenizer, const std::string& name, bool full) {
  Reader expected(content_of(kData + name + ".out"));
  int wrong = 0;
  const auto check = [&](const std::vector<Tokens>& all, const std::string& text) {
    if (expected.hash() == digest(all) || ++wrong > 5) return;
    std::string got;
    for (const Tokens& tokens : all) got += "\n  " + shown(tokens);
    ADD_FAILURE() << name << ": " << shown(text) << " gives" << got;
  };
  const size_t count = strings().size();
  for (size_t i = 0; i < count; i += 2) {  // two strings to a hash
    std::vector<Tokens> two{encoded(tokenizer, strings()[i])};
    if (i + 1 < count) two.push_back(encoded(tokenizer, strings()[i + 1]));
    check(two, strings()[i] + " | " + (i + 1 < count ? strings()[i + 1] : ""));
  }
  for (const std::string& text : sweep()) check({encoded(tokenizer, text)}, text);
  constexpr size_t kPairs = 1200;
  for (size_t i = 0; i < kPairs; ++i) {
    const std::string &first = strings()[i * 7919 % count], &second = strings()[(i * 104729 + 5) % count];
    const TokenizeOptions options{
        .special_tokens = i % 11 != 0, .max_length = static_cast<int64_t>(4 + i % 29), .truncate = true};
    std::vector<Tokens> two(2);
    EXPECT_TRUE(tokenizer.encode_pair(first, second, options, two[0]).ok());
    EXPECT_TRUE(tokenizer.encode(first, options, two[1]).ok());
    check(two, first + " | " + second);
  }
  for (size_t i = 0; full && i < count; ++i) {
    std::vector<int32_t> ids(expected.varint());
    for (int32_t& id : ids) id = static_cast<int32_t>(expected.varint());
    const Tokens tokens = encoded(tokenizer, strings()[i]);
    if (tokens.ids == ids || ++wrong > 10) continue;
    ADD_FAILURE() << name << ": " << shown(strings()[i]) << "\n gives    " << shown(tokens) << "\n expected "
                  << json(ids).dump().substr(0, 600);
  }
  EXPECT_TRUE(expected.at_end());
  EXPECT_EQ(wrong, 0) << name;
}

json all_cases() { return json::parse(content_of(kData + "cases.json")); }

class Parity : public testing::TestWithParam<json> {};
TEST_P(Parity, SameIdsAsTheLibrary) {
  const json& test = GetParam();
  const std::string name = test["name"];
  const Folder folder(name);
  folder.write("tokenizer.json", document_of(test));
  const auto tokenizer = Tokenizer::load(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  compare(*tokenizer, name, test["full"]);
}
INSTANTIATE_TEST_SUITE_P(Tokenizer, Parity, testing::ValuesIn(all_cases().get<std::vector<json>>()),
                         [](const auto& test) { return test.param["name"].template get<std::string>(); });

TEST(Tokenizer, RealMiniLm) {
  if (!std::filesystem::exists(kMiniLm + "/tokenizer.json")) {
    GTEST_SKIP() << "SKIPPED: no " << kMiniLm << ": tools/get_model all-MiniLM-L6-v2 build/models/all-MiniLM-L6-v2";
  }
  const auto tokenizer = Tokenizer::load(kMiniLm);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  EXPECT_EQ(tokenizer->vocabulary_size(), 30522);
  compare(*tokenizer, "minilm", false);
}

TEST(Tokenizer, ThereAreManyStrings) {
  EXPECT_GE(strings().size(), 5000u);
  size_t invalid = 0;
  for (const std::string& text : strings()) invalid += !well_formed(text);
  EXPECT_GE(invalid, 300u);
}

}  // namespace
}  // namespace saccade
