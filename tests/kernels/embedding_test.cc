#include "tests/reference/embedding.h"

#include <gtest/gtest.h>

#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::kEps;
using test::Matrix;
using test::Random;

TEST(Embedding, SumsTheRowsOfUpToThreeTables) {
  Random random(11);
  constexpr size_t kRows = 6, kEntries = 9;
  for (size_t width : test::test_widths()) {
    Matrix words(kEntries, width, width, random), positions(kEntries, width, width + 1, random),
        types(kEntries, width, width + 2, random);
    Matrix* tables[] = {&words, &positions, &types};
    test::Guarded<int32_t> ids[] = {test::Guarded<int32_t>(kRows), test::Guarded<int32_t>(kRows), test::Guarded<int32_t>(kRows)};
    for (size_t count = 0; count <= EmbeddingArgs::kMaxTables; ++count) {
      Matrix y(kRows, width, width + 5);
      EmbeddingArgs args{.tables = count, .rows = kRows, .width = width, .y = y.data(), .y_stride = y.stride()};
      for (size_t t = 0; t < count; ++t) {
        for (int32_t& id : ids[t]) id = static_cast<int32_t>(random.integer(0, kEntries - 1));
        ids[t][0] = kEntries - 1;  // the table's last row
        args.table[t] = tables[t]->data(), args.table_stride[t] = tables[t]->stride(), args.ids[t] = ids[t].data();
      }
      test::table().embedding(args);
      const std::vector<double> want = reference::embedding(args);
      test::Comparison comparison("embedding of width " + std::to_string(width), random.seed());
      for (size_t i = 0; i < want.size(); ++i) {
        // count - 1 roundings of numbers up to 3
        comparison.add(i / width, i % width, static_cast<double>(y.at(i / width, i % width)), want[i], count < 2 ? 0 : 3 * kEps);
      }
      EXPECT_TRUE(comparison.result());
      EXPECT_TRUE(y.gaps_untouched());
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
