// Files beside the weights that an Encoder reads: limits, what is refused, and that the message names file, key and values.
#include <filesystem>

#include "tests/model/encoder_support.h"

namespace saccade::test {
namespace {

TEST(EncoderFiles, LimitsAreTheLeastThatTheFilesSay) {
  const ModelDirectory directory;
  directory.write("tokenizer_config.json",
                  std::string(R"({"do_lower_case": true, "model_max_length": 1000000000000000019884624838656})"));
  EXPECT_EQ(load(directory).info().max_tokens, ModelDirectory::kPositions);
  directory.write("sentence_bert_config.json", json{{"max_seq_length", 100}});
  EXPECT_EQ(load(directory).info().max_tokens, ModelDirectory::kPositions);
  directory.write("sentence_bert_config.json", json{{"max_seq_length", nullptr}});
  EXPECT_EQ(load(directory).info().max_tokens, ModelDirectory::kPositions);
  directory.write("sentence_bert_config.json", json{{"max_seq_length", 0}});
  expect_error(Encoder::load(directory.path()).status(), Code::kCorruptData,
               {"sentence_bert_config.json", "max_seq_length", "0"});
}

struct Refusal {
  std::vector<std::string> modules;
  std::string file;  // written with `content`
  json content;
  Code code;
  std::vector<std::string> message;
};

TEST(EncoderFiles, ModulesThatCannotBeDoneAreRefusedByName) {
  const std::vector<std::string> pooled = {"Transformer", "Pooling"}, with_dense = {"Transformer", "Pooling", "Dense"};
  const char* pooling = "1_Pooling/config.json";
  const char* dense = "2_Dense/config.json";
  const auto dense_with = [](const json& changes) {
    json config = {{"in_features", 24}, {"out_features", 8}};
    config.update(changes);
    return config;
  };
  const Refusal refusals[] = {
      {pooled,
       pooling,
       {{"pooling_mode_mean_sqrt_len_tokens", true}},
       Code::kUnsupported,
       {pooling, "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"}},
      {pooled,
       pooling,
       {{"pooling_mode", "weightedmean"}},
       Code::kUnsupported,
       {pooling, "pooling_mode", "weightedmean", "lasttoken"}},
      {pooled, pooling, {{"pooling_mode", {"cls", "mean"}}}, Code::kUnsupported, {pooling, "several", "cls, mean"}},
      {pooled,
       pooling,
       {{"pooling_mode_cls_token", true}, {"pooling_mode_mean_tokens", true}},
       Code::kUnsupported,
       {pooling, "several"}},
      {pooled, pooling, {{"pooling_mode", 3}}, Code::kCorruptData, {pooling, "pooling_mode", "expected a string", "3"}},
      {pooled, pooling, {{"pooling_mode_cls_token", "yes"}}, Code::kCorruptData, {"pooling_mode_cls_token", "true or false"}},
      {{"Transformer", "Pooling", "CNN"}, pooling, json::object(), Code::kUnsupported, {"modules.json", "CNN"}},
      {{"Transformer", "Pooling", "LSTM"}, pooling, json::object(), Code::kUnsupported, {"LSTM"}},
      {{"Transformer", "Pooling", "LayerNorm"}, pooling, json::object(), Code::kUnsupported, {"LayerNorm"}},
      {{"StaticEmbedding", "Normalize"}, pooling, json::object(), Code::kUnsupported, {"StaticEmbedding", "first"}},
      {{"Transformer", "Dense", "Pooling"}, pooling, json::object(), Code::kUnsupported, {"Dense", "in front of any Pooling"}},
      {{"Transformer", "Pooling", "Pooling"}, pooling, json::object(), Code::kUnsupported, {"Pooling", "second"}},
      {{"Transformer", "Pooling", "Transformer"}, pooling, json::object(), Code::kUnsupported, {"later module"}},
      {{}, pooling, json::object(), Code::kCorruptData, {"modules.json", "none"}},
      {with_dense,
       dense,
       dense_with({{"activation_function", "torch.nn.modules.activation.Hardtanh"}}),
       Code::kUnsupported,
       {dense, "activation_function", "Hardtanh", "Tanh"}},
      {with_dense, dense, dense_with({{"activation_function", "custom.Tanh"}}), Code::kUnsupported, {dense, "custom.Tanh"}},
      {with_dense, dense, dense_with({{"in_features", 23}}), Code::kCorruptData, {"2_Dense", "in_features", "24", "23"}},
      {with_dense, dense, dense_with({{"in_features", -1}}), Code::kCorruptData, {dense, "in_features", "-1"}},
      {with_dense,
       dense,
       dense_with({{"out_features", 9}}),
       Code::kCorruptData,
       {"2_Dense", "linear.weight", "[8, 24]", "[9, 24]"}},
      {with_dense, dense, {{"in_features", 24}}, Code::kCorruptData, {dense, "out_features"}},
      {with_dense,
       dense,
       dense_with({{"module_input_name", "token_embeddings"}}),
       Code::kUnsupported,
       {dense, "token_embeddings"}},
      {with_dense, "2_Dense/model.safetensors", "junk", Code::kCorruptData, {"2_Dense/model.safetensors"}},
      {pooled,
       "modules.json",
       json::parse(R"([{"type": "x.Transformer", "path": "../elsewhere"}])"),
       Code::kCorruptData,
       {"../elsewhere"}},
      {pooled, "modules.json", json::parse(R"({"type": "x.Transformer"})"), Code::kCorruptData, {"modules.json", "array"}},
      {pooled,
       "sentence_bert_config.json",
       {{"transformer_task", "text-generation"}},
       Code::kUnsupported,
       {"transformer_task", "text-generation"}},
      {pooled,
       "config_sentence_transformers.json",
       {{"similarity_fn_name", "tanimoto"}},
       Code::kUnsupported,
       {"similarity_fn_name", "tanimoto", "cosine"}},
      {pooled,
       "config_sentence_transformers.json",
       {{"default_prompt_name", "query"}},
       Code::kCorruptData,
       {"default_prompt_name", "query"}},
      {pooled,
       "config_sentence_transformers.json",
       {{"prompts", {{"query", 1}}}},
       Code::kCorruptData,
       {"prompts.query", "string"}},
  };
  for (const Refusal& refusal : refusals) {
    const ModelDirectory directory;
    directory.write_modules(refusal.modules);
    directory.write(pooling, json::object());
    directory.write(dense, dense_with(json::object()));
    directory.write("2_Dense/model.safetensors", safetensors({{"linear.weight", ModelDirectory::random_tensor({8, 24}, 60)},
                                                              {"linear.bias", ModelDirectory::random_tensor({8}, 61)}}));
    EXPECT_TRUE(refusal.modules != with_dense || Encoder::load(directory.path()).ok());
    directory.write(refusal.file, refusal.content);
    SCOPED_TRACE(refusal.file + ": " + refusal.content.dump());
    expect_error(Encoder::load(directory.path()).status(), refusal.code, refusal.message);
  }
}

TEST(EncoderFiles, PromptsThatPoolingLeavesOutAreRefused) {
  const ModelDirectory directory;
  directory.write_modules({"Transformer", "Pooling"});
  directory.write("1_Pooling/config.json", json{{"include_prompt", false}});
  const Encoder encoder = load(directory);
  EXPECT_TRUE(encoder.encode(Texts{"the cat"}).ok());
  expect_error(encoder.encode(Texts{"the cat"}, {.prompt = "query: "}).status(), Code::kUnsupported, {"include_prompt"});
  directory.write("config_sentence_transformers.json", json{{"prompts", {{"query", "query: "}}}});
  expect_error(Encoder::load(directory.path()).status(), Code::kUnsupported, {"include_prompt"});
}

TEST(EncoderFiles, AModelWithoutPoolingNeedsOneNamed) {
  const ModelDirectory directory;
  directory.write_modules({"Transformer"});
  const Encoder encoder = load(directory);
  expect_error(encoder.encode(Texts{"x"}).status(), Code::kUnsupported, {"no Pooling"});
  EXPECT_TRUE(encoder.encode(Texts{"x"}, {.pooling = Pooling::kMean}).ok());
  EXPECT_TRUE(encoder.encode_tokens(Texts{"x"}).ok());
}

TEST(EncoderFiles, LowerCaseNeedsATokenizerThatDoesIt) {
  const ModelDirectory directory;
  directory.write("sentence_bert_config.json", json{{"do_lower_case", true}});
  EXPECT_TRUE(Encoder::load(directory.path()).ok());
  directory.write("tokenizer_config.json", json{{"do_lower_case", false}});
  expect_error(Encoder::load(directory.path()).status(), Code::kUnsupported, {"do_lower_case"});
}

TEST(EncoderFiles, BrokenDirectoriesAreNamed) {
  const auto refused = [](const ModelDirectory& directory, Code code, const std::vector<std::string>& message) {
    expect_error(Encoder::load(directory.path()).status(), code, message);
  };
  expect_error(Encoder::load("/nonexistent/model").status(), Code::kNotFound, {"/nonexistent/model"});
  expect_error(Encoder::load("").status(), Code::kNotFound, {"not a directory"});
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    const ModelDirectory directory;
    directory.remove(file);
    const Status status = Encoder::load(directory.path()).status();
    EXPECT_EQ(status.code(), Code::kNotFound) << status.to_string();
    std::filesystem::create_directories(directory.path() + "/" + file);
    EXPECT_FALSE(Encoder::load(directory.path()).ok()) << file << " is a directory";
  }
  // A name that is there and cannot be read is not a file that the model does without.
  for (const char* file : {"modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "tokenizer.json",
                           "tokenizer_config.json", "model.safetensors"}) {
    const ModelDirectory directory;
    directory.remove(file);
    std::filesystem::create_symlink("nowhere", directory.path() + "/" + file);
    refused(directory, Code::kNotFound, {file, "is a link to a file that is not there"});
    directory.remove(file);
    directory.write(file, std::string("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"));
    refused(directory, Code::kCorruptData, {file, "is a Git LFS pointer"});
  }
  const ModelDirectory directory;
  directory.write("config_sentence_transformers.json", std::string("{\"prompts\": {\"a\": \"\xff\"}}"));
  refused(directory, Code::kCorruptData, {"config_sentence_transformers.json"});
  directory.write("config_sentence_transformers.json", std::string("{"));
  refused(directory, Code::kCorruptData, {"config_sentence_transformers.json"});
}

}  // namespace
}  // namespace saccade::test
