#include "runtime/model/batching.h"

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {

void PackedTexts::add(const Tokens& tokens) {
  ids.insert(ids.end(), tokens.ids.begin(), tokens.ids.end());
  type_ids.insert(type_ids.end(), tokens.type_ids.begin(), tokens.type_ids.end());
  offsets.push_back(static_cast<int64_t>(ids.size()));
}

void PackedTexts::restart(int64_t index) {
  first = index;
  offsets.resize(1);
  ids.clear();
  type_ids.clear();
}

ScratchPool::Borrowed ScratchPool::borrow() {
  std::unique_ptr<EncoderScratch> scratch;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      scratch = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (scratch == nullptr) {
    scratch = std::make_unique<EncoderScratch>(take(Context::create(plan_, options_)));
    const std::lock_guard lock(mutex_);
    idle_.reserve(idle_.capacity() + 1);  // so that giving it back cannot fail
  }
  return Borrowed(scratch.release(), [this](EncoderScratch* back) {
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(back);
  });
}

void for_each_run(int64_t count, const EncodeOptions& options, EncoderScratch& scratch,
                  const std::function<void(int64_t index, Tokens& tokens)>& tokenize,
                  const std::function<void(const PackedTexts& texts)>& run) {
  PackedTexts& texts = scratch.texts;
  texts.restart(0);
  const auto flush = [&] {
    run(texts);
    texts.restart(texts.first + texts.count());
    if (options.progress) options.progress(texts.first, count);
  };
  for (int64_t i = 0; i < count; ++i) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) fail(Code::kCancelled, "encode: stopped");
    tokenize(i, scratch.tokens);
    const auto length = static_cast<int64_t>(scratch.tokens.ids.size());
    // The number of texts is bounded too: a tokenizer without special tokens makes none of an empty text.
    const bool full = length > options.max_batch_tokens - texts.tokens() || texts.count() == options.max_batch_tokens;
    if (full && texts.count() > 0) flush();
    texts.add(scratch.tokens);
  }
  if (texts.count() > 0) flush();
}

}  // namespace v0
}  // namespace saccade
