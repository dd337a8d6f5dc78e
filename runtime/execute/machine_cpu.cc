// CPU model, allowed CPUs, physical cores and huge pages, as Linux tells them.
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <thread>

#include "runtime/execute/machine_facts.h"

namespace saccade::execute {
namespace {

std::string_view trim(std::string_view text) {
  const char* const kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Value of the first line "key : value" of /proc/cpuinfo.
std::string_view field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) return trim(line.substr(colon + 1));
  }
  return {};
}

// ARM's CPUs report numbers only. Those of servers and small boards; the numbers are in each core's technical reference manual
// (MIDR_EL1).
struct ArmPart {
  const char* implementer;
  const char* part;
  const char* name;
};
constexpr ArmPart kArmParts[] = {
    {"0x41", "0xd03", "Arm Cortex-A53"},  {"0x41", "0xd05", "Arm Cortex-A55"},   {"0x41", "0xd07", "Arm Cortex-A57"},
    {"0x41", "0xd08", "Arm Cortex-A72"},  {"0x41", "0xd0b", "Arm Cortex-A76"},   {"0x41", "0xd0c", "Arm Neoverse N1"},
    {"0x41", "0xd40", "Arm Neoverse V1"}, {"0x41", "0xd49", "Arm Neoverse N2"},  {"0x41", "0xd4f", "Arm Neoverse V2"},
    {"0x41", "0xd84", "Arm Neoverse V3"}, {"0x41", "0xd8e", "Arm Neoverse N3"},  {"0xc0", "0xac3", "Ampere-1"},
    {"0xc0", "0xac4", "Ampere-1A"},       {"0x48", "0xd01", "HiSilicon TSV110"}, {"0x46", "0x001", "Fujitsu A64FX"},
};

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return std::nullopt;
  std::string text;
  char buffer[4096];
  // 4 MiB: /proc/cpuinfo of 1,000 CPUs is a quarter of that.
  while (text.size() < (size_t{4} << 20)) {
    const size_t got = std::fread(buffer, 1, sizeof(buffer), file);
    text.append(buffer, got);
    if (got < sizeof(buffer)) break;
  }
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return std::nullopt;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string cpu_model(const std::string& root) {
  const std::string text = read_file(root + "/proc/cpuinfo").value_or("");
  const std::string_view model = field(text, "model name");
  if (!model.empty()) return std::string(model);
  const std::string_view implementer = field(text, "CPU implementer"), part = field(text, "CPU part");
  if (implementer.empty()) return "unknown";
  for (const ArmPart& row : kArmParts) {
    if (implementer == row.implementer && part == row.part) return row.name;
  }
  return "implementer " + std::string(implementer) + " part " + std::string(part);
}

std::vector<int> allowed_cpus() {
  // The kernel refuses a set smaller than its own: grow until it fits.
  for (int size = 1024; size <= (1 << 20); size *= 4) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set);
    std::vector<int> cpus;
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    if (ok) {
      for (int cpu = 0; cpu < size; ++cpu) {
        if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) cpus.push_back(cpu);
      }
    }
    CPU_FREE(set);
    if (ok && !cpus.empty()) return cpus;
  }
  std::vector<int> cpus(std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 0; i < cpus.size(); ++i) cpus[i] = static_cast<int>(i);
  return cpus;
}

int count_cores(const std::string& root, const std::vector<int>& cpus) {
  std::vector<std::string> cores;
  for (int cpu : cpus) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    // The list of a core's CPUs names the core. (core_id alone repeats in every package, and on some machines in every cluster.)
    std::optional<std::string> core = read_file(folder + "core_cpus_list");
    if (!core) core = read_file(folder + "thread_siblings_list");  // its name before Linux 5.3
    // A CPU that tells nothing counts as a core: the machine is then virtual, or has no hyper-threads.
    cores.push_back(core && !core->empty() ? *core : "cpu" + std::to_string(cpu));
  }
  std::sort(cores.begin(), cores.end());
  const auto count = std::unique(cores.begin(), cores.end()) - cores.begin();
  return std::max(1, static_cast<int>(count));
}

std::string huge_page_mode(const std::string& root) {
  const std::string text = read_file(root + "/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const size_t open = text.find('['), close = text.find(']');  // "always [madvise] never"
  if (open == std::string::npos || close == std::string::npos || close < open) return "unavailable";
  return text.substr(open + 1, close - open - 1);
}

}  // namespace saccade::execute
