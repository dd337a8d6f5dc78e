// Names of steps and the description of a plan.
#pragma once

#include <string>

#include "runtime/plan/plan_data.h"

namespace saccade {
inline namespace v0 {

void name_steps(PlanData& plan);
std::string describe(const PlanData& plan);
std::string describe_json(const PlanData& plan);

}  // namespace v0
}  // namespace saccade
