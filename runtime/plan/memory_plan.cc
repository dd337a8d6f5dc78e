// Where values lie. All values of one row count share a block of the arena. A block holds R rows' worth of floats (R: row
// capacity, chosen at run start), and a value occupies columns [offset, offset + stride) of it, that is floats [offset * R,
// (offset + stride) * R) as a dense matrix. So one assignment of column ranges, made here, holds for every batch: values that
// live at the same time get disjoint ranges.
// While a chain runs (find_chains.cc), each block of rows is at another of its steps: every value of the row sets that a chain
// touches counts as alive from its first step to its last. Values that only the chain touches share a block of their own, which
// has the rows of one task; there the order of the steps holds.
#include <algorithm>

#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {
namespace {

// Floats from row to row: whole cache lines (16 floats), and no multiple of 4 KiB, where all rows of a register tile would fall
// on one set of the first-level cache.
int64_t stride_of(int64_t width) {
  const int64_t lines = (width + 15) / 16 * 16;
  return lines % 1024 == 0 ? lines + 16 : lines;
}

// Steps [first, last] between which a group of values that share one place holds data.
struct Lifetime {
  int32_t first = kNone, last = kNone;
  bool used() const { return first != kNone; }
  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

class MemoryPlan {
 public:
  explicit MemoryPlan(PlanData& plan) : plan_(plan), lifetime_(plan.values.size()), place_(plan.values.size()) {
    for (size_t i = 0; i < place_.size(); ++i) place_[i] = static_cast<int32_t>(i);
  }

  void run() {
    for (PlanValue& value : plan_.values) value.stride = stride_of(value.width);
    find_lifetimes();
    share_places();
    extend_lifetimes();
    assign();
  }

 private:
  void find_lifetimes() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto touch = [&](int32_t value) {
        Lifetime& life = lifetime_[static_cast<size_t>(value)];
        if (!life.used()) life.first = static_cast<int32_t>(i);
        life.last = static_cast<int32_t>(i);
      };
      for_each_read(plan_.steps[i], touch);
      for_each_write(plan_.steps[i], touch);
    }
  }

  // A step that may write over its operand does so when it is the operand's last reader. Operands that may be the caller's memory
  // (inputs) are never written.
  void share_places() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      switch (step.kind) {
        case StepKind::kMap:
        case StepKind::kNorm:
        case StepKind::kL2Normalize:
        case StepKind::kRope:
          share(i, step.in[0], step.out);
          break;
        case StepKind::kGate:
        case StepKind::kAdd:
          if (!share(i, step.in[0], step.out)) share(i, step.in[1], step.out);
          break;
        case StepKind::kMatmul:
          // The kernel's rule: partial sums pass through the result above this depth. And no result may lie over the operand.
          // Another library's product is written before the residual is read.
          if (plan_.backend != nullptr) break;
          for (const Section& section : step.sections) {
            const int64_t in = plan_.nodes[static_cast<size_t>(section.node)].weight->in;
            const bool in_one_chunk = static_cast<size_t>(in) <= kernels::kOneChunkK;
            if (section.residual != kNone && section.residual != step.in[0] && in_one_chunk)
              share(i, section.residual, section.out);
          }
          break;
        default:
          break;
      }
    }
  }

  bool share(size_t step, int32_t operand, int32_t result) {
    Lifetime& life = lifetime_[static_cast<size_t>(place_of(operand))];
    const int32_t writer = writer_of(plan_, operand);
    if (writer == kNone || plan_.steps[static_cast<size_t>(writer)].kind == StepKind::kInput) return false;
    if (life.last != static_cast<int32_t>(step) || plan_.value(operand).stride != plan_.value(result).stride) return false;
    if (plan_.steps[step].then_out == operand) return false;
    if (plan_.value(operand).chain != plan_.value(result).chain) return false;
    const int32_t place = place_of(operand);
    place_[static_cast<size_t>(result)] = place;
    life.last = std::max(life.last, lifetime_[static_cast<size_t>(result)].last);
    lifetime_[static_cast<size_t>(result)] = {};
    return true;
  }

  // Blocks of chains are numbered behind those of the row sets.
  int32_t block_of(const PlanValue& value) const {
    return value.chain == kNone ? plan_.block_of(value.rows) : static_cast<int32_t>(plan_.token_sets.size()) + 2 + value.chain;
  }

  int32_t place_of(int32_t value) const {
    while (place_[static_cast<size_t>(value)] != value) value = place_[static_cast<size_t>(value)];
    return value;
  }

  // Values of the row sets are alive for whole chains.
  void extend_lifetimes() {
    for (size_t i = 0; i < lifetime_.size(); ++i) {
      Lifetime& life = lifetime_[i];
      if (!life.used() || plan_.values[i].chain != kNone) continue;
      const int32_t first = plan_.steps[static_cast<size_t>(life.first)].chain;
      const int32_t last = plan_.steps[static_cast<size_t>(life.last)].chain;
      if (first != kNone) life.first = plan_.chains[static_cast<size_t>(first)].first;
      if (last != kNone)
        life.last = plan_.chains[static_cast<size_t>(last)].first + plan_.chains[static_cast<size_t>(last)].count - 1;
    }
  }

  // Widest first, each at the lowest columns that no value alive at the same time has.
  void assign() {
    plan_.block_width.assign(plan_.token_sets.size() + 2, 0);
    std::vector<int32_t> order;
    for (size_t i = 0; i < lifetime_.size(); ++i) {
      if (lifetime_[i].used()) order.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return plan_.value(a).stride > plan_.value(b).stride; });
    std::vector<int32_t> placed;
    for (int32_t id : order) {
      PlanValue& value = plan_.values[static_cast<size_t>(id)];
      const int32_t block = block_of(value);
      std::vector<const PlanValue*> others;
      for (int32_t other : placed) {
        if (block_of(plan_.value(other)) == block &&
            lifetime_[static_cast<size_t>(other)].meets(lifetime_[static_cast<size_t>(id)])) {
          others.push_back(&plan_.value(other));
        }
      }
      std::sort(others.begin(), others.end(), [](const PlanValue* a, const PlanValue* b) { return a->offset < b->offset; });
      value.offset = 0;
      for (const PlanValue* other : others) {
        if (value.offset + value.stride <= other->offset) break;
        value.offset = std::max(value.offset, other->offset + other->stride);
      }
      int64_t& width = value.chain != kNone ? plan_.chains[static_cast<size_t>(value.chain)].width
                                            : plan_.block_width[static_cast<size_t>(block)];
      width = std::max(width, value.offset + value.stride);
      placed.push_back(id);
    }
    for (size_t i = 0; i < place_.size(); ++i) {
      const int32_t place = place_of(static_cast<int32_t>(i));
      plan_.values[i].offset = plan_.value(place).offset;
    }
  }

  PlanData& plan_;
  std::vector<Lifetime> lifetime_;
  std::vector<int32_t> place_;  // value whose place this one shares; itself where it has its own
};

}  // namespace

void plan_memory(PlanData& plan) { MemoryPlan(plan).run(); }

}  // namespace v0
}  // namespace saccade
