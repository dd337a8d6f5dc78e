// Models that cannot be right: the code, and the names and values in the message.
#include <gtest/gtest.h>

#include <functional>

#include "saccade/encoder.h"
#include "tests/model/model_files.h"

namespace saccade::test {
namespace {

// What a bad config or tensor is answered with.
struct BadModel {
  const char* what;
  const char* model;
  std::function<void(ModelCopy&)> change;
  Code code;
  std::vector<std::string> parts;  // of the message
};

TEST(BadModels, AreRefusedByName) {
  const auto set = [](const char* key, nlohmann::json value) { return [=](ModelCopy& copy) { copy.config[key] = value; }; };
  const auto drop = [](const char* name) { return [=](ModelCopy& copy) { EXPECT_EQ(copy.tensors.erase(name), 1u) << name; }; };
  const BadModel cases[] = {
      {"architecture",
       "bert",
       set("architectures", {"BertForQuestionAnswering"}),
       Code::kUnsupported,
       {"config.json: architectures", "\"BertForQuestionAnswering\"", "ForSequenceClassification", "ModernBert"}},
      {"model type",
       "bert",
       [](ModelCopy& c) { c.config.erase("architectures"), c.config["model_type"] = "t5"; },
       Code::kUnsupported,
       {"model_type", "\"t5\"", "nomic_bert"}},
      {"nothing that tells the family",
       "bert",
       [](ModelCopy& c) {
         c.config = {{"hidden_size", 32}};
       },
       Code::kCorruptData,
       {"config.json", "\"model_type\" is missing"}},
      {"activation", "bert", set("hidden_act", "mish"), Code::kUnsupported, {"config.json: hidden_act", "\"mish\"", "gelu_new"}},
      {"activation of no type", "bert", set("hidden_act", 3), Code::kCorruptData, {"hidden_act", "a string", "3"}},
      {"activation of the head",
       "modernbert",
       set("classifier_activation", "mish"),
       Code::kUnsupported,
       {"config.json: classifier_activation", "\"mish\""}},
      {"position embeddings",
       "bert",
       set("position_embedding_type", "relative_key"),
       Code::kUnsupported,
       {"position_embedding_type", "\"relative_key\"", "absolute"}},
      {"decoder", "bert", set("is_decoder", true), Code::kUnsupported, {"is_decoder", "true", "false"}},
      {"heads", "bert", set("num_attention_heads", 5), Code::kCorruptData, {"5 heads", "32"}},
      {"negative size", "bert", set("hidden_size", -32), Code::kCorruptData, {"hidden_size", "integer", "-32"}},
      {"large size", "bert", set("max_position_embeddings", 1e15), Code::kCorruptData, {"max_position_embeddings", "1048576"}},
      {"eps", "bert", set("layer_norm_eps", -1), Code::kCorruptData, {"layer_norm_eps", "-1", "positive"}},
      {"head_dim", "gte", set("head_dim", 8), Code::kUnsupported, {"head_dim", "8", "16"}},
      {"labels",
       "bert",
       [](ModelCopy& c) {
         c.config["architectures"] = {"BertForTokenClassification"};
         c.config["id2label"] = {{"0", "a"}, {"2", "b"}};
       },
       Code::kCorruptData,
       {"id2label", "\"2\"", "0 to 1"}},
      {"label count",
       "bert",
       [](ModelCopy& c) {
         c.config["architectures"] = {"BertForSequenceClassification"};
         c.config["id2label"] = {{"0", "a"}};
       },
       Code::kCorruptData,
       {"'classifier.weight'", "[3, 32]", "[1, 32]"}},
      {"vocabulary",
       "bert",
       set("vocab_size", 121),
       Code::kCorruptData,
       {"model.safetensors", "'embeddings.word_embeddings.weight'", "[120, 32]", "[121, 32]"}},
      {"more layers than the file",
       "bert",
       set("num_hidden_layers", 4),
       Code::kNotFound,
       {"model.safetensors", "'encoder.layer.3.attention.self.query.weight'",
        "'bert.encoder.layer.3.attention.self.query.weight'"}},
      {"missing tensor",
       "bert",
       drop("encoder.layer.1.output.LayerNorm.bias"),
       Code::kNotFound,
       {"'encoder.layer.1.output.LayerNorm.bias'", "'bert.encoder.layer.1.output.LayerNorm.beta'"}},
      {"missing fused tensor",
       "gte",
       drop("encoder.layer.0.attention.qkv_proj.weight"),
       Code::kNotFound,
       {"'encoder.layer.0.attention.qkv_proj.weight'", "'layers.0.self_attn.q_proj.weight'"}},
      {"missing classifier",
       "bert",
       [](ModelCopy& c) {
         c.config["architectures"] = {"BertForSequenceClassification"};
         c.tensors.erase("classifier.weight");
       },
       Code::kNotFound,
       {"'classifier.weight'"}},
      {"dtype",
       "bert",
       [](ModelCopy& c) { c.tensors.at("embeddings.LayerNorm.weight").dtype = "I32"; },
       Code::kUnsupported,
       {"'embeddings.LayerNorm.weight'", "I32", "F32, F16 or BF16"}},
      {"positions all padding", "roberta", set("pad_token_id", 303), Code::kCorruptData, {"304 positions", "304"}},
      {"buckets",
       "mpnet",
       set("relative_attention_num_buckets", 64),
       Code::kCorruptData,
       {"relative_attention_num_buckets", "64"}},
      {"layer type",
       "modernbert",
       set("layer_types", {"full_attention", "linear_attention", "full_attention"}),
       Code::kUnsupported,
       {"layer_types[1]", "\"linear_attention\"", "sliding_attention"}},
      {"layer types",
       "modernbert",
       set("layer_types", {"full_attention"}),
       Code::kCorruptData,
       {"layer_types", "1 entries", "3 layers"}},
      {"classifier pooling",
       "modernbert",
       set("classifier_pooling", "max"),
       Code::kUnsupported,
       {"classifier_pooling", "\"max\"", "mean"}},
      {"RoPE",
       "gte_native",
       set("rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 10000}}),
       Code::kUnsupported,
       {"rope_parameters.rope_type", "\"yarn\"", "ntk"}},
      {"base of RoPE",
       "gte_native",
       set("rope_parameters", {{"rope_theta", 0}}),
       Code::kCorruptData,
       {"rope_theta", "0", "positive"}},
      {"old base of RoPE",
       "nomic_bert",
       set("rotary_emb_base", 1e300),
       Code::kCorruptData,
       {"rotary_emb_base", "300", "positive"}},
      {"mixed scaling",
       "gte",
       set("rope_scaling", {{"type", "ntk"}, {"factor", 2}, {"mixed_b", 0.5}}),
       Code::kUnsupported,
       {"mixed_b"}},
      {"positions of GTE",
       "gte",
       set("position_embedding_type", "absolute"),
       Code::kUnsupported,
       {"position_embedding_type", "rope"}},
      {"norm of GTE", "gte", set("layer_norm_type", "rms_norm"), Code::kUnsupported, {"layer_norm_type", "\"rms_norm\""}},
      {"scale of GTE", "gte", set("logn_attention_scale", true), Code::kUnsupported, {"logn_attention_scale", "true"}},
      {"experts", "nomic_bert", set("num_experts", 8), Code::kUnsupported, {"num_experts", "8"}},
      {"pre-norm", "nomic_bert", set("prenorm", true), Code::kUnsupported, {"prenorm", "true"}},
      {"feed-forward without a gate",
       "nomic_bert",
       set("activation_function", "gelu"),
       Code::kUnsupported,
       {"activation_function", "\"gelu\"", "swiglu"}},
      {"part of a head", "nomic_bert", set("rotary_emb_fraction", 0.5), Code::kUnsupported, {"rotary_emb_fraction", "0.5"}},
  };
  for (const BadModel& bad : cases) {
    ModelCopy copy(bad.model);
    bad.change(copy);
    const auto model = load_graph(copy.write());
    EXPECT_EQ(model.status().code(), bad.code) << bad.what << ": " << model.status().to_string();
    for (const std::string& part : bad.parts) {
      EXPECT_NE(model.status().message().find(part), std::string::npos)
          << bad.what << ": " << part << " in " << model.status().message();
    }
  }
}

TEST(BadModels, DirectoriesAreRefused) {
  ModelCopy copy("bert");
  copy.write();
  EXPECT_EQ(load_graph(copy.folder / "none").status().code(), Code::kNotFound);
  EXPECT_EQ(load_graph(copy.folder / "config.json").status().code(), Code::kInvalidArgument);
  write_bytes(copy.folder / "config.json", "{\"model_type\": \"b\xff\"}");
  EXPECT_EQ(load_graph(copy.folder.path()).status().code(), Code::kCorruptData);
  write_bytes(copy.folder / "config.json", "[]");
  EXPECT_EQ(load_graph(copy.folder.path()).status().code(), Code::kCorruptData);
  std::filesystem::remove(copy.folder / "config.json");
  EXPECT_EQ(load_graph(copy.folder.path()).status().code(), Code::kNotFound);
  std::filesystem::create_directory(copy.folder / "config.json");
  EXPECT_EQ(load_graph(copy.folder.path()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace saccade::test
