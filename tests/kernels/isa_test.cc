#include "kernels/isa.h"

#include <gtest/gtest.h>

#include "tests/support/isa.h"

namespace saccade::kernels {
namespace {

TEST(Isa, NamesRoundTrip) {
  for (Isa isa : kAllIsas) {
    Isa parsed;
    ASSERT_TRUE(parse_isa(name(isa), parsed));
    EXPECT_EQ(parsed, isa);
  }
  Isa parsed;
  EXPECT_FALSE(parse_isa("AVX2", parsed));
  EXPECT_FALSE(parse_isa("", parsed));
}

TEST(Isa, SelectTakesTheBestOfBuiltAndSupported) {
  Isa chosen;
  const IsaSet x86 = bit(Isa::kSse2) | bit(Isa::kAvx2) | bit(Isa::kAvx512);
  EXPECT_EQ(select(x86, bit(Isa::kSse2) | bit(Isa::kAvx2), "", chosen), Choice::kOk);
  EXPECT_EQ(chosen, Isa::kAvx2);
  EXPECT_EQ(select(bit(Isa::kSse2), x86, "", chosen), Choice::kOk);
  EXPECT_EQ(chosen, Isa::kSse2);
  EXPECT_EQ(select(bit(Isa::kAvx2), bit(Isa::kSse2), "", chosen), Choice::kNotSupported);
}

TEST(Isa, AForcedIsaIsNeverReplaced) {
  Isa chosen;
  const IsaSet x86 = bit(Isa::kSse2) | bit(Isa::kAvx2) | bit(Isa::kAvx512);
  EXPECT_EQ(select(x86, x86, "sse2", chosen), Choice::kOk);
  EXPECT_EQ(chosen, Isa::kSse2);
  EXPECT_EQ(select(x86, bit(Isa::kSse2), "avx512", chosen), Choice::kNotSupported);
  EXPECT_EQ(select(x86, x86, "neon", chosen), Choice::kNotBuilt);
  EXPECT_EQ(select(x86, x86, "avx3", chosen), Choice::kUnknownName);
}

TEST(Isa, TheTableIsTheOneAskedFor) {
  for (Isa isa : kAllIsas) {
    const KernelTable* table = table_for(isa);
    ASSERT_EQ(table != nullptr, (built_isas() & bit(isa)) != 0);
    if (table == nullptr) continue;
    EXPECT_EQ(table->isa, isa);
  }
  EXPECT_EQ(test::table().isa, test::isa());
}

TEST(Isa, FmaChainsCountTheirWork) {
  float sink[16];
  double flops = 0;
  test::table().fma_chains({.iterations = 1000, .sink = sink, .flops = &flops});
  EXPECT_GE(flops, 1000.0 * 2 * 12 * static_cast<double>(test::table().vector));
  for (size_t i = 0; i < test::table().vector; ++i) EXPECT_GT(sink[i], 0.0f);
}

}  // namespace
}  // namespace saccade::kernels
