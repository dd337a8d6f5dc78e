// What Batch::assign_* records for each row set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "saccade/batch.h"

namespace saccade {
inline namespace v0 {

// Token sets that a graph and its batches may have; far beyond what any model needs (an encoder-decoder has one).
inline constexpr int32_t kMaxTokenSets = 64;

struct TokenRows {
  bool assigned = false;           // false after an error, with all tables empty
  Status status;                   // of the assignment
  std::vector<int64_t> offsets;    // [sequences + 1]
  std::vector<int32_t> positions;  // [tokens]
  std::vector<int64_t> slots;  // [tokens]: row of each token in a padded matrix, s * max_length + column. Empty unless a mask had
                               // holes or left padding: then token t of sequence s lies at column t
  int64_t longest = 0;         // tokens of the longest sequence
  int64_t mask_length = -1;    // max_length of the mask, or -1: not assigned by a mask
  bool custom_positions = false;
};

struct BatchData {
  std::vector<TokenRows> sets;  // index 0: tokens; k: k-th token set
  Status status;                // of calls that named no row set that can exist
};

// Whether the batch can be run by a plan whose graph has these token sets: all assignments right, the tokens and every token set
// assigned and no other, all with the same number of sequences. Unlike Batch::status() the message has the numbers.
Status check_batch(const Batch& batch, std::span<const std::string> token_sets);

}  // namespace v0
}  // namespace saccade
