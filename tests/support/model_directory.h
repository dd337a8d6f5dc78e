// A published model directory in miniature, in the temporary directory: a BERT of random weights with vocab.txt, and whatever a
// test adds, changes or takes away.
#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace saccade::test {

struct TensorData {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using TensorMap = std::map<std::string, TensorData>;

// A file in the safetensors format: length of the header, header, data.
inline std::string safetensors(const TensorMap& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return file + text + data;
}

class ModelDirectory {
 public:
  static constexpr int64_t kLayers = 2, kWidth = 24, kHeads = 3, kFfn = 40, kPositions = 64;

  // `labels` > 0 adds a sequence classification head.
  explicit ModelDirectory(int64_t labels = 0) {
    std::string pattern = (std::filesystem::temp_directory_path() / "saccade-model-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    vocabulary_ = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "passage", ":", "the", "cat", "dog", "house", "river"};
    for (char c = 'a'; c <= 'z'; ++c) vocabulary_.push_back(std::string(1, c)), vocabulary_.push_back("##" + std::string(1, c));
    std::string list;
    for (const std::string& word : vocabulary_) list += word + "\n";
    write("vocab.txt", list);
    write("tokenizer_config.json", nlohmann::json{{"do_lower_case", true}, {"model_max_length", 48}});
    nlohmann::json config = {{"model_type", "bert"},
                             {"architectures", {labels > 0 ? "BertForSequenceClassification" : "BertModel"}},
                             {"vocab_size", vocabulary_.size()},
                             {"hidden_size", kWidth},
                             {"num_hidden_layers", kLayers},
                             {"num_attention_heads", kHeads},
                             {"intermediate_size", kFfn},
                             {"max_position_embeddings", kPositions},
                             {"type_vocab_size", 2}};
    for (int64_t i = 0; i < labels; ++i) config["id2label"][std::to_string(i)] = "label " + std::to_string(i);
    write("config.json", config);
    write("model.safetensors", safetensors(bert(labels)));
  }
  ~ModelDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ModelDirectory(const ModelDirectory&) = delete;
  ModelDirectory& operator=(const ModelDirectory&) = delete;

  const std::string& path() const { return path_; }
  size_t vocabulary() const { return vocabulary_.size(); }

  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  void write(const std::string& name, const nlohmann::json& content) const { write(name, content.dump()); }
  void remove(const std::string& name) const { std::filesystem::remove_all(std::filesystem::path(path_) / name); }
  // config.json and the like, with the keys of `changes` replaced.
  void change(const std::string& name, const nlohmann::json& changes) const {
    nlohmann::json content = nlohmann::json::parse(std::ifstream(std::filesystem::path(path_) / name));
    content.update(changes);
    write(name, content);
  }

  // modules.json of these types; the module i > 0 lies in "i_TYPE".
  void write_modules(const std::vector<std::string>& types) const {
    nlohmann::json modules = nlohmann::json::array();
    for (size_t i = 0; i < types.size(); ++i) {
      modules.push_back({{"idx", i},
                         {"name", std::to_string(i)},
                         {"path", i == 0 ? "" : std::to_string(i) + "_" + types[i]},
                         {"type", "sentence_transformers.models." + types[i]}});
    }
    write("modules.json", modules);
  }

  // Random numbers of variance 1 / (last dimension).
  static TensorData random_tensor(std::vector<int64_t> shape, uint32_t seed) {
    Random random(seed);
    TensorData tensor{std::move(shape), {}};
    size_t size = 1;
    for (const int64_t side : tensor.shape) size *= static_cast<size_t>(side);
    tensor.values.resize(size);
    const float scale = std::sqrt(1.0f / static_cast<float>(tensor.shape.back()));
    for (float& x : tensor.values) x = random.normal() * scale;
    return tensor;
  }

 private:
  TensorMap bert(int64_t labels) const {
    TensorMap tensors;
    uint32_t seed = 1;
    const auto linear = [&](const std::string& name, int64_t in, int64_t out) {
      tensors[name + ".weight"] = random_tensor({out, in}, seed++);
      tensors[name + ".bias"] = random_tensor({out}, seed++);
    };
    const auto norm = [&](const std::string& name) {
      tensors[name + ".weight"] = random_tensor({kWidth}, seed++);
      for (float& x : tensors[name + ".weight"].values) x += 1;
      tensors[name + ".bias"] = random_tensor({kWidth}, seed++);
    };
    const std::string prefix = labels > 0 ? "bert." : "";
    const auto table = [&](const char* name, int64_t rows) {
      tensors[prefix + "embeddings." + name + "_embeddings.weight"] = random_tensor({rows, kWidth}, seed++);
    };
    table("word", static_cast<int64_t>(vocabulary_.size()));
    table("position", kPositions);
    table("token_type", 2);
    norm(prefix + "embeddings.LayerNorm");
    for (int64_t i = 0; i < kLayers; ++i) {
      const std::string layer = prefix + "encoder.layer." + std::to_string(i) + ".";
      for (const char* part : {"query", "key", "value"}) linear(layer + "attention.self." + part, kWidth, kWidth);
      linear(layer + "attention.output.dense", kWidth, kWidth);
      norm(layer + "attention.output.LayerNorm");
      linear(layer + "intermediate.dense", kWidth, kFfn);
      linear(layer + "output.dense", kFfn, kWidth);
      norm(layer + "output.LayerNorm");
    }
    if (labels > 0) {
      linear(prefix + "pooler.dense", kWidth, kWidth);
      linear("classifier", kWidth, labels);
    }
    return tensors;
  }

  std::string path_;
  std::vector<std::string> vocabulary_;
};

}  // namespace saccade::test
