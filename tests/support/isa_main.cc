// main() of the tests that run once per ISA: SACCADE_FORCE_ISA names it (without it, the best one of this machine is tested).
#include "tests/support/isa.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace saccade::test {
namespace {
kernels::Isa chosen;
}
kernels::Isa isa() { return chosen; }
const kernels::KernelTable& table() { return *kernels::table_for(chosen); }
}  // namespace saccade::test

int main(int argc, char** argv) {
  using namespace saccade::kernels;
  const char* forced = std::getenv("SACCADE_FORCE_ISA");
  const std::string_view text = forced == nullptr ? "" : forced;
  switch (select(built_isas(), supported_isas(), text, saccade::test::chosen)) {
    case Choice::kOk: break;
    case Choice::kNotSupported: std::printf("SKIPPED: ISA %s is not supported by this CPU\n", forced); return 0;
    default: std::printf("SACCADE_FORCE_ISA=%s names no ISA of this build\n", forced); return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::printf("no test was run\n");
    return 1;
  }
  std::printf("ran on %s\n", std::string(name(saccade::test::isa())).c_str());
  return failed;
}
