// Any bytes as config.json beside the weights of a tiny model, which the first byte chooses: a graph, or a Status that says why
// not.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "saccade/encoder.h"

namespace {

// One directory a family, in memory if the system has such a place; config.json is written by each run.
std::vector<std::string> make_directories() {
  const std::string base = std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path().string();
  std::string pattern = base + "/saccade_fuzz_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  static std::string remove_at_exit = pattern;
  std::atexit([] { std::filesystem::remove_all(remove_at_exit); });
  std::vector<std::string> directories;
  for (const char* name :
       {"bert", "distilbert", "roberta", "mpnet", "modernbert", "nomic_bert", "gte", "nomic_bert_native", "gte_native"}) {
    directories.push_back(pattern + "/" + name);
    std::filesystem::create_directory(directories.back());
    std::filesystem::create_symlink(std::string(SACCADE_TEST_DATA) + "/models/" + name + "/model.safetensors",
                                    directories.back() + "/model.safetensors");
  }
  return directories;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace saccade;
  static const std::vector<std::string> directories = make_directories();
  if (size == 0) return 0;
  const std::string& directory = directories[data[0] % directories.size()];
  std::ofstream(directory + "/config.json", std::ios::binary)
      .write(reinterpret_cast<const char*>(data + 1), static_cast<std::streamsize>(size - 1));
  const Result<ModelGraph> model = load_graph(directory);
  if (model.ok()) {
    if (!model->hidden.valid() || model->max_tokens < 1 || model->logits.valid() != (model->head != Head::kNone)) std::abort();
  } else if (model.status().message().empty() || model.status().code() == Code::kInternal) {
    std::abort();
  }
  return 0;
}
