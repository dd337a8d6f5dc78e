// Packed weights of one graph, shared by all plans compiled from it: panels keyed by (weight, ISA), a linear backend's forms by
// (node, backend), and 16-bit embedding tables widened to f32. Weights are always packed one by one, whatever steps they end in.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "runtime/execute/memory.h"
#include "runtime/graph/graph_data.h"
#include "saccade/linear_backend.h"

namespace saccade {
inline namespace v0 {

struct PackedWeight {
  const float* panels = nullptr;  // see PackWeightArgs
  int64_t bytes = 0;
};

class WeightStore {
 public:
  // Held by Plan::compile from beginning to end: plans of one graph are compiled one after the other.
  std::mutex mutex;

  // Panels of the weights of these linear nodes, in their order. What is missing is packed into one new mapping. Fails with
  // unsupported for a weight that was released and never packed for this ISA. `release_each`: a weight is released as soon as it
  // is packed, so that a whole model never lies in memory twice.
  std::vector<const PackedWeight*> pack(const GraphData& graph, std::span<const int32_t> linears,
                                        const kernels::KernelTable& table, bool release_each);

  std::vector<std::shared_ptr<const PreparedLinear>> prepare(const GraphData& graph, std::span<const int32_t> linears,
                                                             const std::shared_ptr<LinearBackend>& backend,
                                                             const kernels::KernelTable& table);

  // The table as f32 rows: itself, or a copy of a 16-bit one.
  const float* f32_rows(const Table& table, const kernels::KernelTable& kernels, int64_t& stride);

  // Drops the owners of these nodes' weights: from now on only what is packed can be had.
  void release(const GraphData& graph, std::span<const int32_t> linears);

 private:
  struct Packed {
    const kernels::KernelTable* table;
    Weight weight;               // as a key, without owner
    std::vector<int32_t> nodes;  // linears known to have this weight
    PackedWeight panels;
  };
  struct Prepared {
    std::shared_ptr<LinearBackend> backend;
    int32_t node;
    std::shared_ptr<const PreparedLinear> linear;
  };
  struct Widened {
    const void* data;
    Dtype dtype;
    int64_t rows, width, stride;
    AlignedBlock block;
  };

  Packed* find(int32_t node, const Weight& weight, const kernels::KernelTable& table);
  void check_source(int32_t node, const Weight& weight) const;
  bool released(int32_t node) const;

  std::vector<std::unique_ptr<Packed>> packed_;
  std::vector<Prepared> prepared_;
  std::vector<Widened> widened_;
  std::vector<AlignedBlock> blocks_;
  std::vector<int32_t> released_;
};

}  // namespace v0
}  // namespace saccade
