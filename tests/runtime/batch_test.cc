// Offsets, positions and slots of a batch; its capacity; what it refuses is in bad_input_test.cc.
#include "saccade/batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/graph/batch_data.h"
#include "tests/runtime/allocations.h"

namespace saccade {
namespace {

using Longs = std::vector<int64_t>;
using Ints = std::vector<int32_t>;

Longs offsets(const Batch& batch, RowSet rows = {}) { return Longs(batch.offsets(rows).begin(), batch.offsets(rows).end()); }

TEST(Batch, LengthsAndOffsetsSayTheSame) {
  const Longs lengths = {3, 0, 1, 5}, bounds = {0, 3, 3, 4, 9};
  const Ints short_lengths(lengths.begin(), lengths.end()), short_bounds(bounds.begin(), bounds.end());
  Batch batch[4];
  batch[0].assign_lengths(lengths);
  batch[1].assign_lengths(short_lengths);
  batch[2].assign_offsets(bounds);
  batch[3].assign_offsets(short_bounds);
  for (const Batch& b : batch) {
    ASSERT_TRUE(b.status().ok()) << b.status().to_string();
    EXPECT_EQ(b.sequences(), 4);
    EXPECT_EQ(b.tokens(), 9);
    EXPECT_EQ(b.max_length(), 5);
    EXPECT_EQ(offsets(b), bounds);
    EXPECT_EQ(b.data().sets[0].positions, (Ints{0, 1, 2, 0, 0, 1, 2, 3, 4}));
    EXPECT_TRUE(b.data().sets[0].slots.empty());
  }
}

template <class T>
class BatchMask : public testing::Test {};
using MaskTypes = testing::Types<uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(BatchMask, MaskTypes);

TYPED_TEST(BatchMask, RightPaddingNeedsNoSlots) {
  const TypeParam mask[] = {1, 1, 0, /**/ 0, 0, 0, /**/ 1, 1, 1};
  Batch batch;
  batch.assign_mask(mask, {.sequences = 3, .max_length = 3});
  ASSERT_TRUE(batch.status().ok()) << batch.status().to_string();
  EXPECT_EQ(offsets(batch), (Longs{0, 2, 2, 5}));
  EXPECT_EQ(batch.max_length(), 3);
  EXPECT_TRUE(batch.data().sets[0].slots.empty());
}

TYPED_TEST(BatchMask, HolesAndLeftPaddingGiveSlots) {
  const TypeParam mask[] = {1, 0, 1, 0, 7, /**/ 0, 0, 0, 1, 7, /**/ 1, 1, 0, 0, 7};  // stride 5: the last column is not read
  Batch batch;
  batch.assign_mask(mask, {.sequences = 3, .max_length = 4, .stride = 5});
  ASSERT_TRUE(batch.status().ok()) << batch.status().to_string();
  EXPECT_EQ(offsets(batch), (Longs{0, 2, 3, 5}));
  EXPECT_EQ(batch.max_length(), 4);
  EXPECT_EQ(batch.data().sets[0].longest, 2);
  EXPECT_EQ(batch.data().sets[0].slots, (Longs{0, 2, 7, 8, 9}));
  EXPECT_EQ(batch.data().sets[0].positions, (Ints{0, 1, 0, 0, 1}));
  batch.assign_lengths(Longs{4});
  EXPECT_TRUE(batch.data().sets[0].slots.empty()) << "left from the mask";
  EXPECT_EQ(batch.max_length(), 4);
}

TEST(Batch, EmptyBatchesAreLegal) {
  Batch batch;
  EXPECT_EQ(batch.sequences(), 0);
  EXPECT_EQ(batch.tokens(), 0);
  EXPECT_TRUE(batch.offsets().empty());
  batch.assign_lengths(Longs{});
  EXPECT_EQ(offsets(batch), Longs{0});
  batch.assign_offsets(Longs{0});
  EXPECT_EQ(batch.sequences(), 0);
  batch.assign_mask(static_cast<const uint8_t*>(nullptr), {.sequences = 0, .max_length = 8});
  EXPECT_EQ(batch.max_length(), 8);
  batch.assign_mask(static_cast<const int64_t*>(nullptr), {.sequences = 3, .max_length = 0});
  EXPECT_EQ(offsets(batch), (Longs{0, 0, 0, 0}));
  batch.assign_lengths(Longs{0, 0}).with_positions({});
  EXPECT_EQ(batch.sequences(), 2);
  EXPECT_TRUE(batch.status().ok()) << batch.status().to_string();
}

TEST(Batch, PositionsCanBeGiven) {
  Batch batch;
  batch.assign_lengths(Longs{2, 1}).with_positions(Ints{7, 9, 0});
  ASSERT_TRUE(batch.status().ok()) << batch.status().to_string();
  EXPECT_EQ(batch.data().sets[0].positions, (Ints{7, 9, 0}));
  EXPECT_TRUE(batch.data().sets[0].custom_positions);
  batch.assign_lengths(Longs{2, 1});
  EXPECT_EQ(batch.data().sets[0].positions, (Ints{0, 1, 0}));
  EXPECT_FALSE(batch.data().sets[0].custom_positions);
}

TEST(Batch, AnErrorLastsUntilItsRowSetIsAssignedAgain) {
  const RowSet memory{1};
  Batch batch;
  batch.assign_lengths(Longs{1, 2}).assign_lengths(Longs{3, -1}, memory);
  EXPECT_EQ(batch.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(batch.tokens(memory), 0);
  batch.assign_lengths(Longs{4, 5});  // of the tokens: not the one that is wrong
  EXPECT_FALSE(batch.status().ok());
  batch.with_positions(Ints{1, 2, 3}, memory);  // nor does this hide it
  EXPECT_NE(batch.status().message().find("sequence 1"), std::string::npos) << batch.status().message();
  batch.assign_lengths(Longs{3, 1}, memory);
  EXPECT_TRUE(batch.status().ok()) << batch.status().to_string();
  EXPECT_EQ(batch.tokens(memory), 4);
}

TEST(Batch, RowSetsMustHaveTheSameNumberOfSequences) {
  const RowSet memory{1};
  Batch batch;
  batch.assign_lengths(Longs{1, 2}).assign_lengths(Longs{3}, memory);
  EXPECT_EQ(batch.status().code(), Code::kInvalidArgument);
  batch.assign_lengths(Longs{3, 4}, memory);
  EXPECT_TRUE(batch.status().ok()) << batch.status().to_string();
}

TEST(Batch, AMovedBatchIsTheSameAndTheOldOneAnError) {
  Batch batch;
  batch.assign_lengths(Longs{1, 2});
  Batch other = std::move(batch);
  EXPECT_EQ(other.tokens(), 3);
  EXPECT_FALSE(batch.assign_lengths(Longs{1}).with_positions(Ints{0}).status().ok());
  EXPECT_EQ(batch.tokens(), 0);
}

TEST(Batch, AllocatesNothingOnceItHasGrown) {
  const Longs lengths = {9, 0, 4, 9}, fewer = {2, 1}, bounds = {0, 9, 12, 18};
  std::vector<uint8_t> mask(4 * 9, 1);
  mask[0] = 0;  // left padding: slots
  const Ints positions(22, 3);
  Batch batch;
  const auto assign_all = [&] {
    batch.assign_lengths(lengths).assign_lengths(fewer, {1});
    batch.with_positions(positions);
    batch.assign_mask(mask.data(), {.sequences = 4, .max_length = 9})
        .assign_mask(mask.data(), {.sequences = 4, .max_length = 9, .rows = {1}});
    batch.assign_offsets(bounds).assign_lengths(fewer).assign_lengths(lengths, {1});
    (void)batch.status();
  };
  assign_all();
  const int64_t before = test::allocations();
  for (int i = 0; i < 3; ++i) assign_all();
  EXPECT_EQ(test::allocations(), before);
  batch.assign_lengths(Longs(1000, 1));
  EXPECT_GT(test::allocations(), before) << "the counter does not count";
}

}  // namespace
}  // namespace saccade
