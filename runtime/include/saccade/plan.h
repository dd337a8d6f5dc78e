// A Plan is a graph made ready to run on one ISA: ops fused, weights packed, memory laid out. Immutable and cheap to copy; any
// number of Contexts share one. Plans compiled from the same graph share packed weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "saccade/export.h"
#include "saccade/graph.h"
#include "saccade/linear_backend.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

enum class Precision : uint8_t { kF32 };

struct PlanOptions {
  std::string isa =
      {};  // "sse2", "avx2", "avx512", "neon"; empty: SACCADE_FORCE_ISA, else the best one. An ISA the CPU lacks is an error
  Precision precision = Precision::kF32;
  std::shared_ptr<LinearBackend> linear_backend = nullptr;  // none: our own kernels
  std::vector<std::string> outputs = {};                    // names to compute; empty: all
  bool release_weights = false;  // drop the owners of weights once packed; a later plan that needs another packing is unsupported
  int64_t cache_bytes = 0;  // second-level cache per core to plan for; 0: this machine's. Changes the order of work, not its bits
};

struct PlanData;

class SACCADE_EXPORT Plan {
 public:
  static Result<Plan> compile(const Graph& graph, const PlanOptions& options = {});

  // A table: steps, chains (steps that one task runs one after the other on a block of rows), shapes, fusions, ISA, backend,
  // bytes; and the same as JSON.
  std::string describe() const;
  std::string describe_json() const;

  const std::string& isa() const;
  int64_t weight_bytes() const;  // packed weights and tables that the plan holds or reads
  // Arena of a context with the default number of threads for such a batch (all row sets `tokens` long).
  int64_t workspace_bytes(int64_t tokens, int64_t sequences) const;
  // Floating-point operations of such a batch, sequences equally long.
  double flops(int64_t tokens, int64_t sequences) const;

  const std::shared_ptr<const PlanData>& data() const { return data_; }

 private:
  explicit Plan(std::shared_ptr<const PlanData> data) : data_(std::move(data)) {}
  std::shared_ptr<const PlanData> data_;
};

}  // namespace v0
}  // namespace saccade
