// The door to the kernels: one Args struct per op with its formula, and the table of one ISA's functions and constants.
//
// Kernels are pure functions on pointers, sizes and strides. They allocate nothing, start no thread, report no error and touch
// nothing outside the ranges given here. Sizes may be zero. Pointers need the alignment of their type only, unless a comment says
// more; strides count elements and are at least the width. Outputs do not overlap inputs unless a comment allows it.
// The double loops in tests/reference are the specification of each formula.
//
// Same bits: what a kernel writes into a row depends on that row's inputs and on the sizes named in the formula, never on how
// many rows or columns one call covers. Callers may split rows (and, where ranges are given, columns) as they like.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace saccade::kernels {

// ---------------------------------------------------------------------------------------------------------------- matmul

// Weight panels, for p in [panel_begin, panel_end), i < in, j < nr; zero where p * nr + j >= out:
//   panels[p][i][j] = w[i * in_stride + (p * nr + j) * out_stride]
// Both weight layouts are a pair of strides: [in][out] has in_stride = stride and out_stride = 1, [out][in] has in_stride = 1
// and out_stride = stride. `panels` is 64-byte aligned and is the address of panel 0.
struct PackWeightArgs {
  const float* w = nullptr;
  size_t in = 0, out = 0;
  size_t in_stride = 0, out_stride = 0;
  float* panels = nullptr;
  size_t panel_begin = 0, panel_end = 0;
};

// Functions of one number; see math.h for their error bounds.
enum class Unary : uint8_t { kIdentity, kRelu, kGeluErf, kGeluTanh, kSilu, kTanh, kSigmoid, kErf, kExp2 };

// y = x W, then epilogue:
//   t[r][j] = sum_i a[r * a_stride + i] * w[i][j],  i < k, r < rows, columns j < n of the panels [panel_begin, panel_end)
//   c(r, j) = activation(t[r][j] + bias[j]) + residual[r * residual_stride + j]
//   c(r, j) lies at c + (j / c_block) * c_block_stride + r * c_stride + j % c_block
// bias and residual may be null (no addition). c_block = 0 means plain rows, c + r * c_stride + j; else it is a multiple of the
// table's `vector` (heads of `c_block` columns, one matrix each: what attention reads).
// Order of summation, fixed by k alone. Above kOneChunkK: n = ceil(k / 512) chunks of ceil(k / n) i, the last one shorter; else
// one chunk. In a chunk one FMA chain from zero over its first first_chain(..) i, one over the others, and their sum (rounding
// errors grow with the length of a chain). Chunks are added up in order; then bias, then activation, then residual. (SSE2:
// multiply, then add.) Partial sums of chunks pass through c, which may not overlap residual then; else c == residual with equal
// strides is allowed.
// `cache_bytes` is the second-level cache of one core: it decides the order of the work, not the result.
inline constexpr size_t kOneChunkK = 1024;
// Above 256 half of it, and even: tiles take two i a round.
constexpr size_t first_chain(size_t chunk) { return chunk <= 256 ? chunk : (chunk / 2 + 1) / 2 * 2; }
struct MatmulArgs {
  const float* a = nullptr;
  size_t a_stride = 0;
  const float* panels = nullptr;  // address of panel 0, from pack_weight
  size_t rows = 0, k = 0, n = 0;
  size_t panel_begin = 0, panel_end = 0;
  const float* bias = nullptr;  // [n]
  Unary activation = Unary::kIdentity;
  const float* residual = nullptr;  // [rows, n]
  size_t residual_stride = 0;
  float* c = nullptr;
  size_t c_stride = 0;
  size_t c_block = 0, c_block_stride = 0;
  size_t cache_bytes = size_t{512} << 10;
};

// ------------------------------------------------------------------------------------------------------------- attention

// Keys up to which the whole score row is computed before its softmax; longer rows go through online softmax. By the number of
// keys of that sequence only (a constant, so that batch and machine cannot change bits).
inline constexpr size_t kFullRowKeys = 1024;
// Keys of one chain of FMAs in the weighted sums of values; chains are added up in order, within a whole row or within a key tile
// of online softmax. (All 512 keys in one chain doubled the error of an encoder at that length.)
inline constexpr size_t kValueChain = 128;

// Keys and values of one head of one sequence, copied into `scratch` in the form that `attention` reads.
struct AttentionPackArgs {
  const float* k = nullptr;  // [keys, head_dim]
  size_t k_stride = 0;
  const float* v = nullptr;  // [keys, value_dim]
  size_t v_stride = 0;
  size_t keys = 0, head_dim = 0, value_dim = 0;
  float* scratch = nullptr;  // attention_pack_floats(), 64-byte aligned
};

// Rows [row_begin, row_end) of one query head over one sequence's keys:
//   x(i, j) = sum_c q[i][c] * k[j][c]                                           raw score, the value of `scores`
//   s(i, j) = scale * x; if softcap: s = softcap * tanh(s / softcap);
//             s += bias(i, j) + relative_bias[clamp(j - i, -R, R) + R]; s -= alibi_slope * |p(i) - j|,   p(i) = i + position
//   allowed(i, j) = p(i) - left <= j <= p(i) + right, mask(i, j) != 0, and the bias is not -inf
//   w(i, j) = exp(s - m) / sum over allowed keys of exp(s - m), m the largest allowed s;  exactly 0 where not allowed
//   out[i]  = sum_j w(i, j) v[j];   lse[i] = m + log(sum)
// A row without an allowed key has out = 0 and lse = -inf. What k and v hold for keys that are not allowed cannot reach out, lse
// or weights, NaN and Inf included; NaN in a live query, key or value does propagate. Causal is right = 0. With no masks and no
// limits left = right = kUnlimited. `scratch` is the one that attention_pack filled; `row_scratch` (attention_row_floats())
// belongs to the calling thread.
inline constexpr int64_t kUnlimited = int64_t{1} << 62;
struct AttentionArgs {
  const float* q = nullptr;  // [queries, head_dim]; row i at q + i * q_stride
  size_t q_stride = 0;
  float* out = nullptr;  // [queries, value_dim]
  size_t out_stride = 0;
  size_t row_begin = 0, row_end = 0;
  size_t keys = 0, head_dim = 0, value_dim = 0;
  float scale = 1.0f;
  float softcap = 0.0f;  // 0: none
  int64_t position = 0;
  int64_t left = kUnlimited, right = kUnlimited;
  float alibi_slope = 0.0f;              // 0: none
  const float* relative_bias = nullptr;  // [2 * relative_radius + 1]
  int64_t relative_radius = 0;
  const float* bias = nullptr;  // bias(i, j) at bias + i * bias_row_stride + j * bias_column_stride; strides may be 0
  size_t bias_row_stride = 0, bias_column_stride = 0;
  const uint8_t* mask = nullptr;  // 1 keeps, 0 drops; addressed as bias
  size_t mask_row_stride = 0, mask_column_stride = 0;
  float* lse = nullptr;  // lse[i * lse_stride]; may be null
  size_t lse_stride = 1;
  float* weights = nullptr;  // [queries, keys]; may be null
  size_t weights_stride = 0;
  float* scores = nullptr;  // [queries, keys], raw, dropped columns too; may be null
  size_t scores_stride = 0;
  const float* scratch = nullptr;
  float* row_scratch = nullptr;  // 64-byte aligned
};

// --------------------------------------------------------------------------------------------------------- rows and elements

// y[r][j] = exp(scale * (x[r][j] - max)) / sum for j < length(r); 0 for length(r) <= j < width
// length(r) = lengths ? lengths[r] : width. A row of length 0 is all zeros. y == x with equal strides is allowed.
struct SoftmaxArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  size_t rows = 0, width = 0;
  const int64_t* lengths = nullptr;
  float scale = 1.0f;
  float* y = nullptr;
  size_t y_stride = 0;
};

// t = x + residual (residual may be null); written to `sum` too if that is not null; then
//   layer norm  y = (t - mean(t)) / sqrt(var(t) + eps) * gain + bias       mean, var over the row; var is the mean of squares
//   rms norm    y = t / sqrt(mean(t^2) + eps) * gain + bias
// gain and bias may be null (1 and 0). y and sum may each be x or residual with equal strides.
struct NormArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  const float* residual = nullptr;
  size_t residual_stride = 0;
  size_t rows = 0, width = 0;
  bool rms = false;
  float eps = 1e-5f;
  const float* gain = nullptr;
  const float* bias = nullptr;
  float* sum = nullptr;
  size_t sum_stride = 0;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y = x / max(|x|, eps), |x| the Euclidean length of the row. y == x with equal strides is allowed.
struct L2NormalizeArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  size_t rows = 0, width = 0;
  float eps = 1e-12f;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y = f(x), element by element. y == x with equal strides is allowed.
struct MapArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  size_t rows = 0, width = 0;
  Unary f = Unary::kIdentity;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y = f(x) * up (GeGLU, SwiGLU). y == x or y == up with equal strides is allowed.
struct GateArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  const float* up = nullptr;
  size_t up_stride = 0;
  size_t rows = 0, width = 0;
  Unary f = Unary::kSilu;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y = a + b. y == a or y == b with equal strides is allowed.
struct AddArgs {
  const float* a = nullptr;
  size_t a_stride = 0;
  const float* b = nullptr;
  size_t b_stride = 0;
  size_t rows = 0, width = 0;
  float* y = nullptr;
  size_t y_stride = 0;
};

// Rotary position embedding (Su et al. 2021) of the first rotary_dim columns of every head; the others are copied:
//   y1 = x1 cos - x2 sin,  y2 = x2 cos + x1 sin   with cos, sin = table[positions[r]][i], i < rotary_dim / 2
//   pairs (i, i + rotary_dim / 2), or (2i, 2i + 1) when interleaved. rotary_dim is even. y == x with equal strides is allowed.
// Row r, head h, column c of x lies at x + r * x_stride + h * head_dim + c.
struct RopeArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  size_t rows = 0, heads = 0, head_dim = 0, rotary_dim = 0;
  bool interleaved = false;
  const int32_t* positions = nullptr;
  const float* cos = nullptr;  // [.., rotary_dim / 2]
  const float* sin = nullptr;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y[r] = sum over t < tables of table[t][ids[t][r]], in the order of t. Ids are inside their tables (the caller has checked).
struct EmbeddingArgs {
  static constexpr size_t kMaxTables = 3;
  size_t tables = 0;
  const float* table[kMaxTables] = {};
  size_t table_stride[kMaxTables] = {};
  const int32_t* ids[kMaxTables] = {};
  size_t rows = 0, width = 0;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y[s] = mean, first, last or largest of the rows x[offsets[s]] .. x[offsets[s + 1]], column by column, rows in order; zeros for
// a sequence without rows. s < sequences.
enum class Pool : uint8_t { kMean, kFirst, kLast, kMax };
struct PoolArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  const int64_t* offsets = nullptr;  // [sequences + 1]
  size_t sequences = 0, width = 0;
  Pool kind = Pool::kMean;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y[r] = x[index[r]], or zeros where index[r] < 0: packs padded rows, pads packed ones.
struct GatherRowsArgs {
  const float* x = nullptr;
  size_t x_stride = 0;
  const int64_t* index = nullptr;  // [rows]
  size_t rows = 0, width = 0;
  float* y = nullptr;
  size_t y_stride = 0;
};

// y[i] = the exact float of the 16-bit number x[i] (IEEE half or bfloat16), subnormals, infinities and NaN included.
struct WidenArgs {
  const uint16_t* x = nullptr;
  size_t count = 0;
  bool bfloat16 = false;
  float* y = nullptr;
};

// Independent FMA chains for measuring the peak: `flops` receives the floating-point operations done. The sink keeps the work
// alive.
struct FmaChainsArgs {
  size_t iterations = 0;
  float* sink = nullptr;    // [vector]
  double* flops = nullptr;  // [1]
};

// ---------------------------------------------------------------------------------------------------------------- the table

struct KernelTable {
  Isa isa;
  size_t vector;      // floats in a register
  size_t mr, nr;      // matmul tile: mr rows by nr columns; nr is also the panel width of weights
  size_t key_panel;   // keys in a panel of packed K, columns in a panel of packed V
  size_t key_tile;    // keys of one step of online softmax, a multiple of key_panel
  size_t query_tile;  // query rows that `attention` works on at a time: the best multiple for row ranges
#define SACCADE_KERNEL(name, Args) void (*name)(const Args&);
#include "kernels/kernels.inc"
#undef SACCADE_KERNEL
};

// The table of an ISA that is built, else null. Selecting one that the CPU lacks is the caller's mistake: see isa.h.
const KernelTable* table_for(Isa isa);

constexpr size_t round_up(size_t x, size_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// Floats that pack_weight writes for a weight of that size.
constexpr size_t pack_weight_floats(const KernelTable& t, size_t in, size_t out) { return round_up(out, t.nr) * in; }

// Floats of AttentionPackArgs::scratch: K panels [keys / key_panel][head_dim][key_panel], V panels
// [value_dim / key_panel][keys][key_panel], and one flag per key (V not finite), each part padded to 16 floats.
constexpr size_t attention_pack_floats(const KernelTable& t, size_t keys, size_t head_dim, size_t value_dim) {
  return round_up(keys, t.key_panel) * head_dim + round_up(value_dim, t.key_panel) * keys + round_up(keys, 64) / 4 + 64;
}

// Online softmax takes this many times query_tile rows over a key tile before it goes to the next one, so that keys and values
// come from the third-level cache that many times less often. Row ranges of long sequences should hold at least that many rows.
inline constexpr size_t kOnlineQueryTiles = 8;
// Query rows for one call of `attention`: few enough to look at a stop flag in between, enough for its own blocking.
constexpr size_t attention_call_rows(const KernelTable& t, size_t keys) {
  return t.query_tile * (keys <= kFullRowKeys ? 1 : kOnlineQueryTiles);
}

// Floats of AttentionArgs::row_scratch: query_tile score rows (each padded by a cache line) and their maxima, twice the sums of
// values of one row tile, and per row of a block a maximum, a sum, a factor and (online) the sums of values so far.
constexpr size_t attention_row_floats(const KernelTable& t, size_t keys, size_t value_dim) {
  const bool full = keys <= kFullRowKeys;
  const size_t values = round_up(value_dim, t.key_panel);
  const size_t rows = attention_call_rows(t, keys);
  return t.query_tile * (round_up(full ? keys : t.key_tile, t.key_panel) + 16 + t.vector) + t.mr * (2 * values + t.vector) +
         rows * 3 + (full ? 0 : rows * values) + 64;
}
// Enough for every number of keys up to `longest`: whole score rows may need more than longer sequences, which have key tiles.
constexpr size_t attention_row_floats_up_to(const KernelTable& t, size_t longest, size_t value_dim) {
  const size_t own = attention_row_floats(t, longest, value_dim);
  const size_t whole = attention_row_floats(t, longest < kFullRowKeys ? longest : kFullRowKeys, value_dim);
  return own > whole ? own : whole;
}

}  // namespace saccade::kernels
