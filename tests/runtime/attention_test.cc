// Numbers of attention(): the cases of tests/data/attention_cases.json, all head sizes, what dropped keys hold, and 64-bit
// offsets.
#include "saccade/attention.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "tests/runtime/attention_problem.h"
#include "tests/support/cases.h"

namespace saccade {
namespace {

using test::Memory;
using test::Problem;
using test::Random;
using test::same_bits;
using test::Solution;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Memory kMemories[] = {Memory::kBhsd, Memory::kBshd, Memory::kGaps, Memory::kPacked};

Workspace workspace(int threads = 1) {
  Result<Workspace> made = Workspace::create({.threads = threads});
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return *std::move(made);
}

Solution<float> expect_run(const Problem& p, Workspace& w, Memory memory = Memory::kBhsd, bool extras = true) {
  test::Run run = test::run(p, w, memory, extras);
  EXPECT_TRUE(run.status.ok()) << run.status.to_string();
  return std::move(run.solution);
}

// A problem against the double reference, in one layout; the same bits without the optional results.
void expect_right(const Problem& p, Workspace& w, const std::string& what, Memory memory = Memory::kBhsd) {
  const Solution<float> got = expect_run(p, w, memory);
  test::expect_close(p, got, test::solve(p), what);
  EXPECT_TRUE(same_bits(expect_run(p, w, memory, false).out, got.out)) << what << " without lse, weights and scores";
}

// ------------------------------------------------------------------------------------------------- the cases of the file

std::vector<float> floats(const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); }

std::vector<int64_t> shape_of(const test::CaseTensor& t) {  // [B, Lk] is [B, 1, 1, Lk]
  std::vector<int64_t> shape(t.shape.begin(), t.shape.end());
  if (shape.size() == 2) shape.insert(shape.begin() + 1, {1, 1});
  return shape;
}

Problem problem_of(const test::AttentionCase& c) {
  Problem p;
  const auto size = [](const test::CaseTensor& t, int d) { return static_cast<int64_t>(t.shape[d]); };
  p.batch = size(c.q, 0), p.heads = size(c.q, 1), p.queries = size(c.q, 2), p.head_dim = size(c.q, 3);
  p.kv_heads = size(c.k, 1), p.keys = size(c.k, 2), p.value_dim = size(c.v, 3);
  p.q = floats(c.q.values), p.k = floats(c.k.values), p.v = floats(c.v.values);
  if (c.q_lengths) p.q_lengths = *c.q_lengths;
  if (c.kv_lengths) p.kv_lengths = *c.kv_lengths;
  p.options.causal = c.causal == "none" ? Causal::kNone : c.causal == "top_left" ? Causal::kTopLeft : Causal::kBottomRight;
  p.options.window_left = c.window_left, p.options.window_right = c.window_right;
  if (c.scale) p.options.scale = static_cast<float>(*c.scale);
  if (c.softcap) p.options.softcap = static_cast<float>(*c.softcap);
  if (c.alibi_slopes) p.slopes = floats(*c.alibi_slopes);
  if (c.bias) p.set_bias(floats(c.bias->values), shape_of(*c.bias));
  if (c.mask) p.set_mask(std::vector<uint8_t>(c.mask->values.begin(), c.mask->values.end()), shape_of(*c.mask));
  return p;
}

TEST(Attention, CasesOfTheFile) {
  Workspace w = workspace();
  const std::vector<test::AttentionCase> cases = test::load_attention_cases();
  ASSERT_EQ(cases.size(), 74u);
  for (const test::AttentionCase& c : cases) {
    const Problem p = problem_of(c);
    for (Memory memory : kMemories) {
      const Solution<float> got = expect_run(p, w, memory);
      test::Comparison out(c.name + " out"), lse(c.name + " lse");
      for (size_t i = 0; i < got.out.size(); ++i) out.add(i, 0, got.out[i], c.output.values[i], test::case_tolerance(c));
      for (size_t i = 0; i < got.lse.size(); ++i) {
        lse.add(i, 0, got.lse[i], c.lse.values[i], 2e-5 * std::max(1.0, std::fabs(c.lse.values[i])));
      }
      EXPECT_TRUE(out.result()) << name(memory);
      EXPECT_TRUE(lse.result()) << name(memory);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- sizes, options

TEST(Attention, HeadSizes) {
  Workspace w = workspace();
  Random random(101);
  int turn = 0;
  for (int64_t d : {1, 3, 8, 20, 24, 37, 63, 72, 80, 96, 100, 160, 256}) {
    Problem p(random, 2, 4, 2, 29, 35, d, turn % 2 == 0 ? d : d / 2 + 1);
    p.q_lengths = {29, 7}, p.kv_lengths = {33, 35};
    expect_right(p, w, "head_dim " + std::to_string(d), kMemories[turn++ % 4]);
  }
}

// Both regimes, every option, lengths that are no multiple of anything, more rows than a block.
std::vector<Problem> option_problems(Random& random) {
  std::vector<Problem> problems;
  for (int64_t keys : {50, 1100}) {
    for (int option = 0; option < 8; ++option) {
      Problem p(random, 2, 2, 1, 41, keys, 20, 12);
      p.q_lengths = {41, 34}, p.kv_lengths = {keys - 3, keys};
      AttentionArgs& o = p.options;
      if (option == 1) o.causal = Causal::kBottomRight, o.window_left = keys / 3;
      if (option == 2) o.causal = Causal::kTopLeft, o.softcap = 2.5f;
      if (option == 3) o.window_left = 9, o.window_right = 13, o.scale = 0.4f;
      if (option == 4) p.slopes = {0.125f, 0.03f}, o.causal = Causal::kBottomRight;
      if (option == 5) p.relative.resize(2 * 15), random.fill(p.relative);
      if (option == 6) {
        std::vector<float> bias(2 * 41 * keys);
        random.fill(bias);
        p.set_bias(std::move(bias), {1, 2, 41, keys});
      }
      if (option == 7) {
        std::vector<uint8_t> mask(2 * keys);
        for (uint8_t& x : mask) x = random.uniform(0, 1) < 0.8f;
        p.set_mask(std::move(mask), {2, 1, 1, keys});
      }
      problems.push_back(std::move(p));
    }
  }
  return problems;
}

TEST(Attention, OptionsInBothRegimes) {
  Workspace w = workspace();
  Random random(102);
  const std::vector<Problem> problems = option_problems(random);
  for (size_t i = 0; i < problems.size(); ++i) expect_right(problems[i], w, "problem " + std::to_string(i), kMemories[i % 4]);
}

// ----------------------------------------------------------------------------------------------------- what dropped keys hold

// NaN and Inf in keys and values that some rows of a tile see and others do not, with more rows than a tile, in both regimes.
TEST(Attention, DroppedKeysCannotLeak) {
  Workspace w = workspace();
  Random random(103);
  for (int64_t keys : {60, 1200}) {
    for (float poison : {kNan, kInf, -kInf}) {
      for (int kind = 0; kind < 4; ++kind) {
        Problem p(random, 1, 2, 2, 45, keys, 24, 24);
        const int64_t key = kind == 1 ? 20 : 33;
        for (int64_t c = 0; c < 24; c += 5) {
          p.value(0, 0, key, c) = poison;
          if (poison != poison) p.key(0, 1, key, c) = poison;
        }
        if (kind == 0) p.options.causal = Causal::kTopLeft;                    // a future key of rows 0 to 32
        if (kind == 1) p.options.window_left = 4, p.options.window_right = 4;  // outside the window of most rows
        if (kind == 2) {                                                       // a mask of its own for every row
          std::vector<uint8_t> mask(45 * keys, 1);
          for (int64_t i = 0; i < 45; ++i) mask[i * keys + key] = i % 3 == 0;
          p.set_mask(std::move(mask), {1, 1, 45, keys});
        }
        if (kind == 3) {  // -inf in the bias of some rows
          std::vector<float> bias(45 * keys, 0.25f);
          for (int64_t i = 0; i < 45; ++i) bias[i * keys + key] = i % 3 == 0 ? 0.0f : -kInf;
          p.set_bias(std::move(bias), {1, 1, 45, keys});
        }
        const std::string what =
            "keys " + std::to_string(keys) + ", poison " + std::to_string(poison) + ", kind " + std::to_string(kind);
        const Solution<float> got = expect_run(p, w);
        test::expect_close(p, {got.out, got.lse, {}, {}}, test::solve(p), what);
        int64_t clean = 0, dirty = 0;  // the case is one only if there are both
        for (float x : got.out) (std::isfinite(x) ? clean : dirty)++;
        EXPECT_GT(clean, 0) << what;
        EXPECT_GT(dirty, 0) << what;
      }
    }
  }
}

TEST(Attention, PaddingOfEveryLayoutIsWritten) {
  Workspace w = workspace();
  Random random(104);
  Problem p(random, 3, 2, 1, 9, 11, 4, 4);
  p.q_lengths = {0, 9, 4}, p.kv_lengths = {5, 0, 10};
  for (Memory memory : kMemories) {
    const Solution<float> got = expect_run(p, w, memory);  // which expects zeros beyond the lengths, as the reference gives them
    test::expect_close(p, got, test::solve(p), name(memory));
  }
}

TEST(Attention, NothingToDoIsLegal) {
  Workspace w = workspace();
  Random random(105);
  for (const auto& [batch, queries, keys] :
       {std::array<int64_t, 3>{0, 5, 5}, {2, 0, 5}, {2, 5, 0}, {0, 0, 0}, {2, 0, 0}, {1, 1, 1}}) {
    const Problem p(random, batch, 2, 2, queries, keys, 8, 8);
    for (Memory memory : kMemories) test::expect_close(p, expect_run(p, w, memory), test::solve(p), name(memory));
  }
  // Tensors without rows need no memory.
  EXPECT_TRUE(attention({.head_dim = 8}, w).ok());
  EXPECT_TRUE(attention({.batch = 2, .heads = 3, .head_dim = 8}, w).ok());
  const float q[3 * 8] = {};
  float out[3 * 8];
  std::fill(std::begin(out), std::end(out), 77.0f);
  EXPECT_TRUE(attention({.batch = 3, .queries = 1, .head_dim = 8, .q = bshd(q, 1, 1, 8), .out = bshd(out, 1, 1, 8)}, w).ok());
  EXPECT_EQ(std::count(std::begin(out), std::end(out), 0.0f), 24);
}

// ------------------------------------------------------------------------------------------------------------ 64-bit offsets

// Three sequences whose rows lie gigabytes apart, in address space that has no memory but for the pages in use.
TEST(Attention, OffsetsDoNotFitIn32Bits) {
  constexpr int64_t kApart = (int64_t{1} << 32) / 4 + 1021;  // floats: over 4 GiB from row to row
  Random random(106);
  const Problem p(random, 2, 2, 1, 2, 2, 8, 8);
  const size_t bytes = size_t{8} * kApart * sizeof(float);
  void* const space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) GTEST_SKIP() << "no address space of " << bytes << " bytes";
  float* const base = static_cast<float*>(space);
  // batch, row and head are each the outermost dimension once.
  const int64_t strides[][3] = {
      {4 * kApart, 2 * kApart, kApart}, {2 * kApart, 4 * kApart, kApart}, {kApart, 2 * kApart, 4 * kApart}};
  Workspace w = workspace();
  const Solution<float> want = expect_run(p, w, Memory::kBhsd, false);
  for (const auto& [batch_stride, head_stride, row_stride] : strides) {
    const auto at = [&](int64_t place, int64_t b, int64_t h, int64_t i) {
      return base + place * 64 + b * batch_stride + h * head_stride + i * row_stride;
    };
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t h = 0; h < 2; ++h) std::copy_n(&p.q[((b * 2 + h) * 2 + i) * 8], 8, at(0, b, h, i));
        std::copy_n(&p.k[(b * 2 + i) * 8], 8, at(1, b, 0, i));
        std::copy_n(&p.v[(b * 2 + i) * 8], 8, at(2, b, 0, i));
      }
    }
    const auto view = [&](int64_t place) { return ConstHeads{at(place, 0, 0, 0), batch_stride, head_stride, row_stride}; };
    const AttentionArgs args{.batch = 2,
                             .heads = 2,
                             .kv_heads = 1,
                             .queries = 2,
                             .keys = 2,
                             .head_dim = 8,
                             .q = view(0),
                             .k = view(1),
                             .v = view(2),
                             .out = {at(3, 0, 0, 0), batch_stride, head_stride, row_stride}};
    const Status status = attention(args, w);
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t h = 0; h < 2; ++h) {
        for (int64_t i = 0; i < 2; ++i) {
          for (int64_t c = 0; c < 8; ++c) EXPECT_EQ(at(3, b, h, i)[c], want.out[((b * 2 + h) * 2 + i) * 8 + c]);
        }
      }
    }
  }
  munmap(space, bytes);
}

}  // namespace
}  // namespace saccade
