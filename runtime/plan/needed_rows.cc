// Pooling of the first or last token needs one row per sequence. Walking back from it, every op that works row by row, and the
// query side of attention, is computed for those rows only; where such a chain starts from a value that others need in full, a
// select step copies the rows. Every op computes a row from that row alone (attention: from that row and all keys), so the bits
// do not change.
#include <map>

#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {
namespace {

// Which rows of a value its readers want, one bit for each Take.
using Demand = unsigned;
constexpr Demand bit(Take take) { return 1u << static_cast<unsigned>(take); }

Take pool_take(Pooling kind) {
  return kind == Pooling::kFirst ? Take::kFirst : kind == Pooling::kLast ? Take::kLast : Take::kAll;
}

// For each step the rows to compute, found from the last step to the first.
std::vector<Take> find_takes(const PlanData& plan) {
  std::vector<Demand> demand(plan.values.size(), 0);
  std::vector<Take> takes(plan.steps.size(), Take::kAll);
  for (size_t i = plan.steps.size(); i-- > 0;) {
    const Step& step = plan.steps[i];
    const auto want = [&](size_t operand, Take take) { demand[static_cast<size_t>(step.in[operand])] |= bit(take); };
    Take take = Take::kAll;
    if (step.kind == StepKind::kPool) {
      want(0, pool_take(plan.node(step).pooling));
      continue;
    }
    const bool narrow = row_by_row(step.kind) || (step.kind == StepKind::kAttention && step.port == kNone);
    if (narrow && !plan.value(main_out(step)).rows.per_sequence()) {
      const Demand wanted = demand[static_cast<size_t>(main_out(step))];
      for (Take one : {Take::kFirst, Take::kLast}) {
        if (wanted == bit(one)) take = one;
      }
    }
    takes[i] = take;
    for (size_t operand = 0; operand < step.in.size(); ++operand) {
      want(operand, step.kind == StepKind::kAttention && operand > 0 ? Take::kAll : take);
    }
  }
  return takes;
}

}  // namespace

void needed_rows(PlanData& plan) {
  const std::vector<Take> takes = find_takes(plan);
  std::vector<Step> steps;
  std::map<std::pair<int32_t, Take>, int32_t> selected;
  // The rows `take` of a value: itself where only those were computed.
  const auto select = [&](int32_t value, Take take) {
    if (plan.value(value).rows.take == take) return value;
    const auto [entry, inserted] = selected.try_emplace({value, take}, static_cast<int32_t>(plan.values.size()));
    if (inserted) {
      PlanValue rows = plan.value(value);
      rows.rows.take = take;
      plan.values.push_back(rows);
      Step step;
      step.kind = StepKind::kSelect;
      step.in = {value};
      step.out = entry->second;
      steps.push_back(std::move(step));
    }
    return entry->second;
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    if (takes[i] != Take::kAll) {
      plan.values[static_cast<size_t>(main_out(step))].rows.take = takes[i];
      const size_t narrowed = step.kind == StepKind::kAttention ? 1 : step.in.size();
      for (size_t operand = 0; operand < narrowed; ++operand) step.in[operand] = select(step.in[operand], takes[i]);
    }
    steps.push_back(std::move(step));
  }
  plan.steps = std::move(steps);
}

}  // namespace v0
}  // namespace saccade
