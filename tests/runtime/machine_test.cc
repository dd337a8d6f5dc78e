// Machine facts, from trees of files as other machines have them, and from this one.
#include "saccade/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "runtime/execute/machine_facts.h"

namespace saccade::execute {
namespace {

// A folder that stands for "/".
class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "saccade_machine_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) root_ = name;
  }
  ~Tree() {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  const std::string& root() const { return root_; }
  Tree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    return *this;
  }

 private:
  std::string root_;
};

// A variable set, or removed, until the end of the test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

const std::string kCgroup2Mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroup, V2TakesTheSmallestLimitOnTheWayUp) {
  Tree tree;
  tree.file("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + kCgroup2Mount)
      .file("/proc/self/cgroup", "0::/user.slice/job.scope/leaf\n")
      .file("/sys/fs/cgroup/user.slice/job.scope/leaf/cpu.max", "max 100000\n")
      .file("/sys/fs/cgroup/user.slice/job.scope/cpu.max", "350000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 3.5);
  tree.file("/sys/fs/cgroup/user.slice/cpu.max", "50000 20000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 2.5);
  tree.file("/sys/fs/cgroup/user.slice/job.scope/leaf/cpu.max", "10000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 0.1);
}

TEST(Cgroup, V2InAContainerSeesItsOwnRoot) {
  Tree tree;  // a group namespace: the group is "/", the limit is at the mount's root
  tree.file("/proc/self/mountinfo", kCgroup2Mount)
      .file("/proc/self/cgroup", "0::/\n")
      .file("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 2);
  tree.file("/proc/self/cgroup", "0::/../../other\n");  // a group outside the namespace
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 2);
  // No namespace, but the mount starts at the container's group.
  tree.file("/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
      .file("/proc/self/cgroup", "0::/docker/abc/inner\n")
      .file("/sys/fs/cgroup/inner/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 1.5);
  tree.file("/proc/self/cgroup", "0::/docker/abcdef/inner\n");  // only looks as if below
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 2);
}

TEST(Cgroup, V1FindsTheCpuController) {
  Tree tree;
  tree.file("/proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
            "32 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
            "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:7 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")
      .file("/proc/self/cgroup", "5:cpuset:/elsewhere\n4:cpu,cpuacct:/batch/job\n1:name=systemd:/x\n0::/\n")
      .file("/sys/fs/cgroup/cpuset/elsewhere/cpu.cfs_quota_us", "1000\n")
      .file("/sys/fs/cgroup/cpuset/elsewhere/cpu.cfs_period_us", "1000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_quota(tree.root()), 0);
  tree.file("/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "400000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 4);
  tree.file("/sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "125000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 1.25);
}

TEST(Cgroup, MountPointsMayHoldBlanks) {
  Tree tree;
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 none rw\n")
      .file("/proc/self/cgroup", "0::/\n")
      .file("/my groups/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(tree.root()), 1);
}

TEST(Cgroup, NothingAndGarbageMeanNoLimit) {
  Tree tree;
  EXPECT_EQ(cgroup_quota(tree.root()), 0);
  for (const char* text :
       {"", "\n", "max", "max 100000", "abc def", "100000 0", "-5 100000", "99999999999999999999 100000", "1e5 100000"}) {
    tree.file("/proc/self/mountinfo", kCgroup2Mount).file("/proc/self/cgroup", "0::/\n").file("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cgroup_quota(tree.root()), 0) << text;
  }
  tree.file("/sys/fs/cgroup/cpu.max", "300000 100000");
  for (const char* text : {"", "0", "0:", ":::", "garbage\n\n0:a"}) {
    tree.file("/proc/self/cgroup", text);
    (void)cgroup_quota(tree.root());  // no crash; the mount's root may count
  }
  tree.file("/proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "a b c - \n", " - cgroup2", "1 2 3 4 5 - cgroup", "1 2 3 4 - cgroup2 x y\n"}) {
    tree.file("/proc/self/mountinfo", text);
    EXPECT_EQ(cgroup_quota(tree.root()), 0) << text;
  }
}

TEST(Topology, CountsCoresNotThreads) {
  Tree tree;
  const auto cpu = [&](int n, const std::string& file, const std::string& text) {
    tree.file("/sys/devices/system/cpu/cpu" + std::to_string(n) + "/topology/" + file, text);
  };
  for (int n = 0; n < 4; ++n) cpu(n, "core_cpus_list", n % 2 == 0 ? "0,2\n" : "1,3\n");
  EXPECT_EQ(count_cores(tree.root(), {0, 1, 2, 3}), 2);
  EXPECT_EQ(count_cores(tree.root(), {0, 2}), 1);
  EXPECT_EQ(count_cores(tree.root(), {1, 2}), 2);
  for (int n = 4; n < 8; ++n) cpu(n, "thread_siblings_list", n < 6 ? "4-5\n" : "6-7\n");  // older kernels
  EXPECT_EQ(count_cores(tree.root(), {0, 1, 2, 3, 4, 5, 6, 7}), 4);
  EXPECT_EQ(count_cores(tree.root(), {8, 9}), 2);  // nothing known
  EXPECT_EQ(count_cores(tree.root(), {}), 1);
}

TEST(Caches, FromSysfs) {
  Tree tree;
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const std::string folder = "/sys/devices/system/cpu/cpu3/cache/index" + std::to_string(index) + "/";
    tree.file(folder + "level", level).file(folder + "type", type).file(folder + "size", size);
  };
  cache(0, "1\n", "Data\n", "48K\n");
  cache(1, "1\n", "Instruction\n", "32K\n");
  cache(2, "2\n", "Unified\n", "2048K\n");
  cache(3, "3\n", "Unified\n", "260M\n");
  const Caches caches = sysfs_caches(tree.root(), 3);
  EXPECT_EQ(caches.l1d, 48 << 10);
  EXPECT_EQ(caches.l2, 2 << 20);
  EXPECT_EQ(caches.l3, int64_t{260} << 20);
  EXPECT_EQ(sysfs_caches(tree.root(), 0).l1d, 0);
  for (const char* bad : {"", "K", "-1K", "12Q", "9999999999999999G", "x"}) EXPECT_EQ(parse_size(bad), 0) << bad;
  EXPECT_EQ(parse_size("1024"), 1024);
}

#if defined(__x86_64__)
TEST(Caches, FromTheCpu) {
  const Caches sysfs = sysfs_caches("", allowed_cpus().front()), cpuid = cpuid_caches();
  if (cpuid.l1d == 0) GTEST_SKIP() << "this CPU does not describe its caches";
  EXPECT_GE(cpuid.l1d, 4 << 10);
  EXPECT_LE(cpuid.l1d, 1 << 20);
  if (sysfs.l1d != 0) {
    EXPECT_EQ(cpuid.l1d, sysfs.l1d);
    EXPECT_EQ(cpuid.l2, sysfs.l2);
  }
}
#endif

TEST(Cpu, ModelNames) {
  Tree tree;
  EXPECT_EQ(cpu_model(tree.root()), "unknown");
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 207\nmodel name\t: INTEL(R) XEON(R) PLATINUM 8592+\n");
  EXPECT_EQ(cpu_model(tree.root()), "INTEL(R) XEON(R) PLATINUM 8592+");
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n");
  EXPECT_EQ(cpu_model(tree.root()), "Arm Neoverse N1");
  tree.file("/proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x123\n");
  EXPECT_EQ(cpu_model(tree.root()), "implementer 0x99 part 0x123");
}

TEST(HugePages, Mode) {
  Tree tree;
  EXPECT_EQ(huge_page_mode(tree.root()), "unavailable");
  for (const char* mode : {"always", "madvise", "never"}) {
    std::string text = "always madvise never\n";
    const size_t at = text.find(mode);
    text.insert(at + std::string(mode).size(), "]").insert(at, "[");
    EXPECT_EQ(huge_page_mode(tree.file("/sys/kernel/mm/transparent_hugepage/enabled", text).root()), mode);
  }
  EXPECT_EQ(huge_page_mode(tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "]x[\n").root()), "unavailable");
}

TEST(Threads, OrderOfSources) {
  const auto is = [](ThreadChoice choice, int threads, const char* source) {
    EXPECT_EQ(choice.threads, threads);
    EXPECT_STREQ(choice.source, source);
  };
  is(choose_threads(7, "2", "3", 8, 1), 7, "option");
  is(choose_threads(0, "2", "3", 8, 1), 2, "SACCADE_NUM_THREADS");
  is(choose_threads(0, nullptr, "3", 8, 1), 3, "OMP_NUM_THREADS");
  is(choose_threads(0, nullptr, "4,2,1", 8, 0), 4, "OMP_NUM_THREADS");
  is(choose_threads(0, nullptr, " 4 , 2", 8, 0), 4, "OMP_NUM_THREADS");
  is(choose_threads(0, nullptr, nullptr, 8, 0), 8, "cores");
  is(choose_threads(0, nullptr, nullptr, 8, 2.5), 3, "cgroup quota");
  is(choose_threads(0, nullptr, nullptr, 8, 0.1), 1, "cgroup quota");
  is(choose_threads(0, nullptr, nullptr, 8, 7.5), 8, "cores");
  is(choose_threads(0, nullptr, nullptr, 8, 64), 8, "cores");
  is(choose_threads(0, nullptr, nullptr, 0, 0), 1, "cores");
  for (const char* garbage : {"", " ", "0", "-2", "two", "2x", "3.5", "4,2", "99999999999999999999", "1025"}) {
    is(choose_threads(0, garbage, "3", 8, 0), 3, "OMP_NUM_THREADS");
  }
  for (const char* garbage : {"", ",", "0,4", "-2", "two", "2x", "2 3"}) {
    is(choose_threads(0, nullptr, garbage, 8, 0), 8, "cores");
  }
}

}  // namespace
}  // namespace saccade::execute

namespace saccade {
namespace {

using execute::Variable;

TEST(Machine, ThisOneMakesSense) {
  Variable none("SACCADE_NUM_THREADS", nullptr), omp("OMP_NUM_THREADS", nullptr), isa("SACCADE_FORCE_ISA", nullptr);
  const Machine m = machine();
  EXPECT_FALSE(m.cpu.empty());
  EXPECT_FALSE(m.isas_built.empty());
  ASSERT_FALSE(m.isas_supported.empty());
  EXPECT_EQ(m.isa, m.isas_supported.back());
  for (const auto& name : m.isas_supported) EXPECT_EQ(std::count(m.isas_built.begin(), m.isas_built.end(), name), 1);
  EXPECT_GE(m.logical_cpus, 1);
  EXPECT_LE(m.physical_cores, m.logical_cpus);
  EXPECT_LE(m.threads, m.physical_cores);
  EXPECT_EQ(m.threads, resolve_threads(0));
  EXPECT_TRUE(m.threads_source == "cores" || m.threads_source == "cgroup quota");
}

TEST(Machine, FollowsTheVariables) {
  Variable ours("SACCADE_NUM_THREADS", "3"), omp("OMP_NUM_THREADS", "5,2");
  EXPECT_EQ(resolve_threads(0), 3);
  EXPECT_EQ(resolve_threads(9), 9);
  EXPECT_EQ(machine().threads_source, "SACCADE_NUM_THREADS");
  Variable garbage("SACCADE_NUM_THREADS", "many");
  EXPECT_EQ(resolve_threads(0), 5);
  EXPECT_EQ(machine().threads_source, "OMP_NUM_THREADS");
  for (const std::string& name : machine().isas_built) {
    Variable forced("SACCADE_FORCE_ISA", name.c_str());
    const Machine m = machine();
    const bool runs = std::count(m.isas_supported.begin(), m.isas_supported.end(), name) == 1;
    EXPECT_EQ(m.isa, runs ? name : "");
  }
}

TEST(Machine, MeasuresPeakAndBandwidth) {
  Variable isa("SACCADE_FORCE_ISA", nullptr);
  double last = 0;
  for (const std::string& name : machine().isas_supported) {
    const auto peak = measure_peak(name, 2);
    ASSERT_TRUE(peak.ok()) << peak.status().message();
    EXPECT_GT(*peak, 0.01);
    EXPECT_LT(*peak, 2000);
    last = *peak;
  }
  EXPECT_GT(last, 0);
  const auto bandwidth = measure_bandwidth(1 << 20, 2);
  ASSERT_TRUE(bandwidth.ok()) << bandwidth.status().message();
  EXPECT_GT(bandwidth->read_gbs, 0.01);
  EXPECT_GT(bandwidth->copy_gbs, 0.01);
  EXPECT_LT(bandwidth->read_gbs, 5000);
}

TEST(Machine, RefusesWhatItCannotMeasure) {
  EXPECT_EQ(measure_peak("avx3").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(measure_peak("", 0).status().code(), Code::kInvalidArgument);
  const Machine m = machine();
  for (const char* name : {"sse2", "avx2", "avx512", "neon"}) {
    if (std::count(m.isas_supported.begin(), m.isas_supported.end(), name) == 0) {
      EXPECT_EQ(measure_peak(name, 1).status().code(), Code::kUnsupported);
    }
  }
  Variable forced("SACCADE_FORCE_ISA", "avx3");
  EXPECT_EQ(measure_peak().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(measure_bandwidth(0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(measure_bandwidth(-1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(measure_bandwidth(1 << 20, 0).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace saccade
