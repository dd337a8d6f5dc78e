// What the tests of tokenizers share: the data folder, folders of their own, and the strings of the data.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/tokenizer/utf8.h"
#include "saccade/tokenizer.h"

namespace saccade::tokenizer_test {

using nlohmann::json;
inline const std::string kData = SACCADE_TEST_DATA "/tokenizers/";

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline json document(const std::string& base) { return json::parse(content_of(kData + base + ".json")); }

// A folder that goes with the object.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(testing::TempDir() + "saccade_tokenizer_" + name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
  }

 private:
  std::string path_;
};

// Reads what make_tokenizer_data.py wrote.
class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  bool at_end() const { return at_ == bytes_.size(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }
  std::string take(size_t size) {
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  uint16_t hash() {
    const std::string two = take(2);
    return static_cast<uint16_t>(static_cast<unsigned char>(two.at(0)) | static_cast<unsigned char>(two.at(1)) << 8);
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

inline const std::vector<std::string>& strings() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> read;
    Reader reader(content_of(kData + "strings.bin"));
    while (!reader.at_end()) read.push_back(reader.take(reader.varint()));
    return read;
  }();
  return all;
}

inline std::string shown(std::string_view text) { return json(repaired(text.substr(0, 300))).dump(-1, ' ', true); }
inline std::string shown(const Tokens& tokens) { return json(tokens.ids).dump().substr(0, 600); }

inline Tokens encoded(const Tokenizer& tokenizer, std::string_view text, const TokenizeOptions& options = {}) {
  Tokens tokens;
  const Status status = tokenizer.encode(text, options, tokens);
  EXPECT_TRUE(status.ok()) << status.to_string() << ": " << shown(text);
  return tokens;
}

}  // namespace saccade::tokenizer_test
