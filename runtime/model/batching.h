// From texts to runs: texts are tokenised in order and packed until a run has its tokens. What one call needs is borrowed from a
// pool, so that calls may go on at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "saccade/batch.h"
#include "saccade/context.h"
#include "saccade/encoder.h"
#include "saccade/plan.h"
#include "saccade/tokenizer.h"

namespace saccade {
inline namespace v0 {

// Consecutive texts as one ragged batch.
struct PackedTexts {
  int64_t first = 0;                   // index of the first text
  std::vector<int64_t> offsets = {0};  // [texts + 1]
  std::vector<int32_t> ids, type_ids;  // [tokens]

  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
  void add(const Tokens& tokens);
  void restart(int64_t index);  // empty, the next text being that one
};

// What one call computes with.
struct EncoderScratch {
  explicit EncoderScratch(Context context) : context(std::move(context)) {}
  Context context;
  Batch batch;
  PackedTexts texts;
  Tokens tokens;
  std::string prompted;  // prompt + text
};

// One plan and the scratches of its callers, at least one for each caller at the same time. Throws Failure.
class ScratchPool {
 public:
  ScratchPool(Plan plan, ContextOptions options) : plan_(std::move(plan)), options_(std::move(options)) {}
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;

  const Plan& plan() const { return plan_; }

  // A scratch that goes back when it is destroyed.
  using Borrowed = std::unique_ptr<EncoderScratch, std::function<void(EncoderScratch*)>>;
  Borrowed borrow();

 private:
  const Plan plan_;
  const ContextOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncoderScratch>> idle_;
};

// Tokenises texts 0 .. count - 1 in order by `tokenize` and calls `run` with as many as fit in options.max_batch_tokens (a longer
// one alone). Stops with cancelled when options.stop is set; options.progress hears of every run.
void for_each_run(int64_t count, const EncodeOptions& options, EncoderScratch& scratch,
                  const std::function<void(int64_t index, Tokens& tokens)>& tokenize,
                  const std::function<void(const PackedTexts& texts)>& run);

}  // namespace v0
}  // namespace saccade
