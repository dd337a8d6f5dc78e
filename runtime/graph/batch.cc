#include "saccade/batch.h"

#include <algorithm>
#include <numeric>

#include "runtime/graph/batch_data.h"
#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

// Back to "not assigned", keeping the capacity of the tables.
void clear(TokenRows& set) {
  set.assigned = false;
  set.status = {};
  set.offsets.clear();
  set.positions.clear();
  set.slots.clear();
  set.longest = 0, set.mask_length = -1, set.custom_positions = false;
}

// The row set as an index of `sets`, which grows to hold it.
TokenRows& find_set(BatchData& batch, const char* call, RowSet rows) {
  require(rows.index >= 0 && rows.index <= kMaxTokenSets, call, ": rows is row set ", rows.index, ", expected 0 (tokens) to ",
          kMaxTokenSets, " (a token set)");
  if (batch.sets.size() <= static_cast<size_t>(rows.index)) batch.sets.resize(rows.index + 1);
  return batch.sets[rows.index];
}

// Appends a sequence of `length` tokens. Positions are int32, which bounds the tokens of a batch.
void append_sequence(TokenRows& set, const char* call, int64_t length) {
  const int64_t sequence = static_cast<int64_t>(set.offsets.size()) - 1;
  require(length >= 0, call, ": length of sequence ", sequence, " is ", length, ", expected 0 or more");
  int64_t end;
  if (__builtin_add_overflow(set.offsets.back(), length, &end) || end > INT32_MAX) {
    fail(Code::kOutOfRange, call, ": sequences 0 to ", sequence, " have more than ", INT32_MAX, " tokens in all");
  }
  set.offsets.push_back(end);
  set.longest = std::max(set.longest, length);
}

// Tables that follow from the offsets.
void finish(TokenRows& set) {
  set.positions.resize(set.offsets.back());
  for (size_t s = 0; s + 1 < set.offsets.size(); ++s) {
    std::iota(set.positions.begin() + set.offsets[s], set.positions.begin() + set.offsets[s + 1], 0);
  }
  set.assigned = true;
}

// One assignment: fill(set) reads the caller's numbers into offsets; what it throws is remembered.
template <class Fill>
void assign(BatchData* batch, const char* call, RowSet rows, Fill&& fill) {
  if (batch == nullptr) return;
  TokenRows* set = nullptr;
  Status status = caught([&] {
    set = &find_set(*batch, call, rows);
    clear(*set);
    set->offsets.push_back(0);
    fill(*set);
    finish(*set);
  });
  if (status.ok()) return;
  if (set != nullptr) clear(*set);
  (set != nullptr ? set->status : batch->status) = std::move(status);
}

template <class T>
void assign_lengths_of(BatchData* batch, std::span<const T> lengths, RowSet rows) {
  assign(batch, "assign_lengths", rows, [&](TokenRows& set) {
    set.offsets.reserve(lengths.size() + 1);
    for (T length : lengths) append_sequence(set, "assign_lengths", length);
  });
}

template <class T>
void assign_offsets_of(BatchData* batch, std::span<const T> offsets, RowSet rows) {
  assign(batch, "assign_offsets", rows, [&](TokenRows& set) {
    require(!offsets.empty(), "assign_offsets: offsets is empty, expected [sequences + 1], the first 0");
    require(offsets[0] == 0, "assign_offsets: offsets[0] is ", offsets[0], ", expected 0");
    set.offsets.reserve(offsets.size());
    for (size_t s = 1; s < offsets.size(); ++s) {
      require(offsets[s] >= offsets[s - 1], "assign_offsets: offsets[", s, "] is ", offsets[s], ", expected at least offsets[",
              s - 1, "] = ", offsets[s - 1]);
      append_sequence(set, "assign_offsets", static_cast<int64_t>(offsets[s]) - static_cast<int64_t>(offsets[s - 1]));
    }
  });
}

template <class T>
void assign_mask_of(BatchData* batch, const T* mask, const MaskShape& shape) {
  assign(batch, "assign_mask", shape.rows, [&](TokenRows& set) {
    const int64_t sequences = shape.sequences, max_length = shape.max_length;
    require(sequences >= 0, "assign_mask: sequences is ", sequences, ", expected 0 or more");
    require(max_length >= 0, "assign_mask: max_length is ", max_length, ", expected 0 or more");
    const int64_t stride = shape.stride == 0 ? max_length : shape.stride;
    require(stride >= max_length, "assign_mask: stride is ", stride,
            ", expected 0 (dense) or at least max_length = ", max_length);
    require(product_fits({sequences, stride, 8}), "assign_mask: sequences * stride = ", sequences, " * ", stride, " overflows");
    require(mask != nullptr || sequences == 0 || max_length == 0, "assign_mask: mask is null, expected ", sequences, " x ",
            max_length, " elements");
    set.offsets.reserve(sequences + 1);
    bool prefix = true;  // every row is ones, then zeros
    for (int64_t s = 0; s < sequences; ++s) {
      const T* row = mask + s * stride;
      int64_t length = 0;
      for (int64_t j = 0; j < max_length; ++j) {
        require(row[j] == 0 || row[j] == 1, "assign_mask: mask[", s, "][", j, "] is ", row[j], ", expected 0 or 1");
        if (row[j] == 1) {
          prefix = prefix && length == j;
          ++length;
        }
      }
      append_sequence(set, "assign_mask", length);
    }
    set.mask_length = max_length;
    if (prefix) return;
    set.slots.reserve(set.offsets.back());
    for (int64_t s = 0; s < sequences; ++s) {
      for (int64_t j = 0; j < max_length; ++j) {
        if (mask[s * stride + j] == 1) set.slots.push_back(s * max_length + j);
      }
    }
  });
}

const TokenRows* assigned_set(const BatchData* batch, RowSet rows) {
  if (batch == nullptr || rows.index < 0 || static_cast<size_t>(rows.index) >= batch->sets.size()) return nullptr;
  const TokenRows& set = batch->sets[rows.index];
  return set.assigned ? &set : nullptr;
}

}  // namespace

Batch::Batch() : data_(new(std::nothrow) BatchData) {}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

Batch& Batch::assign_lengths(std::span<const int64_t> lengths, RowSet rows) {
  assign_lengths_of(data_.get(), lengths, rows);
  return *this;
}
Batch& Batch::assign_lengths(std::span<const int32_t> lengths, RowSet rows) {
  assign_lengths_of(data_.get(), lengths, rows);
  return *this;
}
Batch& Batch::assign_offsets(std::span<const int64_t> offsets, RowSet rows) {
  assign_offsets_of(data_.get(), offsets, rows);
  return *this;
}
Batch& Batch::assign_offsets(std::span<const int32_t> offsets, RowSet rows) {
  assign_offsets_of(data_.get(), offsets, rows);
  return *this;
}
Batch& Batch::assign_mask(const uint8_t* mask, const MaskShape& shape) {
  assign_mask_of(data_.get(), mask, shape);
  return *this;
}
Batch& Batch::assign_mask(const int32_t* mask, const MaskShape& shape) {
  assign_mask_of(data_.get(), mask, shape);
  return *this;
}
Batch& Batch::assign_mask(const int64_t* mask, const MaskShape& shape) {
  assign_mask_of(data_.get(), mask, shape);
  return *this;
}

Batch& Batch::with_positions(std::span<const int32_t> positions, RowSet rows) {
  if (data_ == nullptr) return *this;
  TokenRows* set = nullptr;
  Status status = caught([&] {
    set = &find_set(*data_, "with_positions", rows);
    if (!set->status.ok()) return;  // keep the first error
    require(set->assigned, "with_positions: row set ", rows.index, " has no tokens yet, expected assign_* before");
    require(positions.size() == set->positions.size(), "with_positions: ", positions.size(), " positions, expected one a token, ",
            set->positions.size());
    for (size_t t = 0; t < positions.size(); ++t) {
      require(positions[t] >= 0, "with_positions: positions[", t, "] is ", positions[t], ", expected 0 or more");
    }
    std::copy(positions.begin(), positions.end(), set->positions.begin());
    set->custom_positions = true;
  });
  if (!status.ok()) (set != nullptr ? set->status : data_->status) = std::move(status);
  return *this;
}

int64_t Batch::sequences() const {
  if (data_ == nullptr) return 0;
  for (const TokenRows& set : data_->sets) {
    if (set.assigned) return static_cast<int64_t>(set.offsets.size()) - 1;
  }
  return 0;
}
int64_t Batch::tokens(RowSet rows) const {
  const TokenRows* set = assigned_set(data_.get(), rows);
  return set == nullptr ? 0 : set->offsets.back();
}
int64_t Batch::max_length(RowSet rows) const {
  const TokenRows* set = assigned_set(data_.get(), rows);
  if (set == nullptr) return 0;
  return set->mask_length >= 0 ? set->mask_length : set->longest;
}
std::span<const int64_t> Batch::offsets(RowSet rows) const {
  const TokenRows* set = assigned_set(data_.get(), rows);
  return set == nullptr ? std::span<const int64_t>() : set->offsets;
}

namespace {

const Status& no_data() {
  static const Status status(Code::kInvalidArgument, "batch: moved from, or out of memory when it was made");
  return status;
}

// The first error of a single assignment, or null.
const Status* first_error(const BatchData& batch) {
  if (!batch.status.ok()) return &batch.status;
  for (const TokenRows& set : batch.sets) {
    if (!set.status.ok()) return &set.status;
  }
  return nullptr;
}

bool same_sequences(const BatchData& batch) {
  const TokenRows* first = nullptr;
  for (const TokenRows& set : batch.sets) {
    if (!set.assigned) continue;
    if (first == nullptr) first = &set;
    if (set.offsets.size() != first->offsets.size()) return false;
  }
  return true;
}

}  // namespace

const Status& Batch::status() const {
  static const Status ok;
  // A fixed text, so that a batch which is being assigned anew, set by set, allocates nothing; check_batch gives the numbers.
  static const Status unequal(Code::kInvalidArgument,
                              "batch: its row sets have different numbers of sequences, expected the same");
  if (data_ == nullptr) return no_data();
  if (const Status* error = first_error(*data_)) return *error;
  return same_sequences(*data_) ? ok : unequal;
}

Status check_batch(const Batch& batch, std::span<const std::string> token_sets) {
  if (&batch.status() == &no_data()) return no_data();
  const BatchData& data = batch.data();
  if (const Status* error = first_error(data)) return *error;
  return caught([&] {
    // Only for a failure: a check that passes allocates nothing.
    const auto name = [&](size_t s) { return s == 0 ? std::string("tokens") : text("token set '", token_sets[s - 1], "'"); };
    for (size_t s = 0; s <= token_sets.size(); ++s) {
      if (s >= data.sets.size() || !data.sets[s].assigned) {
        fail(Code::kInvalidArgument, "batch: ", name(s), " not assigned, expected assign_* of row set ", s);
      }
      const size_t count = data.sets[s].offsets.size() - 1, expected = data.sets[0].offsets.size() - 1;
      if (count != expected) {
        fail(Code::kInvalidArgument, "batch: ", name(s), " has ", count, " sequences, expected ", expected, " as tokens");
      }
    }
    for (size_t s = token_sets.size() + 1; s < data.sets.size(); ++s) {
      require(!data.sets[s].assigned, "batch: row set ", s, " is assigned, the graph has ", token_sets.size(), " token sets");
    }
  });
}

}  // namespace v0
}  // namespace saccade
