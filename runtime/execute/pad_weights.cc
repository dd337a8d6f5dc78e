#include <algorithm>

#include "runtime/graph/batch_data.h"
#include "runtime/graph/check.h"
#include "saccade/context.h"

namespace saccade {
inline namespace v0 {
namespace {

const TokenRows& token_rows(const Batch& batch, const char* argument, RowSet rows) {
  const BatchData& data = batch.data();
  const bool known = rows.index >= 0 && static_cast<size_t>(rows.index) < data.sets.size() &&
                     data.sets[static_cast<size_t>(rows.index)].assigned;
  require(known, "pad_weights: ", argument, ": row set ", rows.index, " is not assigned in the batch");
  return data.sets[static_cast<size_t>(rows.index)];
}

// Column of token t of sequence s in padded rows.
int64_t column(const TokenRows& rows, int64_t s, int64_t t, int64_t max_length) {
  const int64_t row = rows.offsets[static_cast<size_t>(s)] + t;
  return rows.slots.empty() ? t : rows.slots[static_cast<size_t>(row)] - s * max_length;
}

}  // namespace

Status pad_weights(const Batch& batch, int64_t heads, RowSet queries, RowSet keys, std::span<const float> weights,
                   std::span<float> padded) {
  return caught([&] {
    if (!batch.status().ok()) throw Failure{batch.status()};
    require(heads >= 1, "pad_weights: heads: expected at least 1, got ", heads);
    const TokenRows& q = token_rows(batch, "queries", queries);
    const TokenRows& k = token_rows(batch, "keys", keys);
    const int64_t sequences = batch.sequences(), rows = batch.max_length(queries), columns = batch.max_length(keys);
    require(product_fits({sequences, heads, rows, columns}), "pad_weights: the padded weights are larger than memory can be");
    const int64_t padded_size = sequences * heads * rows * columns;
    require(static_cast<int64_t>(padded.size()) == padded_size, "pad_weights: padded: expected ", padded_size, " floats, got ",
            padded.size());
    const auto length = [](const TokenRows& set, int64_t s) {
      return set.offsets[static_cast<size_t>(s) + 1] - set.offsets[static_cast<size_t>(s)];
    };
    int64_t flat = 0;
    for (int64_t s = 0; s < sequences; ++s) flat += heads * length(q, s) * length(k, s);
    require(static_cast<int64_t>(weights.size()) == flat, "pad_weights: weights: expected ", flat, " floats, got ",
            weights.size());
    require((weights.data() != nullptr || weights.empty()) && (padded.data() != nullptr || padded.empty()),
            "pad_weights: null data");

    std::fill(padded.begin(), padded.end(), 0.0f);
    const float* from = weights.data();
    for (int64_t s = 0; s < sequences; ++s) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < length(q, s); ++i) {
          float* row = padded.data() + ((s * heads + h) * rows + column(q, s, i, rows)) * columns;
          for (int64_t j = 0; j < length(k, s); ++j) row[column(k, s, j, columns)] = *from++;
        }
      }
    }
  });
}

}  // namespace v0
}  // namespace saccade
