// Which of some sentences is closest in meaning to the first?   embed DIR SENTENCE SENTENCE...
// DIR is a model directory as published (tools/get_model brings one). Build it with saccade::model.
#include <cstdio>
#include <string_view>
#include <vector>

#include "saccade/encoder.h"

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: embed DIR SENTENCE SENTENCE...\n"), 2;
  const auto encoder = saccade::Encoder::load(argv[1]);  // immutable: any number of threads may call it
  if (!encoder) return std::fprintf(stderr, "%s\n", encoder.status().to_string().c_str()), 1;

  const std::vector<std::string_view> texts(argv + 2, argv + argc);
  const auto vectors = encoder->encode(texts, {.normalize = true, .truncate = true});  // pooling and prompt as published
  if (!vectors) return std::fprintf(stderr, "%s\n", vectors.status().to_string().c_str()), 1;

  const auto width = static_cast<size_t>(encoder->info().output_width);
  for (size_t i = 1; i < texts.size(); ++i) {
    double cosine = 0;
    for (size_t c = 0; c < width; ++c) cosine += static_cast<double>((*vectors)[c]) * (*vectors)[i * width + c];
    std::printf("%6.3f  %s\n", cosine, argv[2 + i]);
  }
}
