#include "runtime/plan/weight_store.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

// Files are mapped as they are: a matrix may lie at any address, which no float pointer may.
bool readable_as_f32(const void* data, Dtype dtype) {
  return dtype == Dtype::kF32 && reinterpret_cast<uintptr_t>(data) % alignof(float) == 0;
}

// Rows of any float type at any address, as dense f32 rows.
void copy_rows(const void* data, Dtype dtype, int64_t rows, int64_t width, int64_t stride, const kernels::KernelTable& table,
               float* y) {
  std::vector<uint16_t> aligned(dtype == Dtype::kF32 ? 0 : static_cast<size_t>(width));
  for (int64_t row = 0; row < rows; ++row, y += width) {
    const char* from = static_cast<const char*>(data) + row * stride * size_of(dtype);
    const size_t bytes = static_cast<size_t>(width * size_of(dtype));
    if (dtype == Dtype::kF32) {
      std::memcpy(y, from, bytes);
    } else {
      std::memcpy(aligned.data(), from, bytes);
      table.widen({.x = aligned.data(), .count = aligned.size(), .bfloat16 = dtype == Dtype::kBf16, .y = y});
    }
  }
}

// A weight's numbers as f32, in `copy` where they do not lie so in memory, and the two strides that kernels address them by.
struct Source {
  const float* data;
  int64_t in_stride, out_stride;
};

Source f32_source(const Weight& weight, const kernels::KernelTable& table, std::vector<float>& copy) {
  const bool in_out = weight.layout == Layout::kInOut;
  const int64_t rows = in_out ? weight.in : weight.out;
  const int64_t width = in_out ? weight.out : weight.in;
  int64_t stride = weight.stride == 0 ? width : weight.stride;
  const float* data = static_cast<const float*>(weight.data);
  if (!readable_as_f32(weight.data, weight.dtype)) {
    copy.resize(static_cast<size_t>(rows * width));
    copy_rows(weight.data, weight.dtype, rows, width, stride, table, copy.data());
    data = copy.data(), stride = width;
  }
  return in_out ? Source{data, stride, 1} : Source{data, 1, stride};
}

bool same_weight(const Weight& a, const Weight& b) {
  return a.data == b.data && a.dtype == b.dtype && a.in == b.in && a.out == b.out && a.layout == b.layout && a.stride == b.stride;
}

const Weight& weight_of(const GraphData& graph, int32_t node) { return *graph.nodes[static_cast<size_t>(node)].weight; }

AlignedBlock new_block(size_t bytes) {
  AlignedBlock block;
  if (!block.reserve(bytes)) fail(Code::kResourceExhausted, "compile: no memory for ", bytes, " bytes of weights");
  return block;
}

constexpr size_t kLine = 64;  // bytes: panels start on a cache line

}  // namespace

bool WeightStore::released(int32_t node) const { return std::find(released_.begin(), released_.end(), node) != released_.end(); }

WeightStore::Packed* WeightStore::find(int32_t node, const Weight& weight, const kernels::KernelTable& table) {
  const bool here = !released(node);
  for (const auto& packed : packed_) {
    if (packed->table != &table) continue;
    const bool known = std::find(packed->nodes.begin(), packed->nodes.end(), node) != packed->nodes.end();
    if (known) return packed.get();
    // Another node of the same matrix (layers that share weights). Addresses of released memory may be in use again, so they
    // prove nothing.
    if (here && !released(packed->nodes[0]) && same_weight(packed->weight, weight)) {
      packed->nodes.push_back(node);
      return packed.get();
    }
  }
  return nullptr;
}

void WeightStore::check_source(int32_t node, const Weight& weight) const {
  if (!released(node)) return;
  fail(Code::kUnsupported, "linear: weight '", weight.name.empty() ? "(unnamed)" : weight.name, "' [", weight.in, ", ",
       weight.out, "] was released by an earlier plan (release_weights) and is not packed for this one");
}

std::vector<const PackedWeight*> WeightStore::pack(const GraphData& graph, std::span<const int32_t> linears,
                                                   const kernels::KernelTable& table, bool release_each) {
  std::vector<const PackedWeight*> result;
  std::vector<std::pair<Packed*, int32_t>> missing;
  std::vector<std::unique_ptr<Packed>> added;
  size_t bytes = 0;
  for (int32_t node : linears) {
    const Weight& weight = weight_of(graph, node);
    Packed* packed = find(node, weight, table);
    if (packed == nullptr) {
      check_source(node, weight);
      const auto twin =
          std::find_if(added.begin(), added.end(), [&](const auto& one) { return same_weight(one->weight, weight); });
      if (twin != added.end()) {
        packed = twin->get();
        packed->nodes.push_back(node);
      } else {
        auto entry = std::make_unique<Packed>(Packed{&table, weight, {node}, {}});
        entry->weight.owner.reset();
        packed = entry.get();
        added.push_back(std::move(entry));
        missing.emplace_back(packed, node);
        const size_t floats = kernels::pack_weight_floats(table, static_cast<size_t>(weight.in), static_cast<size_t>(weight.out));
        packed->panels.bytes = static_cast<int64_t>(kernels::round_up(floats * sizeof(float), kLine));
        bytes += static_cast<size_t>(packed->panels.bytes);
      }
    }
    result.push_back(&packed->panels);
  }
  if (missing.empty()) return result;

  AlignedBlock block = new_block(bytes);
  char* at = static_cast<char*>(block.data());
  std::vector<float> copy;
  for (const auto& [packed, node] : missing) {
    const Weight& weight = weight_of(graph, node);
    const Source source = f32_source(weight, table, copy);
    float* panels = reinterpret_cast<float*>(at);
    table.pack_weight({.w = source.data,
                       .in = static_cast<size_t>(weight.in),
                       .out = static_cast<size_t>(weight.out),
                       .in_stride = static_cast<size_t>(source.in_stride),
                       .out_stride = static_cast<size_t>(source.out_stride),
                       .panels = panels,
                       .panel_begin = 0,
                       .panel_end = (static_cast<size_t>(weight.out) + table.nr - 1) / table.nr});
    packed->panels.panels = panels;
    at += packed->panels.bytes;
    if (release_each) release(graph, packed->nodes);
  }
  blocks_.push_back(std::move(block));
  for (auto& entry : added) packed_.push_back(std::move(entry));
  return result;
}

std::vector<std::shared_ptr<const PreparedLinear>> WeightStore::prepare(const GraphData& graph, std::span<const int32_t> linears,
                                                                        const std::shared_ptr<LinearBackend>& backend,
                                                                        const kernels::KernelTable& table) {
  std::vector<std::shared_ptr<const PreparedLinear>> result;
  std::vector<float> copy;
  for (int32_t node : linears) {
    const auto known = std::find_if(prepared_.begin(), prepared_.end(),
                                    [&](const Prepared& one) { return one.backend == backend && one.node == node; });
    if (known != prepared_.end()) {
      result.push_back(known->linear);
      continue;
    }
    const Weight& weight = weight_of(graph, node);
    check_source(node, weight);
    const Source source = f32_source(weight, table, copy);
    const std::vector<float>& bias = graph.nodes[static_cast<size_t>(node)].bias;
    auto prepared = take(backend->prepare({.w = source.data,
                                           .in = weight.in,
                                           .out = weight.out,
                                           .in_stride = source.in_stride,
                                           .out_stride = source.out_stride,
                                           .bias = bias.empty() ? nullptr : bias.data()}));
    prepared_.push_back({backend, node, std::move(prepared)});
    result.push_back(prepared_.back().linear);
  }
  return result;
}

const float* WeightStore::f32_rows(const Table& table, const kernels::KernelTable& kernels, int64_t& stride) {
  stride = table.stride == 0 ? table.width : table.stride;
  if (readable_as_f32(table.data, table.dtype)) return static_cast<const float*>(table.data);
  const auto same = [&](const Widened& one) {
    return one.data == table.data && one.dtype == table.dtype && one.rows == table.rows && one.width == table.width &&
           one.stride == stride;
  };
  auto found = std::find_if(widened_.begin(), widened_.end(), same);
  if (found == widened_.end()) {
    AlignedBlock block = new_block(static_cast<size_t>(table.rows * table.width) * sizeof(float));
    copy_rows(table.data, table.dtype, table.rows, table.width, stride, kernels, block.floats());
    widened_.push_back({table.data, table.dtype, table.rows, table.width, stride, std::move(block)});
    found = widened_.end() - 1;
  }
  stride = table.width;
  return found->block.floats();
}

void WeightStore::release(const GraphData& graph, std::span<const int32_t> linears) {
  for (int32_t node : linears) {
    graph.nodes[static_cast<size_t>(node)].weight->owner.reset();
    if (!released(node)) released_.push_back(node);
  }
}

}  // namespace v0
}  // namespace saccade
