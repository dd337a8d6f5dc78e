// attention(): checks, a list of tasks, and the kernels on each.
#include "saccade/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "runtime/execute/attention_args.h"
#include "runtime/execute/memory.h"
#include "runtime/execute/parallel.h"
#include "runtime/execute/pool.h"
#include "runtime/graph/check.h"
#include "runtime/plan/isa.h"

namespace saccade {
inline namespace v0 {

struct WorkspaceData {
  const kernels::KernelTable* table = nullptr;
  std::shared_ptr<Executor> executor;
  int threads = 1;
  std::vector<AlignedBlock> slots;  // scratch of one worker each
  std::vector<int64_t> first_task;  // [batch + 1]: the first task of each sequence
  std::atomic<bool> busy{false};
};

namespace {

// Waking a worker of the pool takes 5 to 20 us, in which one thread does about this much; anything smaller runs on its caller.
constexpr double kSmallFlops = 2e6;
// Query rows of the smallest piece that a head is cut into for the sake of threads. Each piece packs keys and values again, which
// costs as much as 4 (128 keys) to 16 (512 keys) query rows on AVX2.
constexpr int64_t kLeastRows = 128;
// Tasks a thread, so that the last ones to end are short.
constexpr int64_t kTasksPerThread = 4;

class Busy {
 public:
  explicit Busy(WorkspaceData& workspace) : workspace_(workspace) {
    require(!workspace.busy.exchange(true, std::memory_order_acquire),
            "attention: workspace is used by another call at this moment, expected one caller at a time");
  }
  ~Busy() { workspace_.busy.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  WorkspaceData& workspace_;
};

// How the work is cut: a task is one key/value head of one sequence, up to `heads` of its query heads and up to `rows` of their
// rows.
struct Cut {
  int64_t heads, rows, head_pieces;
  int64_t row_pieces(int64_t queries) const { return std::max<int64_t>(1, (queries + rows - 1) / rows); }
};

Cut cut(const CheckedAttention& a, const kernels::KernelTable& table, int threads) {
  const int64_t heads = a.args.batch * a.kv_heads;
  const int64_t whole = std::max<int64_t>(1, a.longest_queries);
  const int64_t enough = threads == 1 ? 1 : kTasksPerThread * threads;
  int64_t pieces = (enough + heads - 1) / heads;
  pieces = std::clamp<int64_t>(a.group * whole / kLeastRows, 1, pieces);
  const int64_t heads_per_task = (a.group + pieces - 1) / pieces;  // by query heads first, which splits no block of rows
  const int64_t head_pieces = (a.group + heads_per_task - 1) / heads_per_task;
  const int64_t row_pieces = (pieces + head_pieces - 1) / head_pieces;
  const auto block = static_cast<int64_t>(kernels::attention_call_rows(table, static_cast<size_t>(a.longest_keys)));
  const int64_t rows = std::max((whole + row_pieces - 1) / row_pieces, std::min(kLeastRows, whole));
  return {heads_per_task, (rows + block - 1) / block * block, head_pieces};
}

double flops(const CheckedAttention& a) {
  double pairs = 0;
  for (int64_t b = 0; b < a.args.batch; ++b) pairs += static_cast<double>(a.queries(b)) * static_cast<double>(a.keys(b));
  return 2 * pairs * static_cast<double>(a.args.heads) * static_cast<double>(a.args.head_dim + a.value_dim);
}

// Floats of one worker's scratch: the packed head, then the rows.
struct ScratchSize {
  size_t packed, rows;
  ScratchSize(const kernels::KernelTable& table, const CheckedAttention& a) {
    require(product_fits({a.longest_keys + 64, a.args.head_dim + a.value_dim + 64, 8}),
            "attention: keys * (head_dim + value_dim) = ", a.longest_keys, " * (", a.args.head_dim, " + ", a.value_dim,
            ") is larger than memory can be");
    const size_t keys = static_cast<size_t>(a.longest_keys), value_dim = static_cast<size_t>(a.value_dim);
    packed = kernels::round_up(kernels::attention_pack_floats(table, keys, static_cast<size_t>(a.args.head_dim), value_dim), 16);
    rows = kernels::attention_row_floats_up_to(table, keys, value_dim);
  }
};

// What the padded rows and columns of a head hold: zeros, and -inf in lse. Rows [queries(b), queries), columns [keys(b), keys).
void write_padding(const CheckedAttention& a, int64_t b, int64_t h, int64_t row_begin, int64_t row_end, bool last) {
  const AttentionArgs& args = a.args;
  const int64_t row0 = (b * args.heads + h) * args.queries;
  const int64_t live = a.queries(b), live_keys = a.keys(b);
  for (float* square : {args.weights, args.scores}) {
    if (square == nullptr) continue;
    float* rows = square + row0 * args.keys;
    for (int64_t i = row_begin; i < row_end && live_keys < args.keys; ++i)
      std::fill(rows + i * args.keys + live_keys, rows + (i + 1) * args.keys, 0.0f);
    if (last) std::fill(rows + live * args.keys, rows + args.queries * args.keys, 0.0f);
  }
  if (!last) return;
  if (args.lse != nullptr)
    std::fill(args.lse + row0 + live, args.lse + row0 + args.queries, -std::numeric_limits<float>::infinity());
  if (!args.q_offsets.empty()) return;  // packed rows have no padding
  for (int64_t i = live; i < args.queries; ++i) std::fill_n(a.out(b, h) + i * args.out.row_stride, a.value_dim, 0.0f);
}

// One head of one sequence for the kernel: all but the row range.
kernels::AttentionArgs kernel_args(const CheckedAttention& a, int64_t b, int64_t h) {
  const AttentionArgs& args = a.args;
  const int64_t row0 = (b * args.heads + h) * args.queries;
  kernels::AttentionArgs k;
  k.q = a.q(b, h), k.q_stride = static_cast<size_t>(args.q.row_stride);
  k.out = a.out(b, h), k.out_stride = static_cast<size_t>(args.out.row_stride);
  k.keys = static_cast<size_t>(a.keys(b)), k.head_dim = static_cast<size_t>(args.head_dim),
  k.value_dim = static_cast<size_t>(a.value_dim);
  k.scale = a.scale, k.softcap = args.softcap;
  k.position = a.position(b), k.left = a.left, k.right = a.right;
  if (!args.alibi_slopes.empty()) k.alibi_slope = args.alibi_slopes[h];
  if (!args.relative_bias.empty()) {
    k.relative_radius = a.relative_radius;
    k.relative_bias = args.relative_bias.data() + h * (2 * a.relative_radius + 1);
  }
  if (args.bias.data != nullptr) {
    k.bias = args.bias.data + b * a.bias.batch + h * a.bias.head;
    k.bias_row_stride = static_cast<size_t>(a.bias.row), k.bias_column_stride = static_cast<size_t>(a.bias.column);
  }
  if (args.mask.data != nullptr) {
    k.mask = args.mask.data + b * a.mask.batch + h * a.mask.head;
    k.mask_row_stride = static_cast<size_t>(a.mask.row), k.mask_column_stride = static_cast<size_t>(a.mask.column);
  }
  if (args.lse != nullptr) k.lse = args.lse + row0;
  if (args.weights != nullptr) k.weights = args.weights + row0 * args.keys, k.weights_stride = static_cast<size_t>(args.keys);
  if (args.scores != nullptr) k.scores = args.scores + row0 * args.keys, k.scores_stride = static_cast<size_t>(args.keys);
  return k;
}

bool stopped(const AttentionArgs& args) { return args.stop != nullptr && args.stop->load(std::memory_order_relaxed); }

// Piece `piece` of sequence b; false when it was stopped.
bool run_task(const CheckedAttention& a, const kernels::KernelTable& table, const Cut& cut, int64_t b, int64_t piece,
              float* scratch, const ScratchSize& size) {
  const int64_t queries = a.queries(b), keys = a.keys(b), row_pieces = cut.row_pieces(queries);
  const int64_t row_piece = piece % row_pieces, head_piece = piece / row_pieces % cut.head_pieces;
  const int64_t kv_head = piece / row_pieces / cut.head_pieces;
  const int64_t row_begin = row_piece * cut.rows, row_end = std::min(queries, row_begin + cut.rows);
  const int64_t head_begin = kv_head * a.group + head_piece * cut.heads;
  const int64_t head_end = std::min(head_begin + cut.heads, (kv_head + 1) * a.group);
  if (stopped(a.args)) return false;
  if (row_begin < row_end) {
    table.attention_pack({.k = a.k(b, kv_head),
                          .k_stride = static_cast<size_t>(a.args.k.row_stride),
                          .v = a.v(b, kv_head),
                          .v_stride = static_cast<size_t>(a.args.v.row_stride),
                          .keys = static_cast<size_t>(keys),
                          .head_dim = static_cast<size_t>(a.args.head_dim),
                          .value_dim = static_cast<size_t>(a.value_dim),
                          .scratch = scratch});
  }
  const auto block = static_cast<int64_t>(kernels::attention_call_rows(table, static_cast<size_t>(keys)));
  for (int64_t h = head_begin; h < head_end; ++h) {
    kernels::AttentionArgs k = kernel_args(a, b, h);
    k.scratch = scratch, k.row_scratch = scratch + size.packed;
    for (int64_t row = row_begin; row < row_end; row += block) {
      if (stopped(a.args)) return false;
      k.row_begin = static_cast<size_t>(row), k.row_end = static_cast<size_t>(std::min(row_end, row + block));
      table.attention(k);
    }
    write_padding(a, b, h, row_begin, row_end, row_piece + 1 == row_pieces);
  }
  return true;
}

void run(const CheckedAttention& a, WorkspaceData& w) {
  if (a.args.batch == 0) return;
  const kernels::KernelTable& table = *w.table;
  const int threads = flops(a) < kSmallFlops ? 1 : w.threads;
  const Cut pieces = cut(a, table, threads);
  w.first_task.resize(a.args.batch + 1);
  int64_t tasks = 0;
  for (int64_t b = 0; b < a.args.batch; ++b) {
    w.first_task[b] = tasks;
    tasks += a.kv_heads * pieces.head_pieces * pieces.row_pieces(a.queries(b));
  }
  w.first_task[a.args.batch] = tasks;

  const int width = static_cast<int>(std::min<int64_t>(threads, tasks));
  const ScratchSize size(table, a);
  if (w.slots.size() < static_cast<size_t>(width)) w.slots.resize(width);
  for (int s = 0; s < width; ++s) {
    if (!w.slots[s].reserve((size.packed + size.rows) * sizeof(float)))
      fail(Code::kResourceExhausted, "attention: no memory for scratch");
  }

  bool cancelled = false;
  std::atomic_ref<bool> cancel(cancelled);
  Status status = parallel_for(w.executor.get(), width, tasks, [&](int64_t task, int slot) {
    const int64_t b = std::upper_bound(w.first_task.begin(), w.first_task.end(), task) - w.first_task.begin() - 1;
    if (run_task(a, table, pieces, b, task - w.first_task[b], w.slots[slot].floats(), size)) return true;
    cancel.store(true, std::memory_order_relaxed);
    return false;
  });
  if (!status.ok()) throw Failure{std::move(status)};
  if (cancelled) fail(Code::kCancelled, "attention: the stop flag was set");
}

}  // namespace

Workspace::Workspace(std::unique_ptr<WorkspaceData> data) : data_(std::move(data)) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

Result<Workspace> Workspace::create(const WorkspaceOptions& options) {
  auto data = std::unique_ptr<WorkspaceData>();
  Status status = caught([&] {
    require(options.threads >= 0, "workspace: threads is ", options.threads, ", expected 0 (the default) or more");
    data = std::make_unique<WorkspaceData>();
    data->table = &resolve_isa(options.isa == nullptr ? "" : options.isa);
    data->executor = options.executor;
    if (data->executor == nullptr) data->executor = take(pool_executor({.threads = options.threads}));
    data->threads = std::clamp(data->executor->width(), 1, execute::kMaxThreads);
    if (options.threads > 0) data->threads = std::min(data->threads, options.threads);
  });
  if (!status.ok()) return status;
  return Workspace(std::move(data));
}

int64_t Workspace::bytes() const {
  if (data_ == nullptr) return 0;
  size_t bytes = data_->first_task.capacity() * sizeof(int64_t);
  for (const AlignedBlock& slot : data_->slots) bytes += slot.bytes();
  return static_cast<int64_t>(bytes);
}

void Workspace::trim() {
  if (data_ == nullptr || data_->busy.exchange(true, std::memory_order_acquire)) return;
  std::vector<AlignedBlock>().swap(data_->slots);
  std::vector<int64_t>().swap(data_->first_task);
  data_->busy.store(false, std::memory_order_release);
}

Status attention(const AttentionArgs& args, Workspace& workspace) {
  return caught([&] {
    require(workspace.data() != nullptr, "attention: the workspace was moved from");
    const Busy busy(*workspace.data());
    run(CheckedAttention(args), *workspace.data());
  });
}

}  // namespace v0
}  // namespace saccade
