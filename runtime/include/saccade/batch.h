// The shape of one run: how many tokens each sequence has. Owns its tables and keeps their capacity, so assigning again and again
// allocates nothing once it has grown. An assignment that cannot be right is remembered, and Context::run reports it; the next
// assign_* of that row set starts afresh.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "saccade/export.h"
#include "saccade/graph.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

// A 0/1 mask [sequences, max_length], 1 keeps; `stride` elements from row to row (0: max_length). Holes and left padding are
// allowed.
struct MaskShape {
  int64_t sequences = 0;
  int64_t max_length = 0;
  int64_t stride = 0;
  RowSet rows = {};
};

struct BatchData;

class SACCADE_EXPORT Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  // Tokens of each sequence; zero is legal. All row sets of a batch have the same number of sequences.
  Batch& assign_lengths(std::span<const int64_t> lengths, RowSet rows = {});
  Batch& assign_lengths(std::span<const int32_t> lengths, RowSet rows = {});
  // Prefix sums of the lengths: [sequences + 1], the first 0, never falling.
  Batch& assign_offsets(std::span<const int64_t> offsets, RowSet rows = {});
  Batch& assign_offsets(std::span<const int32_t> offsets, RowSet rows = {});
  Batch& assign_mask(const uint8_t* mask, const MaskShape& shape);
  Batch& assign_mask(const int32_t* mask, const MaskShape& shape);
  Batch& assign_mask(const int64_t* mask, const MaskShape& shape);
  // Position of every token [tokens], after assign_*; without it tokens count from 0 in each sequence. Used by position tables
  // and RoPE; causal, window and ALiBi go by row order.
  Batch& with_positions(std::span<const int32_t> positions, RowSet rows = {});

  int64_t sequences() const;
  int64_t tokens(RowSet rows = {}) const;
  int64_t max_length(RowSet rows = {}) const;  // the mask's, or the longest sequence
  std::span<const int64_t> offsets(RowSet rows = {}) const;

  const Status& status() const;  // the first error of the current assignments, or ok

  const BatchData& data() const { return *data_; }  // for Context::run

 private:
  std::unique_ptr<BatchData> data_;
};

}  // namespace v0
}  // namespace saccade
