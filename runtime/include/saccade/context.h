// A Context runs a Plan for one caller at a time: it owns the arena and knows the executor. Many contexts may share a plan.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "saccade/batch.h"
#include "saccade/executor.h"
#include "saccade/export.h"
#include "saccade/plan.h"
#include "saccade/status.h"
#include "saccade/tensor.h"
#include "saccade/trace.h"

namespace saccade {
inline namespace v0 {

// How the rows of a bound matrix relate to the batch.
enum class Rows : uint8_t {
  kPacked,  // [tokens, width] (or [sequences, width]): live rows only, one sequence after the other
  kPadded,  // [sequences * max_length, width]: gathered on the way in; scattered on the way out, zeros in padded rows
  kFlat,    // attention weights
};

struct InputRows {
  Rows rows = Rows::kPacked;
  ConstMatrix matrix;
};
struct OutputRows {
  Rows rows = Rows::kPacked;
  Matrix matrix;
  operator InputRows() const { return {rows, matrix}; }
};

inline InputRows packed(const ConstMatrix& matrix) { return {Rows::kPacked, matrix}; }
inline OutputRows packed(const Matrix& matrix) { return {Rows::kPacked, matrix}; }
// max_length = rows / sequences must divide, hold the longest sequence and, after assign_mask, equal that mask's.
inline InputRows padded(const ConstMatrix& matrix) { return {Rows::kPadded, matrix}; }
inline OutputRows padded(const Matrix& matrix) { return {Rows::kPadded, matrix}; }
// Attention weights: sum over sequences of heads * queries * keys floats.
inline OutputRows flat(std::span<float> values) {
  return {Rows::kFlat, Matrix(values.data(), 1, static_cast<int64_t>(values.size()))};
}

struct Input {
  std::string_view name;
  InputRows rows;
};
struct Output {
  std::string_view name;
  OutputRows rows;
};

struct ContextOptions {
  int threads = 0;                               // 0: SACCADE_NUM_THREADS, OMP_NUM_THREADS, else physical cores within the quota
  std::shared_ptr<Executor> executor = nullptr;  // none: the library's pool
};

struct RunOptions {
  const std::atomic<bool>* stop = nullptr;  // set by anyone to end the run within one tile with kCancelled
  Trace* trace = nullptr;
};

struct ContextData;

class SACCADE_EXPORT Context {
 public:
  static Result<Context> create(const Plan& plan, const ContextOptions& options = {});
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // Binds every input and every output of the plan, checks everything, then computes. Nothing is written before all checks have
  // passed; nothing is allocated once the context is warm; after an error or a cancelled run the context stays usable (outputs
  // are then undefined). A second caller at the same time gets invalid_argument.
  Status run(const Batch& batch, std::span<const Input> inputs, std::span<const Output> outputs, const RunOptions& options = {});
  Status run(const Batch& batch, std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
             const RunOptions& options = {}) {
    return run(batch, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), options);
  }

  Status reserve(int64_t tokens, int64_t sequences);  // grows the arena ahead of the first run
  void trim();                                        // gives the arena back
  int64_t arena_bytes() const;
  int threads() const;
  const char* executor_name() const;

 private:
  explicit Context(std::unique_ptr<ContextData> data);
  std::unique_ptr<ContextData> data_;
};

// Writes flat attention weights (see flat()) as [sequences, heads, max queries, max keys] with zeros in padded rows and columns;
// `padded` holds exactly that many floats.
SACCADE_EXPORT Status pad_weights(const Batch& batch, int64_t heads, RowSet queries, RowSet keys, std::span<const float> weights,
                                  std::span<float> padded);

}  // namespace v0
}  // namespace saccade
