// Checks the inner loops of matmul and attention in a disassembly (`objdump -dC --no-show-raw-insn` of one ISA's object):
//   inner_loops ISA DUMP
// matmul_tile<Arch, R, P> must do R * P * nr / vector FMAs per k, score_tile<Arch, R> and value_tile<Arch, R> R * 2 (a loop that
// the compiler unrolled holds a multiple), without a separate multiply or add but on SSE2, and without touching the stack;
// fma_chains<Arch>, the measure of the others, one FMA per chain and no memory at all. An inner loop is the range of a backward
// jump that holds no other backward jump and no return (that is a rare case, placed behind the function's end, on its way back);
// those without multiplications are of no interest.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Isa {
  const char* name;
  int rows, panel_vectors;  // matmul's tile
  int attention_rows;       // attention's, always two vectors wide
  int chains;               // of fma_chains
  bool fma;
};
constexpr Isa kIsas[] = {
    {"sse2", 4, 2, 4, 12, false},
    {"avx2", 6, 2, 6, 12, true},
    {"avx512", 14, 2, 14, 24, true},
    {"neon", 8, 3, 8, 24, true},
};

struct Instruction {
  uint64_t address;
  std::string mnemonic, operands;
};
struct Function {
  std::string name;
  std::vector<Instruction> code;
};

// GNU and LLVM objdump differ in spaces, "0x" and comments. (Parsed by hand: regexes take seconds under an emulator.)
std::vector<Function> read_dump(const char* path) {
  std::vector<Function> functions;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    if (text.size() > 2 && text.compare(text.size() - 2, 2, ">:") == 0) {
      const size_t name = text.find('<') + 1;
      functions.push_back({text.substr(name, text.size() - 2 - name), {}});
      continue;
    }
    char* end = nullptr;
    const uint64_t address = std::strtoull(text.c_str(), &end, 16);
    if (functions.empty() || end == text.c_str() || *end != ':') continue;
    std::istringstream words(end + 1);
    Instruction instruction{address, {}, {}};
    words >> instruction.mnemonic >> std::ws;
    std::getline(words, instruction.operands, '#');
    functions.back().code.push_back(instruction);
  }
  return functions;
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}
bool starts(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }
bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool is_fma(const Instruction& i) {
  const bool x86 = (starts(i.mnemonic, "vfmadd") || starts(i.mnemonic, "vfnmadd")) && holds(i.mnemonic, "ps");
  return x86 || is_one_of(i.mnemonic, {"fmla", "fmls"});
}
bool is_multiply(const Instruction& i) {
  return is_one_of(i.mnemonic, {"mulps", "vmulps"}) || (i.mnemonic == "fmul" && i.operands[0] == 'v');
}
bool is_add(const Instruction& i) {
  return is_one_of(i.mnemonic, {"addps", "vaddps"}) || (i.mnemonic == "fadd" && i.operands[0] == 'v');
}

// Whether it is a jump to an address, and which.
bool is_jump(const Instruction& i, uint64_t& to) {
  if (i.mnemonic[0] != 'j' && i.mnemonic != "b" && !starts(i.mnemonic, "b.") &&
      !is_one_of(i.mnemonic, {"cbz", "cbnz", "tbz", "tbnz"})) {
    return false;
  }
  const size_t name = i.operands.find(" <");
  if (name == std::string::npos) return false;
  const size_t comma = i.operands.rfind(',', name);
  to = std::strtoull(i.operands.c_str() + (comma == std::string::npos ? 0 : comma + 1), nullptr, 16);
  return true;
}

// Whether it reads or writes the stack; rbp and x29 may be registers like others.
bool is_frame_pointer_set(const Instruction& i) {
  return (starts(i.mnemonic, "mov") && starts(i.operands, "%rsp") && holds(i.operands, "%rbp")) || i.operands == "x29, sp";
}
bool uses_stack(const Instruction& i, bool frame_pointer) {
  if (starts(i.mnemonic, "push") || starts(i.mnemonic, "pop") || starts(i.mnemonic, "call") || i.mnemonic == "bl") return true;
  if (holds(i.operands, "%rsp") || holds(i.operands, "[sp")) return true;
  return frame_pointer && (holds(i.operands, "(%rbp") || holds(i.operands, "[x29"));
}

bool uses_memory(const Instruction& i) {
  return !starts(i.mnemonic, "lea") && !starts(i.mnemonic, "nop") && (holds(i.operands, "(%") || holds(i.operands, "["));
}

bool is_return(const Instruction& i) { return i.mnemonic == "ret" || i.mnemonic == "retq"; }

struct Range {
  size_t first, last;  // instructions
};

std::vector<Range> inner_loops(const std::vector<Instruction>& code) {
  std::vector<Range> loops;
  for (size_t last = 0; last < code.size(); ++last) {
    uint64_t target;
    if (!is_jump(code[last], target) || target > code[last].address || target < code.front().address) continue;
    size_t first = last;
    bool returns = false;
    while (first > 0 && code[first].address > target) returns |= is_return(code[--first]);
    if (!returns) loops.push_back({first, last});
  }
  std::vector<Range> inner;
  for (const Range& loop : loops) {
    bool holds_another = false;
    for (const Range& other : loops) {
      const bool same = other.first == loop.first && other.last == loop.last;
      holds_another |= !same && other.first >= loop.first && other.last <= loop.last;
    }
    if (!holds_another) inner.push_back(loop);
  }
  return inner;
}

int errors = 0;
void error(const Function& function, const Range& loop, const std::string& what) {
  std::printf("error: %s, loop at %llx: %s\n", function.name.c_str(),
              static_cast<unsigned long long>(function.code[loop.first].address), what.c_str());
  ++errors;
}

// Checks the loops of one function against the FMAs of one step; returns how many loops hold multiplications.
int check(const Function& function, const Isa& isa, int per_step, bool registers_only) {
  const bool frame_pointer = std::any_of(function.code.begin(), function.code.end(), is_frame_pointer_set);
  int found = 0;
  for (const Range& loop : inner_loops(function.code)) {
    int fmas = 0, multiplies = 0, adds = 0;
    bool stack = false, memory = false;
    for (size_t n = loop.first; n <= loop.last; ++n) {
      const Instruction& i = function.code[n];
      fmas += is_fma(i);
      multiplies += is_multiply(i);
      adds += is_add(i);
      stack |= uses_stack(i, frame_pointer);
      memory |= uses_memory(i);
    }
    if (fmas + multiplies == 0) continue;
    ++found;
    const int steps = isa.fma ? fmas : multiplies;
    if (steps == 0 || steps % per_step != 0) {
      std::string what = std::to_string(steps);
      what += isa.fma ? " FMAs, expected a multiple of " : " multiplies, expected a multiple of ";
      error(function, loop, what + std::to_string(per_step));
    }
    if (isa.fma && multiplies + adds > 0) error(function, loop, "a separate multiply or add");
    if (!isa.fma && (multiplies != adds || fmas > 0)) error(function, loop, "expected as many adds as multiplies, and no FMA");
    if (stack) error(function, loop, "stack access");
    if (registers_only && memory) error(function, loop, "memory access");
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const Isa* isa = nullptr;
  for (const Isa& candidate : kIsas) {
    if (argc == 3 && std::string(argv[1]) == candidate.name) isa = &candidate;
  }
  if (isa == nullptr) {
    std::printf("usage: inner_loops sse2|avx2|avx512|neon DUMP\n");
    return 2;
  }
  // What must be there: the full tile of each.
  const std::string rows = std::to_string(isa->rows), attention_rows = std::to_string(isa->attention_rows);
  std::map<std::string, int> required{{"matmul_tile " + rows + " 1", 0},
                                      {"score_tile " + attention_rows, 0},
                                      {"value_tile " + attention_rows, 0},
                                      {"fma_chains", 0}};
  int functions = 0, loops = 0;
  static const std::regex tile("\\b(matmul_tile|score_tile|value_tile)<.*?, (\\d+)(?:u|ul)?(?:, (\\d+)(?:u|ul)?)?>\\(");
  static const std::regex chains("\\bfma_chains<.*>\\(");
  for (Function& function : read_dump(argv[2])) {
    std::smatch match;
    const std::string name = function.name;
    if (std::regex_search(name, chains)) {
      function.name = "fma_chains";
      const int found = check(function, *isa, isa->chains, true);
      required["fma_chains"] += found;
      ++functions;
      loops += found;
      continue;
    }
    if (!std::regex_search(name, match, tile)) continue;
    const int height = std::stoi(match[2]), panels = match[3].matched ? std::stoi(match[3]) : 1;
    const int vectors = match[1] == "matmul_tile" ? panels * isa->panel_vectors : 2;
    std::string key = match[1];
    key.append(" ").append(match[2]);
    if (match[3].matched) key.append(" ").append(match[3]);
    function.name = key;
    const int found = check(function, *isa, height * vectors, false);
    if (auto it = required.find(key); it != required.end()) it->second += found;
    ++functions;
    loops += found;
  }
  for (const auto& [name, found] : required) {
    if (found > 0) continue;
    std::printf("error: no inner loop of %s in %s\n", name.c_str(), argv[2]);
    ++errors;
  }
  std::printf("%s: %d inner loops in %d functions, %d errors\n", isa->name, loops, functions, errors);
  return errors == 0 ? 0 : 1;
}
