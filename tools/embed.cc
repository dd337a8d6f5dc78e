// saccade embed: one vector for each text of a file or of standard input.
#include <fmt/core.h>

#include <algorithm>

#include "tools/console.h"
#include "tools/model.h"
#include "tools/progress_bar.h"
#include "tools/vector_writer.h"

namespace saccade::tool {
namespace {

VectorFormat format_of(const EmbedOptions& options) {
  struct Name {
    const char* name;
    VectorFormat format;
  };
  constexpr Name kNames[] = {{"npy", VectorFormat::kNpy}, {"jsonl", VectorFormat::kJsonl}, {"csv", VectorFormat::kCsv}};
  for (const auto& [name, format] : kNames) {
    if (options.format == name || (options.format.empty() && options.output.ends_with(std::string(".") + name))) return format;
  }
  return VectorFormat::kJsonl;
}

// Reads texts piece by piece, encodes them and writes their vectors.
class Embedding {
 public:
  Embedding(const EmbedOptions& options, const Encoder& encoder, TextReader& reader, VectorWriter& writer)
      : encoder_(encoder), reader_(reader), writer_(writer), options_(encode_options(options)) {
    options_.progress = [this](int64_t done, int64_t) { at(done); };
  }

  void run() {
    while (read_piece()) {
      throw_if_interrupted();
      const auto count = static_cast<int64_t>(texts_.size()), width = encoder_.info().output_width;
      vectors_.resize(static_cast<size_t>(count * width));
      in_piece_ = 0;
      const std::vector<std::string_view> views(texts_.begin(), texts_.end());
      const Status status = encoder_.encode(views, Matrix(vectors_.data(), count, width), options_);
      writer_.add(std::span(vectors_).first(static_cast<size_t>(in_piece_ * width)));  // those before an error too
      done_ += in_piece_;
      if (status.code() == Code::kOutOfRange) {
        EncodeOptions options = options_;
        options.progress = nullptr;
        const size_t from = static_cast<size_t>(in_piece_);
        fail_at_line(reader_, first_line_ + in_piece_, views.size() - from, [&](size_t i) {
          return encoder_.encode({&views[from + i], 1}, options).status();
        });
      }
      check(status);
    }
    if (done_ == 0) throw Failure(kFailure, reader_.name() + ": holds no text");
  }

 private:
  // Some runs' worth of texts: enough that the last run of a piece, which is not full, does not matter.
  bool read_piece() {
    constexpr int64_t kRuns = 4, kBytesPerToken = 4;  // of English text
    first_line_ = reader_.lines(), first_byte_ = reader_.bytes();
    texts_.clear();
    const int64_t most_bytes = kRuns * kBytesPerToken * options_.max_batch_tokens;
    const int64_t most_texts = kRuns * options_.max_batch_tokens;
    std::string text;
    while (std::ssize(texts_) < most_texts && reader_.bytes() - first_byte_ < most_bytes && reader_.next(text)) {
      texts_.push_back(text);
    }
    return !texts_.empty();
  }

  void at(int64_t done) {
    in_piece_ = done;
    const double part = static_cast<double>(done) / static_cast<double>(texts_.size());
    const double bytes = static_cast<double>(first_byte_) + part * static_cast<double>(reader_.bytes() - first_byte_);
    bar_.at(done_ + done, reader_.size() > 0 ? bytes / static_cast<double>(reader_.size()) : -1);
  }

  const Encoder& encoder_;
  TextReader& reader_;
  VectorWriter& writer_;
  EncodeOptions options_;
  ProgressBar bar_{"embedding", "texts"};
  std::vector<std::string> texts_;  // of this piece
  std::vector<float> vectors_;
  int64_t first_line_ = 0, first_byte_ = 0;
  int64_t done_ = 0, in_piece_ = 0;  // texts that were written; texts of this piece that were encoded
};

}  // namespace

int run_embed(const EmbedOptions& options) {
  const Setup setup = make_setup(options);
  TextReader reader(options);
  for (const std::string& file : {options.output, part_of(options.output)}) {
    if (!options.output.empty() && reader.reads(file)) {
      throw Failure(kUsage, printable(file) + ": the output would take the place of the texts");
    }
  }
  const Encoder encoder = load_encoder(options, setup);
  VectorWriter writer(options.output, format_of(options), encoder.info().output_width);
  const auto say_left_behind = [&] {
    if (const std::string left = writer.left_behind(); !left.empty()) fmt::print(stderr, "saccade: {}\n", left);
  };
  try {
    Embedding(options, encoder, reader, writer).run();
  } catch (const Interrupted&) {
    const Exit exit = interrupted();
    say_left_behind();
    return exit;
  } catch (const Failure&) {
    say_left_behind();
    throw;
  }
  writer.finish();
  return kDone;
}

}  // namespace saccade::tool
