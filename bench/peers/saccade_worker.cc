// Saccade's side of bench/peers: a published model directory in, hidden states out, through the public API. Reads one command a
// line and answers each with one line, "ok ..." or "error TEXT"; bench/peers/worker.py speaks the same for the other runtimes.
//
//   load DIR THREADS    -> ok ISA
//   case NAME FILE      -> ok            FILE: the lengths of the sequences on one line, their token ids on the next
//   run NAME COUNT      -> ok S S ...    seconds of each call: ids of the live tokens in, hidden states of the last layer out
//   output NAME FILE    -> ok            FILE: the hidden states of the last call, f32 [live tokens, width]
//   rss                 -> ok BYTES      largest resident size of the process so far
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "saccade/batch.h"
#include "saccade/context.h"
#include "saccade/encoder.h"

namespace {

void check(const saccade::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}
template <class T>
T take(saccade::Result<T> result) {
  check(result.status());
  return std::move(*result);
}

struct Case {
  std::vector<int64_t> lengths;
  std::vector<int32_t> ids, type_ids;  // [tokens]; the types are zeros
  std::vector<float> hidden;           // [tokens, width]
};

class Worker {
 public:
  std::string load(const std::string& directory, int threads) {
    const saccade::ModelGraph model = take(saccade::load_graph(directory));
    width_ = model.width;
    type_ids_ = model.type_ids;
    const saccade::Plan plan = take(saccade::Plan::compile(model.graph, {.outputs = {"hidden"}, .release_weights = true}));
    context_.emplace(take(saccade::Context::create(plan, {.threads = threads})));
    return plan.isa();
  }

  void add(const std::string& name, const std::string& path) {
    std::ifstream file(path);
    std::string line;
    Case c;
    std::getline(file, line);
    c.lengths = numbers<int64_t>(line);
    std::getline(file, line);
    c.ids = numbers<int32_t>(line);
    const int64_t tokens = std::accumulate(c.lengths.begin(), c.lengths.end(), int64_t{0});
    if (!file || tokens == 0 || tokens != std::ssize(c.ids)) throw std::runtime_error(path + ": lengths and ids do not agree");
    c.type_ids.resize(c.ids.size());
    c.hidden.resize(c.ids.size() * static_cast<size_t>(width_));
    cases_[name] = std::move(c);
  }

  double run(const std::string& name) {
    Case& c = cases_.at(name);
    const int64_t tokens = std::ssize(c.ids);
    const auto begin = std::chrono::steady_clock::now();
    batch_.assign_lengths(c.lengths);
    const saccade::Input inputs[] = {{"ids", saccade::packed(saccade::ConstMatrix(c.ids.data(), tokens))},
                                     {"type_ids", saccade::packed(saccade::ConstMatrix(c.type_ids.data(), tokens))}};
    const saccade::Output outputs[] = {{"hidden", saccade::packed(saccade::Matrix(c.hidden.data(), tokens, width_))}};
    check(context_.value().run(batch_, std::span(inputs, type_ids_ ? 2 : 1), outputs));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void write(const std::string& name, const std::string& path) const {
    const std::vector<float>& hidden = cases_.at(name).hidden;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(hidden.data()), static_cast<std::streamsize>(hidden.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
  }

 private:
  template <class T>
  static std::vector<T> numbers(const std::string& line) {
    std::istringstream stream(line);
    std::vector<T> values;
    for (T value; stream >> value;) values.push_back(value);
    return values;
  }

  std::optional<saccade::Context> context_;
  saccade::Batch batch_;
  std::map<std::string, Case> cases_;
  int64_t width_ = 0;
  bool type_ids_ = false;
};

int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    int64_t kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  throw std::runtime_error("/proc/self/status has no VmHWM");
}

std::string answer(Worker& worker, const std::string& line) {
  std::istringstream words(line);
  std::string command, name, path;
  int64_t count = 0;
  words >> command;
  if (command == "rss") return " " + std::to_string(peak_resident_bytes());
  if (command == "load" && words >> path >> count) return " " + worker.load(path, static_cast<int>(count));
  if (command == "case" && words >> name >> path) return worker.add(name, path), "";
  if (command == "output" && words >> name >> path) return worker.write(name, path), "";
  if (command == "run" && words >> name >> count) {
    std::ostringstream seconds;
    seconds.precision(9);
    for (int64_t i = 0; i < count; ++i) seconds << ' ' << worker.run(name);
    return seconds.str();
  }
  throw std::runtime_error("no such command: " + line);
}

}  // namespace

int main() {
  Worker worker;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const std::string text = answer(worker, line);
      std::cout << "ok" << text << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}
