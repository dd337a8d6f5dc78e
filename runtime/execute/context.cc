// Context: one caller's memory and tables for runs of a plan.
#include "saccade/context.h"

#include <algorithm>
#include <atomic>

#include "runtime/execute/arena.h"
#include "runtime/execute/bindings.h"
#include "runtime/execute/pool.h"
#include "runtime/execute/region.h"
#include "runtime/execute/steps.h"
#include "runtime/graph/check.h"
#include "runtime/plan/cost.h"
#include "saccade/machine.h"

namespace saccade {
inline namespace v0 {

struct ContextData {
  std::shared_ptr<const PlanData> plan;
  std::shared_ptr<Executor> executor;
  int threads = 1;
  std::atomic<bool> in_use{false};
  Arena arena;
  BatchSize size;
  RunState run;
  Region region;
};

namespace {

// Marks the context as in use by one caller.
class Claim {
 public:
  explicit Claim(ContextData& data) : data_(data), ok_(!data.in_use.exchange(true, std::memory_order_acquire)) {}
  ~Claim() {
    if (ok_) data_.in_use.store(false, std::memory_order_release);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool ok() const { return ok_; }

 private:
  ContextData& data_;
  bool ok_;
};

Status empty_context() { return {Code::kInvalidArgument, "context: moved from"}; }
Status in_use() { return {Code::kInvalidArgument, "context: in use by another caller; each caller needs a Context of its own"}; }

std::unique_ptr<ContextData> create_data(const Plan& plan, const ContextOptions& options) {
  require(plan.data() != nullptr, "context: the plan was moved from");
  require(options.threads >= 0, "context: threads must not be negative, got ", options.threads);
  auto data = std::make_unique<ContextData>();
  data->plan = plan.data();
  data->executor = options.executor;
  if (data->executor == nullptr) data->executor = take(pool_executor({.threads = resolve_threads(options.threads)}));
  data->threads = std::clamp(data->executor->width(), 1, execute::kMaxThreads);
  if (options.threads > 0) data->threads = std::min(data->threads, options.threads);
  RunState& run = data->run;
  run.plan = data->plan.get();
  run.values.resize(run.plan->values.size() * static_cast<size_t>(data->threads));
  run.inputs.resize(run.plan->inputs.size());
  run.outputs.resize(run.plan->outputs.size());
  run.lookups.resize(run.plan->lookups.size());
  run.phases.reserve(2 * run.plan->steps.size());  // a step has at most two
  data->region.reserve(2 * run.plan->steps.size(), data->threads);
  return data;
}

Status run_plan(ContextData& data, const Batch& batch, std::span<const Input> inputs, std::span<const Output> outputs,
                const RunOptions& options) {
  RunState& run = data.run;
  bind_batch(run, batch, data.size);
  bind_ports(run, inputs, outputs);
  data.arena.reserve(*data.plan, data.size, data.threads);
  run.scratch_floats = scratch_floats(*data.plan, data.size);
  place_values(run, data.arena.data());
  run.stop = options.stop;
  run.trace = options.trace;
  const int threads = plan_phases(run, data.threads);
  return data.region.run(run, *data.executor, threads);
}

void reserve_tables(RunState& run, size_t tokens, size_t sequences) {
  for (auto& rows : run.lookups) rows.reserve(tokens);
  for (PortState& port : run.inputs) port.index.reserve(tokens);
  for (PortState& port : run.outputs) port.index.reserve(tokens), port.weights_begin.reserve(sequences);
}

}  // namespace

Context::Context(std::unique_ptr<ContextData> data) : data_(std::move(data)) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

Result<Context> Context::create(const Plan& plan, const ContextOptions& options) {
  std::unique_ptr<ContextData> data;
  Status status = caught([&] { data = create_data(plan, options); });
  if (!status.ok()) return status;
  return Context(std::move(data));
}

Status Context::run(const Batch& batch, std::span<const Input> inputs, std::span<const Output> outputs,
                    const RunOptions& options) {
  if (data_ == nullptr) return empty_context();
  const Claim claim(*data_);
  if (!claim.ok()) return in_use();
  Status status;
  Status thrown = caught([&] { status = run_plan(*data_, batch, inputs, outputs, options); });
  return thrown.ok() ? status : thrown;
}

Status Context::reserve(int64_t tokens, int64_t sequences) {
  if (data_ == nullptr) return empty_context();
  const Claim claim(*data_);
  if (!claim.ok()) return in_use();
  return caught([&] {
    require(tokens >= 0 && sequences >= 0, "reserve: tokens and sequences must not be negative, got ", tokens, " and ",
            sequences);
    if (tokens > kMostRows || sequences > kMostRows) {
      fail(Code::kResourceExhausted, "reserve: ", std::max(tokens, sequences), " rows are larger than memory can be");
    }
    data_->arena.reserve(*data_->plan, worst_case(*data_->plan, tokens, sequences), data_->threads);
    reserve_tables(data_->run, static_cast<size_t>(tokens), static_cast<size_t>(sequences));
  });
}

void Context::trim() {
  if (data_ == nullptr) return;
  const Claim claim(*data_);
  if (claim.ok()) data_->arena.trim();
}

int64_t Context::arena_bytes() const { return data_ == nullptr ? 0 : data_->arena.bytes(); }
int Context::threads() const { return data_ == nullptr ? 0 : data_->threads; }
const char* Context::executor_name() const { return data_ == nullptr ? "" : data_->executor->name(); }

}  // namespace v0
}  // namespace saccade
