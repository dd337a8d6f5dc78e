// Attention beside the double reference: the cases of the data file, sizes at every edge, every option, random problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/kernels/attention_problem.h"
#include "tests/support/cases.h"

namespace saccade::kernels {
namespace {

TEST(Attention, AllCasesOfTheFile) {
  const std::vector<test::AttentionCase> cases = test::load_attention_cases();
  EXPECT_EQ(cases.size(), 74u);
  for (const test::AttentionCase& c : cases) {
    SCOPED_TRACE(c.name);
    const size_t batch = c.q.shape[0], heads = c.q.shape[1], rows = c.q.shape[2], head_dim = c.q.shape[3];
    const size_t kv_heads = c.k.shape[1], keys = c.k.shape[2], value_dim = c.v.shape[3];
    const auto floats = [](const test::CaseTensor& t) { return std::vector<float>(t.values.begin(), t.values.end()); };
    const std::vector<float> q = floats(c.q), k = floats(c.k), v = floats(c.v);
    const std::vector<float> bias = c.bias ? floats(*c.bias) : std::vector<float>();
    const std::vector<uint8_t> mask =
        c.mask ? std::vector<uint8_t>(c.mask->values.begin(), c.mask->values.end()) : std::vector<uint8_t>();
    // Offset of (b, h) and strides of i and j in a tensor that broadcasts dimensions of size 1.
    struct Place {
      size_t offset, row, column;
    };
    const auto place = [](const std::vector<size_t>& shape, size_t b, size_t h) {
      if (shape.size() == 2) return Place{b * shape[1], 0, 1};
      const size_t column = shape[3] > 1 ? 1 : 0, row = shape[2] > 1 ? shape[3] : 0;
      return Place{((shape[0] > 1 ? b : 0) * shape[1] + (shape[1] > 1 ? h : 0)) * shape[2] * shape[3], row, column};
    };
    Comparison out(c.name + " output"), lse(c.name + " lse");
    const KernelTable& table = test::table();
    for (size_t b = 0; b < batch; ++b) {
      const size_t q_length = c.q_lengths ? static_cast<size_t>((*c.q_lengths)[b]) : rows;
      const size_t kv_length = c.kv_lengths ? static_cast<size_t>((*c.kv_lengths)[b]) : keys;
      for (size_t h = 0; h < heads; ++h) {
        const size_t kv_head = b * kv_heads + h / (heads / kv_heads), head = b * heads + h;
        Guarded<float> packed = scratch(attention_pack_floats(table, kv_length, head_dim, value_dim));
        Guarded<float> row_scratch = scratch(attention_row_floats(table, kv_length, value_dim));
        table.attention_pack({.k = k.data() + kv_head * keys * head_dim,
                              .k_stride = head_dim,
                              .v = v.data() + kv_head * keys * value_dim,
                              .v_stride = value_dim,
                              .keys = kv_length,
                              .head_dim = head_dim,
                              .value_dim = value_dim,
                              .scratch = packed.data()});
        Guarded<float> got(q_length * value_dim), got_lse(q_length);
        AttentionArgs args;
        args.q = q.data() + head * rows * head_dim;
        args.q_stride = head_dim;
        args.out = got.data();
        args.out_stride = value_dim;
        args.row_end = q_length;
        args.keys = kv_length;
        args.head_dim = head_dim;
        args.value_dim = value_dim;
        args.scale = static_cast<float>(c.scale ? *c.scale : 1 / std::sqrt(static_cast<double>(head_dim)));
        args.softcap = static_cast<float>(c.softcap.value_or(0));
        args.position = c.causal == "bottom_right" ? static_cast<int64_t>(kv_length) - static_cast<int64_t>(q_length) : 0;
        args.left = c.window_left.value_or(kUnlimited);
        args.right = c.window_right.value_or(kUnlimited);
        if (c.causal != "none") args.right = std::min<int64_t>(args.right, 0);
        if (c.alibi_slopes) args.alibi_slope = static_cast<float>((*c.alibi_slopes)[h]);
        if (c.bias) {
          const Place at = place(c.bias->shape, b, h);
          args.bias = bias.data() + at.offset;
          args.bias_row_stride = at.row;
          args.bias_column_stride = at.column;
        }
        if (c.mask) {
          const Place at = place(c.mask->shape, b, h);
          args.mask = mask.data() + at.offset;
          args.mask_row_stride = at.row;
          args.mask_column_stride = at.column;
        }
        args.lse = got_lse.data();
        args.scratch = packed.data();
        args.row_scratch = row_scratch.data();
        table.attention(args);
        for (size_t i = 0; i < q_length; ++i) {
          const size_t row = head * rows + i;
          lse.add(row, 0, got_lse[i], c.lse.values[row], 2e-5 * std::max(1.0, std::fabs(c.lse.values[row])));
          for (size_t j = 0; j < value_dim; ++j) {
            out.add(row, j, got[i * value_dim + j], c.output.values[row * value_dim + j], test::case_tolerance(c));
          }
        }
      }
    }
    EXPECT_TRUE(out.result());
    EXPECT_TRUE(lse.result());
  }
}

TEST(Attention, AnyHeadAndValueDimension) {
  Random random(1);
  const size_t dims[] = {1, 3, 20, 37, 63, 64, 80, 96, 160, 256};
  const size_t count = std::size(dims);
  for (size_t d = 0; d < count; ++d) {
    for (size_t other : {d, (d + 3) % count}) {
      SCOPED_TRACE(testing::Message() << dims[d] << " and " << dims[other]);
      const Problem problem(random, 7, 19, dims[d], dims[other], d % 3);
      check(problem, random, d % 2);
    }
  }
}

TEST(Attention, TileAndPanelEdges) {
  const KernelTable& table = test::table();
  Random random(2);
  for (size_t keys : {size_t{0}, size_t{1}, table.key_panel - 1, table.key_panel, table.key_panel + 1, 2 * table.key_panel + 1}) {
    for (size_t queries :
         {size_t{0}, size_t{1}, table.mr - 1, table.mr, table.mr + 1, 2 * table.mr + 1, 2 * table.query_tile + 1}) {
      SCOPED_TRACE(testing::Message() << queries << " queries, " << keys << " keys");
      check(Problem(random, queries, keys, 5, 7), random);
    }
  }
}

// Every option, alone and with others.
struct Option {
  const char* name;
  std::function<void(Problem&, Random&)> set;
};
std::vector<Option> all_options() {
  return {{"plain", [](Problem&, Random&) {}},
          {"scale 0", [](Problem& p, Random&) { p.options.scale = 0; }},
          {"scale 0, causal", [](Problem& p, Random&) { p.options.scale = 0, p.options.right = 0; }},
          {"softcap", [](Problem& p, Random&) { p.options.softcap = 0.7f; }},
          {"causal", [](Problem& p, Random&) { p.options.right = 0; }},
          {"causal from the end",
           [](Problem& p, Random&) {
             p.options.right = 0;
             p.options.position = static_cast<int64_t>(p.options.keys) - static_cast<int64_t>(p.queries);
           }},
          {"before all keys",
           [](Problem& p, Random&) { p.options.right = 0, p.options.position = -static_cast<int64_t>(p.queries / 2); }},
          {"behind all keys",
           [](Problem& p, Random&) { p.options.left = 3, p.options.position = static_cast<int64_t>(p.options.keys) - 5; }},
          {"window", [](Problem& p, Random&) { p.options.left = 5, p.options.right = 3; }},
          {"wide window", [](Problem& p, Random&) { p.options.left = 40, p.options.right = 33; }},
          {"no width", [](Problem& p, Random&) { p.options.left = 0, p.options.right = 0; }},
          {"alibi", [](Problem& p, Random&) { p.options.alibi_slope = 0.0625f, p.options.position = 2; }},
          {"relative bias", [](Problem& p, Random& r) { p.add_relative_bias(r, 11); }},
          {"narrow relative bias", [](Problem& p, Random& r) { p.add_relative_bias(r, 0); }},
          {"wide relative bias", [](Problem& p, Random& r) { p.add_relative_bias(r, 2000); }},
          {"key mask", [](Problem& p, Random& r) { p.add_mask(r, false, true, 0.7); }},
          {"pair mask", [](Problem& p, Random& r) { p.add_mask(r, true, true, 0.3); }},
          {"row mask", [](Problem& p, Random& r) { p.add_mask(r, true, false, 0.5); }},
          {"rare key mask", [](Problem& p, Random& r) { p.add_mask(r, true, true, 0.01); }},
          {"bias", [](Problem& p, Random& r) { p.add_bias(r, true, true, 0.2); }},
          {"key bias", [](Problem& p, Random& r) { p.add_bias(r, false, true, 0.2); }},
          {"row bias", [](Problem& p, Random& r) { p.add_bias(r, true, false, 0.2); }},
          {"transposed bias", [](Problem& p, Random& r) { p.add_transposed_bias(r); }},
          {"everything", [](Problem& p, Random& r) {
             p.options.softcap = 3;
             p.options.left = 30, p.options.right = 14, p.options.position = -1;
             p.options.alibi_slope = 0.01f;
             p.add_bias(r, true, true, 0.1);
             p.add_relative_bias(r, 7);
             p.add_mask(r, true, true, 0.8);
           }}};
}

TEST(Attention, EveryOptionOnWholeRows) {
  Random random(3);
  for (const Option& option : all_options()) {
    SCOPED_TRACE(option.name);
    Problem problem(random, 41, 67, 6, 5, 1);
    option.set(problem, random);
    check(problem, random, 1);
  }
}

// Rows of a tile that see different parts of a chain of values, and rows whose keys begin in another chain.
TEST(Attention, EveryOptionAcrossChains) {
  Random random(5);
  for (const Option& option : all_options()) {
    SCOPED_TRACE(option.name);
    Problem problem(random, 31, 2 * kValueChain + 21, 4, 5, 1);
    problem.options.position = static_cast<int64_t>(kValueChain) - 9;
    option.set(problem, random);
    check(problem, random, 1);
  }
}

TEST(Attention, EveryOptionOnline) {
  Random random(4);
  for (const Option& option : all_options()) {
    SCOPED_TRACE(option.name);
    Problem problem(random, 9, kFullRowKeys + 13, 4, 3, 1);
    option.set(problem, random);
    check(problem, random, 1);
  }
}

TEST(Attention, RandomProblems) {
  for (uint32_t seed = 100; seed < 220; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool online = seed % 10 == 0;
    const size_t queries = static_cast<size_t>(random.integer(1, online ? 20 : 60));
    const size_t keys = static_cast<size_t>(online ? random.integer(kFullRowKeys + 1, kFullRowKeys + 600)
                                                   : random.integer(1, seed % 3 == 0 ? 3 * kValueChain : 90));
    Problem p(random, queries, keys, static_cast<size_t>(random.integer(1, 9)), static_cast<size_t>(random.integer(1, 40)),
              static_cast<size_t>(random.integer(0, 3)));
    const auto coin = [&] { return random.integer(0, 3) == 0; };
    if (coin()) p.options.softcap = random.uniform(0.5f, 4);
    if (coin()) p.options.left = random.integer(0, 40);
    if (coin()) p.options.right = random.integer(0, 40);
    if (coin()) p.options.position = random.integer(-20, static_cast<int64_t>(keys));
    if (coin()) p.options.alibi_slope = random.uniform(0, 0.2f);
    if (coin()) p.add_relative_bias(random, random.integer(0, 30));
    if (coin()) p.add_bias(random, random.integer(0, 1) != 0, random.integer(0, 1) != 0, 0.2);
    if (coin()) p.add_mask(random, random.integer(0, 1) != 0, random.integer(0, 1) != 0, 0.7);
    check(p, random, static_cast<size_t>(random.integer(0, 2)));
  }
}

TEST(Attention, FullLongSequences) {
  Random random(12);
  for (const bool causal : {false, true}) {
    Problem p(random, 230, 2600, 16, 16);
    if (causal) p.options.right = 0, p.options.position = 2370;
    check(p, random);
  }
}

}  // namespace
}  // namespace saccade::kernels
