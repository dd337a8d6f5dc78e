// Every family and head against float64 outputs of transformers for the same tiny random model (tests/goldens/make_models.py), on
// the ISA under test; and the spellings and files that must give the same.
#include <gtest/gtest.h>

#include <numeric>

#include "saccade/encoder.h"
#include "saccade/saccade.h"
#include "tests/model/model_files.h"
#include "tests/support/compare.h"

namespace saccade::test {
namespace {

constexpr double kTolerance = 1e-5;

struct Outputs {
  std::vector<float> hidden, logits;
  int64_t width = 0, logits_width = 0;
};

struct Input {
  std::vector<int64_t> lengths;
  std::vector<int32_t> ids, type_ids;
};

Input golden_input(const RawTensors& golden) {
  Input input{golden.at("lengths").values<int64_t>(), golden.at("ids").values<int32_t>(), {}};
  if (golden.count("type_ids") != 0) input.type_ids = golden.at("type_ids").values<int32_t>();
  return input;
}

Outputs run(const ModelGraph& model, const Input& input, const PlanOptions& options = {}) {
  Outputs out;
  const auto plan = Plan::compile(model.graph, options);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  if (!plan.ok()) return out;
  auto context = Context::create(*plan, {.threads = 2});
  EXPECT_TRUE(context.ok()) << context.status().to_string();
  if (!context.ok()) return out;
  Batch batch;
  batch.assign_lengths(input.lengths);
  const auto tokens = static_cast<int64_t>(input.ids.size());
  std::vector<saccade::Input> inputs = {{"ids", packed(ConstMatrix(input.ids.data(), tokens))}};
  if (model.type_ids) inputs.push_back({"type_ids", packed(ConstMatrix(input.type_ids.data(), tokens))});
  out.width = model.width;
  out.hidden.resize(static_cast<size_t>(tokens * model.width));
  std::vector<Output> outputs = {{"hidden", packed(Matrix(out.hidden.data(), tokens, model.width))}};
  if (model.head != Head::kNone) {
    out.logits_width = model.head == Head::kMaskedLm ? model.vocabulary : static_cast<int64_t>(model.labels.size());
    const int64_t rows = model.head == Head::kSequenceClassification ? batch.sequences() : tokens;
    out.logits.resize(static_cast<size_t>(rows * out.logits_width));
    outputs.push_back({"logits", packed(Matrix(out.logits.data(), rows, out.logits_width))});
  }
  const Status status = context->run(batch, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return out;
}

// Rows `rows` of `got` (all of them when empty) against the golden ones.
void expect_rows(const std::string& what, const std::vector<float>& got, int64_t width, const RawTensor& want,
                 std::vector<int32_t> rows) {
  const auto values = want.values<float>();
  if (rows.empty()) {
    rows.resize(values.size() / static_cast<size_t>(width));
    std::iota(rows.begin(), rows.end(), 0);
  }
  ASSERT_EQ(values.size(), rows.size() * static_cast<size_t>(width)) << what;
  Comparison comparison(what);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t j = 0; j < static_cast<size_t>(width); ++j) {
      const size_t at = static_cast<size_t>(rows[r]) * static_cast<size_t>(width) + j;
      ASSERT_LT(at, got.size()) << what;
      comparison.add(r, j, got[at], values[r * static_cast<size_t>(width) + j], kTolerance);
    }
  }
  EXPECT_TRUE(comparison.result());
}

void expect_mean(const std::string& what, const Outputs& got, const RawTensor& want) {
  const auto values = want.values<double>();
  const size_t width = values.size(), rows = got.hidden.size() / width;
  Comparison comparison(what + ", mean of all rows");
  for (size_t j = 0; j < width; ++j) {
    double sum = 0;
    for (size_t r = 0; r < rows; ++r) sum += got.hidden[r * width + j];
    comparison.add(0, j, sum / static_cast<double>(rows), values[j], kTolerance);
  }
  EXPECT_TRUE(comparison.result());
}

void expect_hidden(const std::string& what, const Outputs& got, const RawTensors& golden) {
  expect_rows(what, got.hidden, got.width, golden.at("hidden"), golden.at("rows").values<int32_t>());
  expect_mean(what, got, golden.at("hidden_mean"));
}

RawTensors golden_of(const std::string& name) { return read_tensors(model_path(name) + "/expected.safetensors"); }

// Hidden states of the model in a directory against the golden ones of `name`.
void expect_model(const std::string& directory, const std::string& name, const std::string& what) {
  const auto model = load_graph(directory);
  ASSERT_TRUE(model.ok()) << what << ": " << model.status().to_string();
  const RawTensors golden = golden_of(name);
  expect_hidden(what, run(*model, golden_input(golden)), golden);
}

struct FamilyCase {
  const char* name;
  const char* classes;  // what its architectures begin with
  const char* prefix;   // of its tensors in files of models with heads
  int64_t max_tokens;
};
constexpr FamilyCase kFamilies[] = {
    {"bert", "Bert", "bert.", 310},
    {"distilbert", "DistilBert", "distilbert.", 310},
    {"roberta", "Roberta", "roberta.", 300},
    {"mpnet", "MPNet", "mpnet.", 300},
    {"modernbert", "ModernBert", "model.", 1300},
    {"nomic_bert", "NomicBert", "nomic_bert.", 400},
    {"gte", "New", "new.", 400},
};

TEST(Models, HiddenStates) {
  for (const FamilyCase& family : kFamilies) {
    const auto model = load_graph(model_path(family.name));
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    EXPECT_EQ(model->family, family.name);
    EXPECT_EQ(model->architecture, std::string(family.classes) + "Model");
    EXPECT_EQ(model->max_tokens, family.max_tokens) << family.name;
    EXPECT_EQ(model->dtype, "f32");
    EXPECT_EQ(model->vocabulary, 120);
    EXPECT_EQ(model->head, Head::kNone);
    EXPECT_EQ(model->type_ids, std::string_view(family.name) == "bert" || std::string_view(family.name) == "nomic_bert");
    const RawTensors golden = golden_of(family.name);
    expect_hidden(family.name, run(*model, golden_input(golden)), golden);
  }
}

TEST(Models, Heads) {
  struct HeadCase {
    const char* suffix;
    Head head;
    const char* golden;
  };
  for (const FamilyCase& family : kFamilies) {
    for (const auto& [suffix, head, output] : {HeadCase{"ForSequenceClassification", Head::kSequenceClassification, "sequence"},
                                               HeadCase{"ForTokenClassification", Head::kTokenClassification, "token"},
                                               HeadCase{"ForMaskedLM", Head::kMaskedLm, "masked"}}) {
      ModelCopy copy(family.name);
      copy.config["architectures"] = {std::string(family.classes) + suffix};
      const auto model = load_graph(copy.write());
      ASSERT_TRUE(model.ok()) << model.status().to_string();
      EXPECT_EQ(model->head, head);
      if (head != Head::kMaskedLm) {
        EXPECT_EQ(model->labels, (std::vector<std::string>{"no", "yes", "maybe"}));
      }
      const RawTensors golden = golden_of(family.name);
      const Outputs got = run(*model, golden_input(golden));
      const std::string what = std::string(family.classes) + suffix;
      expect_hidden(what, got, golden);
      std::vector<int32_t> rows;
      if (head == Head::kTokenClassification) rows = golden.at("rows").values<int32_t>();
      if (head == Head::kMaskedLm) rows = golden.at("masked_rows").values<int32_t>();
      expect_rows(what, got.logits, got.logits_width, golden.at(output), rows);
    }
  }
}

TEST(Models, SpellingsGiveTheSame) {
  for (const FamilyCase& family : kFamilies) {
    ModelCopy prefixed(family.name);
    RawTensors tensors;
    for (auto& [name, tensor] : prefixed.tensors) tensors[family.prefix + name] = tensor;
    prefixed.tensors = tensors;
    expect_model(prefixed.write(), family.name, std::string(family.name) + " with its prefix");
  }
  for (const char* name : {"bert", "roberta", "distilbert"}) {
    ModelCopy old(name);
    old.rename("LayerNorm.weight", "LayerNorm.gamma").rename("LayerNorm.bias", "LayerNorm.beta");
    expect_model(old.write(), name, std::string(name) + " with gamma and beta");
  }
  ModelCopy camembert("roberta");
  camembert.config["architectures"] = {"CamembertModel"};
  expect_model(camembert.write(), "roberta", "CamembertModel");
  camembert.config["architectures"] = {"XLMRobertaModel"};
  expect_model(camembert.write(), "roberta", "XLMRobertaModel");
  camembert.config.erase("architectures");
  expect_model(camembert.write(), "roberta", "no architectures but a model_type");
  ModelCopy without_type("bert");
  without_type.config.erase("model_type");
  expect_model(without_type.write(), "bert", "no model_type but architectures");

  expect_model(model_path("nomic_bert_native"), "nomic_bert", "nomic_bert as transformers 5 saves it");
  ModelCopy modernbert("modernbert");
  modernbert.config = nlohmann::json::parse(read_bytes(model_path("modernbert") + "/config_old.json"));
  expect_model(modernbert.write(), "modernbert", "modernbert with an old config");
}

TEST(Models, GteAsTransformers5SavesIt) {
  const auto model = load_graph(model_path("gte_native"));
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->architecture, "GteModel");
  const RawTensors golden = golden_of("gte");
  const Outputs got = run(*model, golden_input(golden));
  expect_rows("gte_native, linear RoPE", got.hidden, got.width, golden.at("linear_hidden"), golden.at("rows").values<int32_t>());
}

TEST(Models, SixteenBitWeights) {
  struct Rounded {
    const char *name, *architecture, *dtype;
  };
  for (const auto& [name, architecture, dtype] :
       {Rounded{"bert_f16", "BertForMaskedLM", "f16"}, Rounded{"bert_bf16", "BertForMaskedLM", "bf16"},
        Rounded{"modernbert_bf16", "ModernBertForMaskedLM", "bf16"}}) {
    ModelCopy copy(name);
    copy.config["architectures"] = {architecture};
    const auto model = load_graph(copy.write());
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    EXPECT_EQ(model->dtype, dtype);
    const RawTensors golden = golden_of(name);
    const Outputs got = run(*model, golden_input(golden));
    expect_hidden(name, got, golden);
    expect_rows(name, got.logits, got.logits_width, golden.at("masked"), golden.at("masked_rows").values<int32_t>());
  }
}

TEST(Models, LongText) {
  const auto model = load_graph(model_path("modernbert"));
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  const RawTensors golden = golden_of("modernbert");
  const Input input{{1200}, golden.at("long_ids").values<int32_t>(), {}};
  const Outputs got = run(*model, input);
  expect_rows("1200 tokens", got.hidden, got.width, golden.at("long_hidden"), golden.at("long_rows").values<int32_t>());
  expect_mean("1200 tokens", got, golden.at("long_hidden_mean"));
}

TEST(Models, ShardsGiveTheSame) {
  ModelCopy copy("bert");
  nlohmann::json map;
  RawTensors shards[3];
  size_t count = 0;
  for (const auto& [name, tensor] : copy.tensors) {
    const size_t shard = count++ % 3;
    shards[shard][name] = tensor;
    map[name] = "model-" + std::to_string(shard) + ".safetensors";
  }
  write_bytes(copy.folder / "config.json", copy.config.dump());
  write_bytes(copy.folder / "model.safetensors.index.json",
              nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  for (size_t shard = 0; shard < 3; ++shard)
    write_tensors(copy.folder / ("model-" + std::to_string(shard) + ".safetensors"), shards[shard]);
  expect_model(copy.folder.path(), "bert", "three shards");
}

TEST(Models, DecoderOfItsOwn) {
  ModelCopy copy("bert");
  copy.config["architectures"] = {"BertForMaskedLM"};
  copy.config["tie_word_embeddings"] = false;
  const auto missing = load_graph(copy.write());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().message().find("'cls.predictions.decoder.weight'"), std::string::npos) << missing.status().message();
  copy.tensors["cls.predictions.decoder.weight"] = copy.tensors.at("embeddings.word_embeddings.weight");
  const auto model = load_graph(copy.write());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  const RawTensors golden = golden_of("bert");
  const Outputs got = run(*model, golden_input(golden));
  expect_rows("decoder of its own", got.logits, got.logits_width, golden.at("masked"),
              golden.at("masked_rows").values<int32_t>());
}

TEST(Models, WeightsMayGoOncePacked) {
  for (const FamilyCase& family : kFamilies) {
    ModelCopy copy(family.name);
    copy.config["architectures"] = {std::string(family.classes) + "ForMaskedLM"};
    const auto model = load_graph(copy.write());
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    const RawTensors golden = golden_of(family.name);
    const Outputs got = run(*model, golden_input(golden), {.release_weights = true});
    expect_hidden(family.name, got, golden);
    expect_rows(family.name, got.logits, got.logits_width, golden.at("masked"), golden.at("masked_rows").values<int32_t>());
  }
}

TEST(Models, UnusedTensorsAreListed) {
  ModelCopy copy("bert");
  copy.tensors["embeddings.position_ids"] = {"I64", {1, 2}, std::string(16, '\0')};
  copy.tensors["something.else"] = {"I8", {3}, "abc"};
  const auto model = load_graph(copy.write());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  const std::vector<std::string> want = {"classifier.bias",
                                         "classifier.weight",
                                         "cls.predictions.bias",
                                         "cls.predictions.transform.LayerNorm.bias",
                                         "cls.predictions.transform.LayerNorm.weight",
                                         "cls.predictions.transform.dense.bias",
                                         "cls.predictions.transform.dense.weight",
                                         "pooler.dense.bias",
                                         "pooler.dense.weight",
                                         "something.else"};
  EXPECT_EQ(model->unused_tensors, want);
  int64_t parameters = 0;
  for (const auto& [name, tensor] : copy.tensors) {
    const bool used = name.starts_with("e") && name != "embeddings.position_ids";
    if (used) parameters += static_cast<int64_t>(tensor.bytes.size() / 4);
  }
  EXPECT_EQ(model->parameters, parameters);
}

// A published embedder may keep the name of a masked-LM class without the tensors of its head.
TEST(Models, MaskedLmWithoutItsHead) {
  ModelCopy copy("mpnet");
  copy.config["architectures"] = {"MPNetForMaskedLM"};
  for (auto it = copy.tensors.begin(); it != copy.tensors.end();)
    it = it->first.starts_with("lm_head") ? copy.tensors.erase(it) : ++it;
  const auto model = load_graph(copy.write());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->head, Head::kNone);
  EXPECT_FALSE(model->logits.valid());
}

TEST(Models, LabelsWithoutNames) {
  ModelCopy copy("bert");
  copy.config["architectures"] = {"BertForTokenClassification"};
  copy.config.erase("id2label");
  copy.config["num_labels"] = 3;
  const auto model = load_graph(copy.write());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

TEST(Models, LongerThanItsPositions) {
  for (const FamilyCase& family : kFamilies) {
    const auto model = load_graph(model_path(family.name));
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    auto context = Context::create(*Plan::compile(model->graph));
    ASSERT_TRUE(context.ok()) << context.status().to_string();
    const auto run_length = [&](int64_t length) {
      Batch batch;
      batch.assign_lengths(std::span<const int64_t>(&length, 1));
      const std::vector<int32_t> ids(static_cast<size_t>(length)), &type_ids = ids;
      std::vector<float> hidden(static_cast<size_t>(length * model->width));
      std::vector<saccade::Input> inputs = {{"ids", packed(ConstMatrix(ids.data(), length))}};
      if (model->type_ids) inputs.push_back({"type_ids", packed(ConstMatrix(type_ids.data(), length))});
      const Output output{"hidden", packed(Matrix(hidden.data(), length, model->width))};
      return context->run(batch, inputs, std::span(&output, 1));
    };
    EXPECT_TRUE(run_length(model->max_tokens).ok()) << family.name;
    EXPECT_EQ(run_length(model->max_tokens + 1).code(), Code::kOutOfRange) << family.name;
  }
}

// Beyond the trained length such a model would rotate each text by a base of its own.
TEST(Models, NomicWithAScalingFactorEndsAtItsTrainedLength) {
  ModelCopy copy("nomic_bert");
  copy.config["rotary_scaling_factor"] = 2;
  copy.config["max_trained_positions"] = 350;
  const auto model = load_graph(copy.write());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->max_tokens, 350);
  expect_model(copy.folder.path(), "nomic_bert", "rotary_scaling_factor 2");
}

}  // namespace
}  // namespace saccade::test
