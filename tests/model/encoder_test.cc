// Encoder: what modules, prompts and limits of a directory do to the hidden states (whose own test is that of the families), the
// same bits for every batch, options, and what is refused. Expected vectors are computed here in double from encode_tokens.
#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/model/encoder_support.h"
#include "tests/support/compare.h"

namespace saccade::test {
namespace {

const Texts kTexts = {"the cat", "", "the dog of the house by the river", "x",
                      "a b c d e f g h i j k l m n o p q r s t u v w x y z"};

std::vector<float> encode(const Encoder& encoder, const Texts& texts, const EncodeOptions& options = {}) {
  auto vectors = encoder.encode(texts, options);
  if (!vectors) throw std::runtime_error(vectors.status().to_string());
  return *std::move(vectors);
}

std::vector<double> pooled(const TokenVectors& tokens, size_t text, Pooling pooling) {
  const auto begin = tokens.offsets[text], end = tokens.offsets[text + 1];
  std::vector<double> vector(static_cast<size_t>(tokens.width));
  for (size_t c = 0; c < vector.size(); ++c) {
    const auto value = [&](int64_t row) {
      return static_cast<double>(tokens.values[static_cast<size_t>(row * tokens.width) + c]);
    };
    double sum = 0, largest = value(begin);
    for (int64_t row = begin; row < end; ++row) sum += value(row), largest = std::max(largest, value(row));
    vector[c] = pooling == Pooling::kMean    ? sum / static_cast<double>(end - begin)
                : pooling == Pooling::kFirst ? value(begin)
                : pooling == Pooling::kLast  ? value(end - 1)
                                             : largest;
  }
  return vector;
}

std::vector<double> normalized(std::vector<double> x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares);
  return x;
}

// f(x W^T + b), f a function of one number.
template <class F>
std::vector<double> dense(const std::vector<double>& x, const TensorData& weight, const TensorData& bias, F f) {
  std::vector<double> y;
  for (size_t o = 0; o < bias.values.size(); ++o) {
    double sum = static_cast<double>(bias.values[o]);
    for (size_t i = 0; i < x.size(); ++i) sum += x[i] * static_cast<double>(weight.values[o * x.size() + i]);
    y.push_back(f(sum));
  }
  return y;
}

void expect_near(std::span<const float> got, const std::vector<double>& want, double bound, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  Comparison comparison(what);
  for (size_t i = 0; i < want.size(); ++i) comparison.add(0, i, static_cast<double>(got[i]), want[i], bound);
  EXPECT_TRUE(comparison.result());
}

// Compares each row of `got` with the expected vector of its text.
template <class F>
void expect_rows(const std::vector<float>& got, size_t texts, F want, const std::string& what) {
  ASSERT_EQ(got.size() % texts, 0u);
  const size_t width = got.size() / texts;
  for (size_t i = 0; i < texts; ++i) {
    expect_near(std::span(got).subspan(i * width, width), want(i), 2e-6, what + ", text " + std::to_string(i));
  }
}

void expect_same_bits(std::span<const float> a, std::span<const float> b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(same_bits(a[i], b[i])) << what << ": element " << i << ": " << a[i] << ", " << b[i];
}

TEST(Encoder, WithoutModulesPoolsByMean) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  const EncoderInfo& info = encoder.info();
  EXPECT_EQ(info.pooling, Pooling::kMean);
  EXPECT_EQ(info.pooling_source, "default");
  EXPECT_FALSE(info.normalize);
  EXPECT_EQ(info.output_width, ModelDirectory::kWidth);
  EXPECT_EQ(info.max_tokens, 48);  // model_max_length; the position table has 64
  EXPECT_EQ(info.similarity, "cosine");
  EXPECT_EQ(info.modules, (std::vector<std::string>{"Transformer", "Pooling"}));
  EXPECT_GT(info.weight_bytes, info.parameters * 3);  // f32; the pooler is not there, panels are padded
  const TokenVectors tokens = *encoder.encode_tokens(kTexts);
  expect_rows(
      encode(encoder, kTexts), kTexts.size(), [&](size_t i) { return pooled(tokens, i, Pooling::kMean); }, "mean");
}

TEST(Encoder, PoolingAndLengthCanBeChosen) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  const TokenVectors tokens = *encoder.encode_tokens(kTexts);
  for (const Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast, Pooling::kMax}) {
    for (const bool normalize : {false, true}) {
      const auto got = encode(encoder, kTexts, {.pooling = pooling, .normalize = normalize});
      const auto want = [&](size_t i) {
        auto vector = pooled(tokens, i, pooling);
        return normalize ? normalized(vector) : vector;
      };
      expect_rows(got, kTexts.size(), want, "pooling " + std::to_string(static_cast<int>(pooling)));
    }
  }
}

TEST(Encoder, DoesWhatModulesSay) {
  const ModelDirectory directory;
  directory.write_modules({"Transformer", "Pooling", "Dense", "Dense", "Normalize"});
  directory.write("1_Pooling/config.json",
                  json{{"word_embedding_dimension", 24}, {"pooling_mode_cls_token", true}, {"pooling_mode_mean_tokens", false}});
  directory.write("2_Dense/config.json", json{{"in_features", 24},
                                              {"out_features", 10},
                                              {"bias", true},
                                              {"activation_function", "torch.nn.modules.activation.Tanh"}});
  const TensorMap first = {{"linear.weight", ModelDirectory::random_tensor({10, 24}, 50)},
                           {"linear.bias", ModelDirectory::random_tensor({10}, 51)}};
  directory.write("2_Dense/model.safetensors", safetensors(first));
  directory.write("3_Dense/config.json", json{{"in_features", 10},
                                              {"out_features", 7},
                                              {"bias", false},
                                              {"activation_function", "torch.nn.modules.linear.Identity"},
                                              {"use_residual", true}});
  const TensorMap second = {{"linear.weight", ModelDirectory::random_tensor({7, 10}, 52)},
                            {"residual.weight", ModelDirectory::random_tensor({7, 10}, 53)}};
  directory.write("3_Dense/model.safetensors", safetensors(second));

  const Encoder encoder = load(directory);
  EXPECT_EQ(encoder.info().modules,
            (std::vector<std::string>{"Transformer", "Pooling", "Dense 24 -> 10 tanh", "Dense 10 -> 7 + residual", "Normalize"}));
  EXPECT_EQ(encoder.info().output_width, 7);
  EXPECT_EQ(encoder.info().pooling_source, "1_Pooling/config.json");
  const TokenVectors tokens = *encoder.encode_tokens(kTexts);
  const TensorData zeros{{7}, std::vector<float>(7)};
  const auto identity = [](double x) { return x; };
  const auto raw = [&](size_t i) {
    const auto x = dense(pooled(tokens, i, Pooling::kFirst), first.at("linear.weight"), first.at("linear.bias"),
                         [](double v) { return std::tanh(v); });
    auto y = dense(x, second.at("linear.weight"), zeros, identity);
    const auto residual = dense(x, second.at("residual.weight"), zeros, identity);
    for (size_t c = 0; c < y.size(); ++c) y[c] += residual[c];
    return y;
  };
  expect_rows(
      encode(encoder, kTexts), kTexts.size(), [&](size_t i) { return normalized(raw(i)); }, "published");
  expect_rows(encode(encoder, kTexts, {.normalize = false}), kTexts.size(), raw, "not normalised");
}

TEST(Encoder, NewSpellingsAndATransformerInItsOwnFolder) {
  const ModelDirectory directory;
  const auto plain = encode(load(directory), kTexts, {.pooling = Pooling::kMax});
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"}) {
    std::filesystem::create_directories(directory.path() + "/0_Transformer");
    std::filesystem::rename(directory.path() + "/" + file, directory.path() + "/0_Transformer/" + file);
  }
  directory.write(
      "modules.json",
      json::parse(
          R"([{"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.base.modules.transformer.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
      {"idx": 2, "name": "2", "path": "2_Dropout", "type": "sentence_transformers.sentence_transformer.modules.dropout.Dropout"}])"));
  directory.write("1_Pooling/config.json", json{{"embedding_dimension", 24}, {"pooling_mode", "max"}, {"include_prompt", true}});
  expect_same_bits(encode(load(directory), kTexts), plain, "a folder for the transformer");
}

TEST(Encoder, AnEmptyTextIsItsSpecialTokens) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  const TokenVectors tokens = *encoder.encode_tokens(Texts{""});
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{2, 3}));  // [CLS] [SEP]
  for (const float x : encode(encoder, {""})) EXPECT_TRUE(std::isfinite(x));
}

TEST(Encoder, Prompts) {
  const ModelDirectory directory;
  directory.write("config_sentence_transformers.json", json{{"prompts", {{"query", "query: "}, {"passage", "passage: "}}},
                                                            {"default_prompt_name", "passage"},
                                                            {"similarity_fn_name", "dot"}});
  const Encoder encoder = load(directory);
  EXPECT_EQ(encoder.info().default_prompt, "passage");
  EXPECT_EQ(encoder.info().similarity, "dot");
  EXPECT_EQ(encoder.info().prompts.size(), 2u);
  const auto none = encode(encoder, {"the cat"}, {.prompt = ""});
  const auto query = encode(encoder, {"query: the cat"}, {.prompt = ""});
  const auto passage = encode(encoder, {"passage: the cat"}, {.prompt = ""});
  EXPECT_NE(none, query);
  EXPECT_NE(query, passage);
  expect_same_bits(encode(encoder, {"the cat"}), passage, "the default prompt");
  expect_same_bits(encode(encoder, {"the cat"}, {.prompt_name = "query"}), query, "by name");
  expect_same_bits(encode(encoder, {"the cat"}, {.prompt_name = "nonsense", .prompt = "query: "}), query, "by text");
  expect_error(encoder.encode(Texts{"x"}, {.prompt_name = "qurey"}).status(), Code::kNotFound, {"\"qurey\"", "passage, query"});
}

TEST(Encoder, LongTexts) {
  const ModelDirectory directory;
  directory.write("sentence_bert_config.json", json{{"max_seq_length", 10}, {"do_lower_case", false}});
  const Encoder encoder = load(directory);
  EXPECT_EQ(encoder.info().max_tokens, 10);
  const std::string_view eight = "a b c d e f g h", nine = "a b c d e f g h i";
  const auto whole = encode(encoder, {eight});
  expect_error(encoder.encode(Texts{eight, nine}).status(), Code::kOutOfRange, {"text 1", "11", "10", "truncate"});
  expect_same_bits(encode(encoder, {nine}, {.truncate = true}), whole, "truncated");
  expect_same_bits(encode(encoder, {eight}, {.truncate = true, .max_tokens = 5}), encode(encoder, {"a b c"}), "a shorter limit");
  expect_same_bits(encode(encoder, {nine}, {.truncate = true, .max_tokens = 1000}), whole, "a limit above the model's");
  expect_error(encoder.encode(Texts{"x"}, {.max_tokens = 2}).status(), Code::kInvalidArgument, {"2", "special"});
}

// Many texts of all lengths, in an order without system.
std::vector<std::string> many_texts(size_t count) {
  Random random(7);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (int64_t words = random.integer(0, 40); words > 0; --words)
      text += std::string(1, static_cast<char>('a' + random.integer(0, 25))) + " ";
  }
  return texts;
}

TEST(Encoder, SameBitsForEveryBatchAndNumberOfThreads) {
  const ModelDirectory directory;
  directory.write_modules({"Transformer", "Pooling", "Normalize"});
  directory.write("1_Pooling/config.json", json{{"pooling_mode_mean_tokens", true}});
  const std::vector<std::string> texts = many_texts(100);
  const Texts views(texts.begin(), texts.end());
  const Encoder one = load(directory, {.threads = 1}), three = load(directory, {.threads = 3});
  const std::vector<float> all = encode(one, views);
  const auto width = static_cast<size_t>(one.info().output_width);
  for (const int64_t budget : {1, 37, 500, 1 << 20}) {
    expect_same_bits(encode(one, views, {.max_batch_tokens = budget}), all, "one thread, runs of " + std::to_string(budget));
    expect_same_bits(encode(three, views, {.max_batch_tokens = budget}), all, "three threads, runs of " + std::to_string(budget));
  }
  for (size_t i = 0; i < views.size(); i += 9) {
    expect_same_bits(encode(three, {views[i]}), std::span(all).subspan(i * width, width), "alone: " + texts[i]);
  }
  std::vector<std::thread> callers;
  std::vector<std::vector<float>> results(4);
  for (std::vector<float>& result : results)
    callers.emplace_back([&] { result = encode(three, views, {.max_batch_tokens = 200}); });
  for (std::thread& caller : callers) caller.join();
  for (const std::vector<float>& result : results) expect_same_bits(result, all, "several callers");
}

TEST(Encoder, SameBitsForEveryFamily) {
  std::vector<std::string> texts = many_texts(12);
  texts.push_back("");
  for (int i = 0; i < 18; ++i) texts.back() += "the quick brown fox ";  // 254 tokens, of words and of letters
  const Texts views(texts.begin(), texts.end());
  for (const char* family : {"bert", "bert_f16", "distilbert", "roberta", "mpnet", "modernbert", "nomic_bert", "gte"}) {
    SCOPED_TRACE(family);
    const ModelDirectory directory;
    directory.write("tokenizer_config.json", json{{"do_lower_case", true}});
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(std::string(SACCADE_TEST_DATA) + "/models/" + family + "/" + file, directory.path() + "/" + file,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    const Encoder one = load(directory, {.threads = 1}), three = load(directory, {.threads = 3});
    const std::vector<float> all = encode(one, views);
    expect_same_bits(encode(three, views, {.max_batch_tokens = 50}), all, "three threads, short runs");
    const auto width = static_cast<size_t>(one.info().output_width);
    for (size_t i = 0; i < views.size(); ++i) {
      expect_same_bits(encode(one, {views[i]}), std::span(all).subspan(i * width, width), "alone: " + texts[i]);
    }
  }
}

TEST(Encoder, TokensComeInTheOrderOfTheTexts) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  const std::vector<std::string> texts = many_texts(20);
  const Texts views(texts.begin(), texts.end());
  const TokenVectors all = *encoder.encode_tokens(views, {.max_batch_tokens = 64});
  EXPECT_EQ(all.width, ModelDirectory::kWidth);
  ASSERT_EQ(all.offsets.size(), views.size() + 1);
  EXPECT_EQ(all.offsets.back(), std::ssize(all.ids));
  EXPECT_EQ(all.values.size(), all.ids.size() * static_cast<size_t>(all.width));
  for (size_t i = 0; i < views.size(); ++i) {
    const TokenVectors one = *encoder.encode_tokens(Texts{views[i]});
    const auto begin = static_cast<size_t>(all.offsets[i]), end = static_cast<size_t>(all.offsets[i + 1]);
    EXPECT_EQ(one.ids, std::vector<int32_t>(all.ids.begin() + all.offsets[i], all.ids.begin() + all.offsets[i + 1]));
    const auto width = static_cast<size_t>(all.width);
    expect_same_bits(std::span(all.values).subspan(begin * width, (end - begin) * width), one.values,
                     "text " + std::to_string(i));
  }
}

TEST(Encoder, PairsAreScored) {
  const ModelDirectory directory(1);
  const Encoder encoder = load(directory);
  EXPECT_EQ(encoder.info().head, Head::kSequenceClassification);
  EXPECT_TRUE(encoder.info().sigmoid);  // one label, nothing said
  const std::vector<TextPair> pairs = {{"the cat", "the dog"}, {"the dog", "the cat"}, {"", ""}, {"the cat the", "dog"}};
  std::vector<float> scores(pairs.size()), raw(pairs.size()), prompted(1), whole(1);
  ASSERT_TRUE(encoder.encode_pairs(pairs, Matrix(scores.data(), 4, 1)).ok());
  ASSERT_TRUE(encoder.encode_pairs(pairs, Matrix(raw.data(), 4, 1), {.max_batch_tokens = 8, .sigmoid = false}).ok());
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(scores[i]), 1 / (1 + std::exp(-static_cast<double>(raw[i]))), 1e-6);
  }
  EXPECT_NE(raw[0], raw[1]);
  EXPECT_NE(raw[0], raw[3]);  // the same words, cut elsewhere
  ASSERT_TRUE(encoder.encode_pairs(std::span(pairs).first(1), Matrix(prompted.data(), 1, 1), {.prompt = "query: "}).ok());
  ASSERT_TRUE(encoder.encode_pairs(std::vector<TextPair>{{"query: the cat", "the dog"}}, Matrix(whole.data(), 1, 1)).ok());
  expect_same_bits(prompted, whole, "the prompt goes before the first text");

  directory.change("config.json", {{"sbert_ce_default_activation_function", "torch.nn.modules.linear.Identity"}});
  EXPECT_FALSE(load(directory).info().sigmoid);
  directory.change("config.json", {{"sentence_transformers", {{"activation_fn", "torch.nn.modules.activation.Sigmoid"}}}});
  EXPECT_TRUE(load(directory).info().sigmoid);
  directory.change("config.json", {{"sentence_transformers", {{"activation_fn", "torch.nn.modules.activation.Softplus"}}}});
  expect_error(Encoder::load(directory.path()).status(), Code::kUnsupported,
               {"config.json: sentence_transformers.activation_fn", "Softplus", "Sigmoid"});

  const ModelDirectory three(3);
  const Encoder classifier = load(three);
  EXPECT_FALSE(classifier.info().sigmoid);
  EXPECT_EQ(classifier.info().labels, (std::vector<std::string>{"label 0", "label 1", "label 2"}));
  std::vector<float> labels(3);
  EXPECT_TRUE(classifier.encode_pairs(std::span(pairs).first(1), Matrix(labels.data(), 1, 3)).ok());

  const ModelDirectory plain;
  expect_error(load(plain).encode_pairs(pairs, Matrix(scores.data(), 4, 1)), Code::kUnsupported, {"BertModel", "head"});
}

TEST(Encoder, ProgressAndCancel) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  const std::vector<std::string> texts = many_texts(60);
  const Texts views(texts.begin(), texts.end());
  std::vector<int64_t> done;
  const auto all = encode(encoder, views, {.max_batch_tokens = 100, .progress = [&](int64_t now, int64_t total) {
                                             EXPECT_EQ(total, 60);
                                             done.push_back(now);
                                           }});
  EXPECT_GT(done.size(), 5u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 60);

  std::atomic<bool> stop{false};
  int64_t reached = 0;
  std::vector<float> vectors(all.size(), 7.0f);
  EncodeOptions options{.max_batch_tokens = 100, .stop = &stop};
  options.progress = [&](int64_t now, int64_t) { reached = now, stop = now >= 20; };
  const Matrix matrix(vectors.data(), 60, ModelDirectory::kWidth);
  EXPECT_EQ(encoder.encode(views, matrix, options).code(), Code::kCancelled);
  ASSERT_GE(reached, 20);
  ASSERT_LT(reached, 60);
  const auto computed = static_cast<size_t>(reached * ModelDirectory::kWidth);
  expect_same_bits(std::span(vectors).first(computed), std::span(all).first(computed), "before the stop");
  for (size_t i = computed; i < vectors.size(); ++i) ASSERT_EQ(vectors[i], 7.0f);
  stop = false;
  options.progress = nullptr;
  EXPECT_TRUE(encoder.encode(views, matrix, options).ok());
  expect_same_bits(vectors, all, "after the stop");
}

TEST(Encoder, RowsMayLieApart) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  const auto dense_rows = encode(encoder, kTexts);
  constexpr int64_t kStride = ModelDirectory::kWidth + 3;
  std::vector<float> apart(kTexts.size() * kStride, 7.0f);
  const Matrix matrix(apart.data(), std::ssize(kTexts), ModelDirectory::kWidth, kStride);
  ASSERT_TRUE(encoder.encode(kTexts, matrix, {.max_batch_tokens = 10}).ok());
  for (size_t i = 0; i < kTexts.size(); ++i) {
    expect_same_bits(std::span(apart).subspan(i * kStride, ModelDirectory::kWidth),
                     std::span(dense_rows).subspan(i * ModelDirectory::kWidth, ModelDirectory::kWidth), "row");
    EXPECT_EQ(apart[i * kStride + ModelDirectory::kWidth], 7.0f);
  }
}

TEST(Encoder, WrongCallsSayWhatIsWrong) {
  const ModelDirectory directory;
  const Encoder encoder = load(directory);
  std::vector<float> out(1000);
  const auto with = [&](const Matrix& matrix, const EncodeOptions& options = {}) {
    return encoder.encode(Texts{"a", "b"}, matrix, options);
  };
  expect_error(encoder.encode(Texts{}).status(), Code::kInvalidArgument, {"no texts"});
  expect_error(encoder.encode_tokens(Texts{}).status(), Code::kInvalidArgument, {"no texts"});
  expect_error(with(Matrix(out.data(), 3, 24)), Code::kInvalidArgument, {"[2, 24]", "[3, 24]"});
  expect_error(with(Matrix(out.data(), 2, 25)), Code::kInvalidArgument, {"[2, 24]", "[2, 25]"});
  expect_error(with(Matrix(out.data(), 2, 24, 23)), Code::kInvalidArgument, {"stride 23"});
  expect_error(with(Matrix(nullptr, 2, 24)), Code::kInvalidArgument, {"no data"});
  expect_error(with(Matrix(out.data(), 2, 24), {.max_batch_tokens = 0}), Code::kInvalidArgument, {"max_batch_tokens", "0"});
  expect_error(with(Matrix(out.data(), 2, 24), {.max_tokens = -1}), Code::kInvalidArgument, {"max_tokens", "-1"});
  expect_error(with(Matrix(out.data(), 2, 24), {.pooling = static_cast<Pooling>(9)}), Code::kInvalidArgument, {"pooling 9"});
  expect_error(Encoder::load(directory.path(), {.threads = -1}).status(), Code::kInvalidArgument, {"-1"});
  expect_error(Encoder::load(directory.path(), {.isa = "nonsense"}).status(), Code::kInvalidArgument, {"nonsense"});
}

TEST(Encoder, AnIdOutsideOfTheTableIsAnError) {
  const ModelDirectory directory;
  std::ofstream(directory.path() + "/vocab.txt", std::ios::app) << "beyond\n";  // one more word than the table has rows
  const Encoder encoder = load(directory);
  EXPECT_TRUE(encoder.encode(Texts{"the cat"}).ok());
  expect_error(encoder.encode(Texts{"beyond"}).status(), Code::kOutOfRange, {std::to_string(directory.vocabulary())});
}

}  // namespace
}  // namespace saccade::test
