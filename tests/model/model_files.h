// Model directories that tests write: safetensors files read and written by plain code of their own, and a temporary copy of a
// model of tests/data/models whose config and tensors a test changes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace saccade::test {

struct RawTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;

  template <class T>
  std::vector<T> values() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
};
using RawTensors = std::map<std::string, RawTensor>;

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

inline void write_bytes(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  EXPECT_TRUE(file) << path;
}

// A safetensors file of this header, the length put before it.
inline std::string safetensors(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + data;
}

inline RawTensors read_tensors(const std::string& path) {
  const std::string file = read_bytes(path);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  RawTensors tensors;
  const nlohmann::json header = nlohmann::json::parse(file.substr(8, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    tensors[name] = {entry["dtype"], entry["shape"], file.substr(8 + length + begin, end - begin)};
  }
  return tensors;
}

inline void write_tensors(const std::string& path, const RawTensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  write_bytes(path, safetensors(header.dump(), data));
}

// An empty directory that goes with the object.
class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "saccade_model_XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr) << pattern;
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string model_path(const std::string& name) { return std::string(SACCADE_TEST_DATA) + "/models/" + name; }

// A copy of a model that is written as it is now by write().
struct ModelCopy {
  explicit ModelCopy(const std::string& name)
      : config(nlohmann::json::parse(read_bytes(model_path(name) + "/config.json"))),
        tensors(read_tensors(model_path(name) + "/model.safetensors")) {}

  // Renames every tensor whose name holds `from`.
  ModelCopy& rename(const std::string& from, const std::string& to) {
    RawTensors renamed;
    for (auto& [name, tensor] : tensors) {
      const size_t at = name.find(from);
      renamed[at == std::string::npos ? name : std::string(name).replace(at, from.size(), to)] = std::move(tensor);
    }
    tensors = std::move(renamed);
    return *this;
  }
  const std::string& write() {
    write_bytes(folder / "config.json", config.dump());
    write_tensors(folder / "model.safetensors", tensors);
    return folder.path();
  }

  nlohmann::json config;
  RawTensors tensors;
  Folder folder;
};

}  // namespace saccade::test
