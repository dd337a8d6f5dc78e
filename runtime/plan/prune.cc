#include "runtime/plan/passes.h"

namespace saccade {
inline namespace v0 {

std::vector<bool> needed_nodes(const std::vector<Node>& nodes, std::span<const int32_t> outputs) {
  std::vector<bool> needed(nodes.size(), false);
  for (int32_t output : outputs) needed[static_cast<size_t>(output)] = true;
  for (size_t i = nodes.size(); i-- > 0;) {  // operands come before their users
    if (!needed[i]) continue;
    for (int32_t input : nodes[i].inputs) needed[static_cast<size_t>(input)] = true;
    for (const LookupData& lookup : nodes[i].lookups) {
      if (lookup.ids != kNone) needed[static_cast<size_t>(lookup.ids)] = true;
    }
  }
  return needed;
}

}  // namespace v0
}  // namespace saccade
