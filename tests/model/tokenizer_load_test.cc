// Directories without tokenizer.json, what is refused and how the messages read, limits, lookups and threads.
#include <algorithm>
#include <functional>
#include <thread>

#include "tests/model/tokenizer_support.h"

namespace saccade {
namespace {

using namespace tokenizer_test;

Tokenizer load(const Folder& folder) {
  auto tokenizer = Tokenizer::load(folder.path());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  return *std::move(tokenizer);
}
Tokenizer load(const json& document) {
  const Folder folder("json");
  folder.write("tokenizer.json", document.dump());
  return load(folder);
}

// Vocabulary in the order of its ids.
std::vector<std::string> ordered(const json& vocabulary) {
  std::vector<std::string> tokens(vocabulary.size());
  for (const auto& [token, id] : vocabulary.items()) tokens.at(id.get<size_t>()) = token;
  return tokens;
}

void expect_equal(const Tokenizer& one, const Tokenizer& two) {
  EXPECT_EQ(one.vocabulary_size(), two.vocabulary_size());
  Tokens a, b;
  for (size_t i = 0; i < strings().size(); ++i) {
    const std::string &text = strings()[i], &other = strings()[strings().size() - 1 - i];
    ASSERT_TRUE(one.encode_pair(text, other, {}, a).ok());
    ASSERT_TRUE(two.encode_pair(text, other, {}, b).ok());
    ASSERT_EQ(a.ids, b.ids) << shown(text);
    ASSERT_EQ(a.type_ids, b.type_ids) << shown(text);
    ASSERT_EQ(a.special, b.special) << shown(text);
  }
}

TEST(TokenizerLoad, VocabTxtIsBert) {
  const json base = document("wordpiece");
  std::string lines;
  for (const std::string& token : ordered(base["model"]["vocab"])) lines += token + "\n";
  struct Case {
    const char* config;
    json changes;
  };
  const Case cases[] = {
      {"", {}},
      {"{}", {}},
      {R"({"do_lower_case": false})", {{"lowercase", false}}},
      {R"({"do_lower_case": false, "strip_accents": true})", {{"lowercase", false}, {"strip_accents", true}}},
      {R"({"strip_accents": false, "cls_token": {"content": "[CLS]"}})", {{"strip_accents", false}}},
      {R"({"tokenize_chinese_chars": false})", {{"handle_chinese_chars", false}}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.config);
    const Folder folder("vocab_txt");
    folder.write("vocab.txt", lines);
    if (*test.config != '\0') folder.write("tokenizer_config.json", test.config);
    json same = base;
    if (!test.changes.is_null()) same["normalizer"].update(test.changes);
    const Tokenizer plain = load(folder);
    EXPECT_EQ(plain.source(), "vocab.txt");
    expect_equal(plain, load(same));
  }
}

TEST(TokenizerLoad, VocabTxtOfMpnet) {
  const Folder folder("mpnet");
  folder.write("vocab.txt", "<s>\r\n<pad>\r\n</s>\r\n[UNK]\r\n<mask>\r\nhello\r\nworld\r\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  Tokens tokens;
  ASSERT_TRUE(load(folder).encode_pair("Hello <mask>", "world", {}, tokens).ok());
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{0, 5, 4, 2, 2, 6, 2}));
}

TEST(TokenizerLoad, VocabJsonAndMergesAreRoberta) {
  const json base = document("bpe");
  std::string merges = "#version: 0.2\n";
  for (const json& merge : base["model"]["merges"])
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  for (const bool prefix : {false, true}) {
    const Folder folder("roberta");
    folder.write("vocab.json", base["model"]["vocab"].dump());
    folder.write("merges.txt", merges);
    if (prefix) folder.write("tokenizer_config.json", R"({"add_prefix_space": true})");
    json same = base;
    same["pre_tokenizer"]["add_prefix_space"] = prefix;
    const Tokenizer plain = load(folder);
    EXPECT_EQ(plain.source(), "vocab.json");
    expect_equal(plain, load(same));
  }
}

TEST(TokenizerLoad, VocabJsonOfGpt2AddsNothing) {
  const Folder folder("gpt2");
  folder.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})");
  folder.write("merges.txt", "a b\n");
  EXPECT_EQ(encoded(load(folder), "abab<|endoftext|>b").ids, (std::vector<int32_t>{2, 2, 3, 1}));
}

TEST(TokenizerLoad, SentencePieceIsXlmR) {
  const Folder folder("sentencepiece");
  folder.write("sentencepiece.bpe.model", content_of(kData + "sentencepiece.bpe.model"));
  const Tokenizer plain = load(folder);
  EXPECT_EQ(plain.source(), "sentencepiece.bpe.model");
  EXPECT_EQ(plain.model(), "Unigram");
  expect_equal(plain, load(document("unigram")));
}

TEST(TokenizerLoad, MergesAsStringsAreTheSame) {
  json old = document("bpe");
  for (json& merge : old["model"]["merges"]) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  old["model"].erase("type");  // as older files
  expect_equal(load(document("bpe")), load(old));
}

TEST(TokenizerLoad, StoredTruncationAndPaddingAreIgnored) {
  json stored = document("wordpiece");
  stored["truncation"] = {{"max_length", 4}, {"strategy", "LongestFirst"}, {"stride", 0}, {"direction", "Right"}};
  stored["padding"] = {
      {"strategy", {{"Fixed", 128}}}, {"direction", "Right"}, {"pad_id", 0}, {"pad_type_id", 0}, {"pad_token", "[PAD]"}};
  expect_equal(load(document("wordpiece")), load(stored));
}

struct Refusal {
  const char* what;
  const char* base;
  std::function<void(json&)> change;
  Code code;
  const char* message;  // part of it
};
void set(json& document, const char* pointer, json value) { document[json::json_pointer(pointer)] = std::move(value); }

TEST(TokenizerLoad, RefusesByName) {
  const json deep = [] {
    json inner = {{"type", "Lowercase"}};
    for (int i = 0; i < 10; ++i) inner = {{"type", "Sequence"}, {"normalizers", {inner}}};
    return inner;
  }();
  const Refusal refusals[] = {
      {"normalizer", "wordpiece", [](json& d) { set(d, "/normalizer/type", "Magic"); }, Code::kUnsupported,
       "tokenizer.json: normalizer: the normalizer \"Magic\" is not known"},
      {"deep", "wordpiece", [&](json& d) { set(d, "/normalizer", deep); }, Code::kUnsupported, "nested more than 8 deep"},
      {"missing option", "wordpiece", [](json& d) { d["normalizer"].erase("lowercase"); }, Code::kCorruptData,
       "normalizer: the key \"lowercase\" is missing"},
      {"wrong type", "wordpiece", [](json& d) { set(d, "/normalizer/lowercase", "yes"); }, Code::kCorruptData,
       "normalizer.lowercase: expected true or false, found \"yes\""},
      {"pre-tokenizer", "wordpiece", [](json& d) { set(d, "/pre_tokenizer/type", "UnicodeScripts"); }, Code::kUnsupported,
       "pre_tokenizer: the pre-tokenizer \"UnicodeScripts\" is not known"},
      {"regex", "bpe",
       [](json& d) {
         set(d, "/pre_tokenizer",
             {{"type", "Split"}, {"pattern", {{"Regex", "[a-z]+"}}}, {"behavior", "Isolated"}, {"invert", false}});
       },
       Code::kUnsupported, "pre_tokenizer.pattern.Regex: the regular expression \"[a-z]+\" is not known"},
      {"behavior", "bpe",
       [](json& d) {
         set(d, "/pre_tokenizer",
             {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Dropped"}, {"invert", false}});
       },
       Code::kUnsupported, "pre_tokenizer.behavior: the behavior \"Dropped\" is not known"},
      {"empty pattern", "bpe",
       [](json& d) {
         set(d, "/normalizer", {{"type", "Replace"}, {"pattern", {{"String", ""}}}, {"content", "a"}});
       },
       Code::kUnsupported, "normalizer.pattern.String: an empty pattern"},
      {"metaspace", "unigram", [](json& d) { set(d, "/pre_tokenizer/pretokenizers/1/replacement", "__"); }, Code::kCorruptData,
       "pre_tokenizer.pretokenizers[1].replacement: expected one character, found \"__\""},
      {"scheme", "unigram", [](json& d) { set(d, "/pre_tokenizer/pretokenizers/1/prepend_scheme", "often"); }, Code::kUnsupported,
       "the scheme \"often\" is not known"},
      {"base64", "unigram", [](json& d) { set(d, "/normalizer/precompiled_charsmap", "!!!!"); }, Code::kCorruptData,
       "normalizer.precompiled_charsmap: expected base64"},
      {"short charsmap", "unigram", [](json& d) { set(d, "/normalizer/precompiled_charsmap", "AAA="); }, Code::kCorruptData,
       "at least 4 bytes, found 2"},
      {"charsmap size", "unigram", [](json& d) { set(d, "/normalizer/precompiled_charsmap", "/////w=="); }, Code::kCorruptData,
       "trie has 4294967295 bytes"},
      {"post-processor", "bpe", [](json& d) { set(d, "/post_processor/type", "Other"); }, Code::kUnsupported,
       "post_processor: the post-processor \"Other\" is not known"},
      {"template token", "wordpiece", [](json& d) { d["post_processor"]["special_tokens"].erase("[SEP]"); }, Code::kCorruptData,
       "post_processor.special_tokens: the key \"[SEP]\" is missing"},
      {"template text", "wordpiece", [](json& d) { d["post_processor"]["pair"].erase(3); }, Code::kUnsupported,
       "post_processor.pair: the sequence B occurs 0 times, expected 1"},
      {"template name", "wordpiece", [](json& d) { set(d, "/post_processor/single/1/Sequence/id", "C"); }, Code::kCorruptData,
       "expected the sequence A or B, found \"C\""},
      {"two templates", "wordpiece",
       [](json& d) {
         const json one = d["post_processor"];
         d["post_processor"] = {{"type", "Sequence"}, {"processors", {one, one}}};
       },
       Code::kUnsupported, "a sequence with two steps that add tokens"},
      {"model", "wordpiece", [](json& d) { set(d, "/model/type", "WordLevel"); }, Code::kUnsupported,
       "model: the model type \"WordLevel\" is not known"},
      {"no model", "wordpiece", [](json& d) { d.erase("model"); }, Code::kCorruptData, "the key \"model\" is missing"},
      {"unknown token", "wordpiece", [](json& d) { set(d, "/model/unk_token", "[WHAT]"); }, Code::kCorruptData,
       "model: the unknown token \"[WHAT]\" is not in the vocabulary"},
      {"huge id", "wordpiece", [](json& d) { set(d, "/model/vocab/the", 2000000000); }, Code::kCorruptData,
       "the id 2000000000 of \"the\" is not between 0 and"},
      {"negative id", "wordpiece", [](json& d) { set(d, "/model/vocab/the", -1); }, Code::kCorruptData,
       "model.vocab.the: expected an integer from 0 to"},
      {"dropout", "bpe", [](json& d) { set(d, "/model/dropout", 0.1); }, Code::kUnsupported, "model: dropout 0.1"},
      {"merge", "bpe",
       [](json& d) {
         set(d, "/model/merges/5", {"\u0120t", "nothing"});
       },
       Code::kCorruptData, "model: merge 5: \"nothing\" is not in the vocabulary"},
      {"merge of one", "bpe", [](json& d) { set(d, "/model/merges/5", "ab"); }, Code::kCorruptData,
       "model.merges[5]: expected two tokens with a blank between them, found \"ab\""},
      {"unk_id", "unigram", [](json& d) { set(d, "/model/unk_id", 1000000); }, Code::kCorruptData,
       "model.unk_id: expected an integer from 0 to"},
      {"piece", "unigram", [](json& d) { set(d, "/model/vocab/7", {"a"}); }, Code::kCorruptData,
       "model.vocab[7]: expected a piece and its score, found 1 values"},
      {"score", "unigram", [](json& d) { set(d, "/model/vocab/7/1", "high"); }, Code::kCorruptData,
       "model.vocab[7][1]: expected a number, found \"high\""},
      {"added id", "wordpiece", [](json& d) { set(d, "/added_tokens/2/id", 77); }, Code::kCorruptData,
       "added_tokens: the token \"[CLS]\" has the id 77, expected 2"},
      {"added empty", "unigram",
       [](json& d) {
         d["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
         d["added_tokens"].push_back({{"id", d["model"]["vocab"].size()}, {"content", "  "}, {"normalized", true}});
       },
       Code::kUnsupported, "is empty when normalised"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.what);
    json changed = document(refusal.base);
    refusal.change(changed);
    const Folder folder("refused");
    folder.write("tokenizer.json", changed.dump());
    const auto tokenizer = Tokenizer::load(folder.path());
    ASSERT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.status().code(), refusal.code) << tokenizer.status().to_string();
    EXPECT_NE(tokenizer.status().message().find(refusal.message), std::string::npos) << tokenizer.status().message();
    EXPECT_EQ(tokenizer.status().message().find(folder.path()), 0u) << tokenizer.status().message();
  }
}

TEST(TokenizerLoad, RefusesFilesThatAreNotWhatTheySay) {
  struct Case {
    const char* what;
    std::function<void(const Folder&)> write;
    Code code;
    const char* message;
  };
  const Case cases[] = {
      {"nothing", [](const Folder&) {}, Code::kNotFound, "no tokenizer: expected tokenizer.json, vocab.txt"},
      {"directory", [](const Folder& f) { std::filesystem::create_directory(f.path() + "/tokenizer.json"); },
       Code::kInvalidArgument, "tokenizer.json: is a directory"},
      {"no JSON", [](const Folder& f) { f.write("tokenizer.json", "{"); }, Code::kCorruptData, "tokenizer.json: not valid JSON"},
      {"an array", [](const Folder& f) { f.write("tokenizer.json", "[]"); }, Code::kCorruptData,
       "expected an object, found an array"},
      {"not UTF-8", [](const Folder& f) { f.write("vocab.txt", "[UNK]\n\xff\n"); }, Code::kCorruptData,
       "vocab.txt: the token of id 1 is not UTF-8"},
      {"no [CLS]", [](const Folder& f) { f.write("vocab.txt", "[UNK]\n[SEP]\n"); }, Code::kCorruptData,
       "vocab.txt: the token \"[CLS]\" is missing"},
      {"empty", [](const Folder& f) { f.write("vocab.txt", ""); }, Code::kCorruptData, "\"[UNK]\" is not in the vocabulary"},
      {"no merges", [](const Folder& f) { f.write("vocab.json", "{\"a\": 0}"); }, Code::kNotFound, "merges.txt"},
      {"bad merges",
       [](const Folder& f) {
         f.write("vocab.json", "{\"a\": 0}");
         f.write("merges.txt", "#version: 0.2\na\n");
       },
       Code::kCorruptData, "merges.txt: line 2: expected two tokens with a blank between them, found \"a\""},
      {"no protocol buffer", [](const Folder& f) { f.write("sentencepiece.bpe.model", "hello"); }, Code::kCorruptData,
       "sentencepiece.bpe.model: ModelProto: field 13: "},
      {"cut",
       [](const Folder& f) { f.write("sentencepiece.bpe.model", content_of(kData + "sentencepiece.bpe.model").substr(0, 5000)); },
       Code::kCorruptData, "bytes, "},
      {"other pieces", [](const Folder& f) { f.write("sentencepiece.bpe.model", std::string("\x0a\x05\x0a\x03<s>", 7)); },
       Code::kUnsupported, "piece 0 is \"<s>\", expected \"<unk>\""},
      {"BPE model", [](const Folder& f) { f.write("sentencepiece.bpe.model", std::string("\x12\x02\x18\x02", 4)); },
       Code::kUnsupported, "model type 2, expected 1 (Unigram)"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Folder folder("files");
    test.write(folder);
    const auto tokenizer = Tokenizer::load(folder.path());
    ASSERT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.status().code(), test.code) << tokenizer.status().to_string();
    EXPECT_NE(tokenizer.status().message().find(test.message), std::string::npos) << tokenizer.status().message();
  }
  EXPECT_EQ(Tokenizer::load("/no/such/folder").status().code(), Code::kNotFound);
}

TEST(Tokenizer, LimitsAndLookups) {
  const Tokenizer tokenizer = load(document("wordpiece"));
  EXPECT_EQ(tokenizer.model(), "WordPiece");
  EXPECT_EQ(tokenizer.source(), "tokenizer.json");
  EXPECT_EQ(tokenizer.vocabulary_size(), 4000);
  EXPECT_EQ(tokenizer.special_token_count(false), 2);
  EXPECT_EQ(tokenizer.special_token_count(true), 3);
  EXPECT_EQ(tokenizer.id("[SEP]"), 3);
  EXPECT_EQ(tokenizer.id("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer.token(2), "[CLS]");
  EXPECT_EQ(tokenizer.token(-1), "");
  EXPECT_EQ(tokenizer.token(4000), "");
  const int32_t the = tokenizer.id("the").value();
  EXPECT_EQ(tokenizer.token(the), "the");

  Tokens tokens = encoded(tokenizer, "the the the");
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{2, the, the, the, 3}));
  EXPECT_EQ(tokens.special, (std::vector<uint8_t>{1, 0, 0, 0, 1}));
  Status status = tokenizer.encode("the the the", {.max_length = 4}, tokens);
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_EQ(status.message(), "tokenize: 5 tokens (2 special), expected at most 4");
  EXPECT_TRUE(tokenizer.encode("the the the", {.max_length = 5}, tokens).ok());
  EXPECT_EQ(encoded(tokenizer, "the the the", {.max_length = 4, .truncate = true}).ids, (std::vector<int32_t>{2, the, the, 3}));
  EXPECT_EQ(encoded(tokenizer, "the the", {.max_length = 2, .truncate = true}).ids, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(tokenizer.encode("the", {.max_length = 1, .truncate = true}, tokens).code(), Code::kOutOfRange);
  EXPECT_EQ(tokenizer.encode("the", {.max_length = -1}, tokens).code(), Code::kInvalidArgument);
  EXPECT_EQ(encoded(tokenizer, "the [SEP]", {.special_tokens = false}).special, (std::vector<uint8_t>{0, 0}));
}

TEST(Tokenizer, UnknownCharacterWithoutUnknownToken) {
  json base = document("unigram");
  base["model"]["unk_id"] = nullptr;
  Tokens tokens;
  const Status status = load(base).encode("\u16a0", {}, tokens);
  EXPECT_EQ(status.code(), Code::kCorruptData);
  EXPECT_NE(status.message().find("no unk_id"), std::string::npos) << status.message();
}

TEST(Tokenizer, ManyThreadsAtOnce) {
  const Tokenizer tokenizer = load(document("bpe"));
  const size_t count = std::min<size_t>(strings().size(), 2000);
  std::vector<Tokens> expected;
  for (size_t i = 0; i < count; ++i) expected.push_back(encoded(tokenizer, strings()[i]));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Tokens tokens;
      for (size_t n = 0; n < count; ++n) {
        const size_t i = (n * 7 + t * 501) % count;
        wrong[t] += !tokenizer.encode(strings()[i], {}, tokens).ok() || tokens.ids != expected[i].ids;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Utf8, RepairsPerMaximalPart) {
  const std::string r = "\uFFFD";
  struct Case {
    std::string bytes, repaired;
  };
  // Table 3-8 of the Unicode standard, and the ends of the ranges.
  for (const Case& test : {Case{"a\xf1\x80\x80\xe1\x80\xc2"
                                "b\x80"
                                "c\x80\xbf"
                                "d",
                                "a" + r + r + r + "b" + r + "c" + r + r + "d"},
                           Case{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82"
                                "A",
                                r + r + r + r + r + r + r + r + "A"},
                           Case{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf"
                                "A",
                                r + r + r + r + r + r + r + r + "A"},
                           Case{"\xf4\x91\x92\x93\xff"
                                "A\x80\xbf"
                                "B",
                                r + r + r + r + r + "A" + r + r + "B"},
                           Case{"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80", "\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80"}}) {
    EXPECT_EQ(repaired(test.bytes), test.repaired);
    EXPECT_EQ(well_formed(test.bytes), test.bytes == test.repaired);
  }
}

}  // namespace
}  // namespace saccade
