// What both tests of mistakes share: numbers to be wrong with, and the check of a Status.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "saccade/status.h"

namespace saccade::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr int64_t kHuge = int64_t{1} << 60;
inline constexpr Code kInvalid = Code::kInvalidArgument, kRange = Code::kOutOfRange;

// The status has this code, and its message holds the words (the op, the argument, what was expected, what came).
inline void expect_error(const Status& status, Code code, const std::vector<std::string>& words, const std::string& what) {
  EXPECT_STREQ(code_name(status.code()), code_name(code)) << what << ": " << status.to_string();
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos) << what << ": no '" << word << "' in: " << status.message();
  }
}

}  // namespace saccade::test
