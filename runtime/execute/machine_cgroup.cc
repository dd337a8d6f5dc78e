// CPU limits of control groups, v1 and v2.
#include <cstdint>

#include "runtime/execute/machine_facts.h"

namespace saccade::execute {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool contains(std::string_view list, std::string_view word) {
  for (std::string_view entry : split(list, ',')) {
    if (entry == word) return true;
  }
  return false;
}

// mountinfo writes blanks of a path as \040 and so on.
std::string unescape(std::string_view text) {
  std::string path;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t k) { return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7'; };
    if (text[i] == '\\' && octal(1) && octal(2) && octal(3)) {
      path.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      path.push_back(text[i]);
    }
  }
  return path;
}

// A mounted hierarchy with the cpu controller: its folder, and the group of the hierarchy that is mounted there.
struct Mount {
  std::string folder, group;
  bool v2 = false;
};

// "36 35 98:0 /group /folder options [optional]... - type source super_options"
std::vector<Mount> cpu_mounts(const std::string& text) {
  std::vector<Mount> mounts;
  for (std::string_view line : split(text, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' '), right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.empty()) continue;
    const bool v2 = right[0] == "cgroup2";
    const bool v1 = right[0] == "cgroup" && right.size() >= 3 && contains(right[2], "cpu");
    if (v1 || v2) mounts.push_back({unescape(left[4]), unescape(left[3]), v2});
  }
  return mounts;
}

// The group of this process: "0::/path" in v2, "4:cpu,cpuacct:/path" in v1.
std::optional<std::string> own_group(const std::string& text, bool v2) {
  for (std::string_view line : split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : contains(controllers, "cpu")) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// CPUs = quota / period; 0 for no limit ("max" or -1) and for what cannot be read.
double ratio(std::string_view quota, std::string_view period) {
  const auto q = parse_integer(quota), p = parse_integer(period);
  return q && p && *q > 0 && *p > 0 ? static_cast<double>(*q) / static_cast<double>(*p) : 0;
}

double limit_of(const std::string& folder, bool v2) {
  if (v2) {
    const auto text = read_file(folder + "/cpu.max");  // "150000 100000" or "max 100000"
    if (!text) return 0;
    const auto parts = split(*text, ' ');
    return ratio(parts[0], parts.size() > 1 ? parts[1] : "100000");
  }
  const auto quota = read_file(folder + "/cpu.cfs_quota_us"), period = read_file(folder + "/cpu.cfs_period_us");
  return quota && period ? ratio(*quota, *period) : 0;
}

}  // namespace

double cgroup_quota(const std::string& root) {
  const auto groups = read_file(root + "/proc/self/cgroup"), mounts = read_file(root + "/proc/self/mountinfo");
  if (!groups || !mounts) return 0;
  double quota = 0;
  for (const Mount& mount : cpu_mounts(*mounts)) {
    const auto group = own_group(*groups, mount.v2);
    if (!group) continue;
    // In a container the mount often starts at the container's own group; a group outside it ("/../other") is not visible, and
    // then the mount's root is the nearest that can be read.
    std::string path = *group;
    if (mount.group != "/") {
      const bool below = path.starts_with(mount.group) && (path.size() == mount.group.size() || path[mount.group.size()] == '/');
      path = below ? path.substr(mount.group.size()) : "";
    }
    if (path.find("/..") != std::string::npos) path.clear();
    for (;;) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      const double limit = limit_of(root + mount.folder + path, mount.v2);
      if (limit > 0 && (quota == 0 || limit < quota)) quota = limit;
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return quota;
}

}  // namespace saccade::execute
