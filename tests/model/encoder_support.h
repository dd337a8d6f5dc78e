// What the tests of Encoder share.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "saccade/encoder.h"
#include "tests/support/model_directory.h"

namespace saccade::test {

using nlohmann::json;
using Texts = std::vector<std::string_view>;

inline Encoder load(const ModelDirectory& directory, const LoadOptions& options = {}) {
  auto encoder = Encoder::load(directory.path(), options);
  if (!encoder) throw std::runtime_error(encoder.status().to_string());
  return *std::move(encoder);
}

// The code, and that the message holds these parts.
inline void expect_error(const Status& status, Code code, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  for (const std::string& part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in: " << status.message();
}

}  // namespace saccade::test
