#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "calibrate/probe/pci.hpp"
#include "calibrate/probe/verbs_trials.hpp"
#include "fake_gpu.hpp"
#include "fake_numa.hpp"
#include "fake_verbs.hpp"
#include "support/probe_ranks.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

/// A sysfs tree of PCI devices. A switch below the first root has an HCA and a GPU; further devices are elsewhere.
class Tree {
 public:
  Tree() {
    device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", 0, "fake0");
    device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", 0);
    device("pci0000:00/0000:00:02.0/0000:05:00.0", 0);
    device("pci0000:80/0000:80:01.0/0000:81:00.0", 1);
    device("pci0000:a0/0000:a0:01.0/0000:a1:00.0", 1, "far");
    fs::create_directories(scratch_.path / "sys/class/infiniband/soft");
  }
  std::string root() const { return scratch_.path.string(); }

 private:
  void device(const std::string& path, int numa, const std::string& hca = {}) const {
    const fs::path full = scratch_.path / "sys/devices" / path, links = scratch_.path / "sys/bus/pci/devices";
    fs::create_directories(full), fs::create_directories(links);
    fs::create_directory_symlink(full, links / full.filename());
    std::ofstream(full / "numa_node") << numa << "\n";
    if (hca.empty()) return;
    fs::create_directories(scratch_.path / "sys/class/infiniband" / hca);
    fs::create_directory_symlink(full, scratch_.path / "sys/class/infiniband" / hca / "device");
  }
  Scratch scratch_;
};

TEST_CASE("the GPU nearest to an HCA shares the most bridges, or its NUMA node", "[probe]") {
  const Tree tree;
  const std::string same_switch = "0000:04:00.0", same_root = "0000:05:00.0", other = "0000:81:00.0";
  CHECK(nearest_pci(tree.root(), "fake0", {other, same_root, same_switch}) == 2);
  CHECK(nearest_pci(tree.root(), "fake0", {other, same_root}) == 1);
  CHECK(nearest_pci(tree.root(), "far", {same_root, same_switch, other}) == 2);
  CHECK(nearest_pci(tree.root(), "far", {same_root, same_switch}) == 0);
  CHECK(nearest_pci(tree.root(), "far", {"0000:ff:00.0"}) == -1);
  CHECK(nearest_pci(tree.root(), "soft", {other}) == -1);
}

/// Two ranks with two GPUs, whose memory can be registered.
struct Setting {
  Tree tree;
  FakeGpu gpu{2};
  FakeVerbs fake{{1e-6}, {1e9}};
  GpuCalls cuda = gpu.calls();
  VerbsCalls verbs = fake.calls();
  std::vector<std::string> memories;

  Setting() {
    cuda.identify = [](int n, GpuIdentity* out) {
      return *out = {"Fake", n == 0 ? "0000:05:00.0" : "0000:04:00.0", "GPU-" + std::to_string(n), {1 << 30}, 90}, 0;
    };
    cuda.export_dma_buf = [](int* file, void*, std::size_t) { return *file = dup(0), 0; };
  }
  std::vector<RankEnd> probe() const {
    return run_ranks(
        2,
        [&](int) {
          return std::vector<ProbeBackendEntry>{
              {"verbs", [&] { return make_verbs_backend(verbs, cuda, tree.root(), one_node()); }}};
        },
        [&](int, SessionOptions& o) {
          o.settings.sizes = {{8}}, o.settings.connections = {1}, o.settings.memories = memories;
          o.budget = {3}, o.timeout = {1}, o.repeats = {0.3, 3, 3};
        });
  }
  /// Checks that all GPU memory was registered as `how` states or failed with `error`, and that host memory never
  /// failed.
  void check(const std::string& how, const std::string& error) const {
    const auto ends = probe();
    std::map<std::string, int> count;
    for (const auto& [m, set] : ends[0].results) {
      INFO(m.key() << " " << set.error);
      ++count[m.memory + " " + m.what];
      // A receiver that polls the last byte of a message needs the bytes in order.
      CHECK(set.how == (m.memory == "gpu"           ? how
                        : m.what == "write_latency" ? "host -> host"
                                                    : "host, relaxed ordering -> host, relaxed ordering"));
      if (m.memory == "host" || error.empty())
        CHECK(set.error == "");
      else
        CHECK_THAT(set.error, Contains(error));
    }
    CHECK(count == std::map<std::string, int>{{"host write_latency", 1},
                                              {"host send_latency", 1},
                                              {"host write_bandwidth", 2},
                                              {"host read_bandwidth", 2},
                                              {"gpu send_latency", 1},
                                              {"gpu write_bandwidth", 2},
                                              {"gpu read_bandwidth", 2}});
    CHECK(fake.open_objects() == 0);
    CHECK(gpu.open_objects() == 0);
  }
};

int open_files() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) count += entry.exists() ? 1 : 0;
  return count;
}

TEST_CASE("GPU memory is registered by DMA-BUF, and its file descriptor is closed", "[probe]") {
  const Setting setting;
  const int before = open_files();
  setting.check("gpu1 by DMA-BUF, relaxed ordering -> gpu1 by DMA-BUF, relaxed ordering", "");
  CHECK(open_files() == before);
}

TEST_CASE("if DMA-BUF fails, nvidia-peermem is used", "[probe]") {
  Setting setting;
  SECTION("nothing to export") {
    setting.cuda.export_dma_buf = [](int*, void*, std::size_t) { return GpuCalls::not_supported; };
  }
  SECTION("not taken") {
    setting.verbs.reg_dmabuf_mr = [](ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
      return errno = EOPNOTSUPP, static_cast<ibv_mr*>(nullptr);
    };
  }
  setting.check("gpu1 by nvidia-peermem, relaxed ordering -> gpu1 by nvidia-peermem, relaxed ordering", "");
}

TEST_CASE("GPU memory that cannot be registered is an error with the reasons", "[probe]") {
  Setting setting;
  const auto host_only = [reg = setting.verbs.reg_mr_iova2, gpu = setting.gpu.world](
                             ibv_pd* pd, void* at, std::size_t n, std::uint64_t address, unsigned access) {
    const std::lock_guard lock(gpu->mutex);
    return gpu->gpu_of(at) < 0 ? reg(pd, at, n, address, access) : (errno = EFAULT, nullptr);
  };
  std::string reason;
  SECTION("neither way") {
    setting.verbs.reg_mr_iova2 = host_only;
    setting.cuda.export_dma_buf = [](int*, void*, std::size_t) { return GpuCalls::not_supported; };
    reason =
        "cannot register memory of gpu1. By DMA-BUF: cuMemGetHandleForAddressRange: error 801. By "
        "nvidia-peermem: ibv_reg_mr_iova2: bad address (is the module nvidia_peermem loaded?)";
  }
  SECTION("no memory") {
    setting.cuda.allocate = [](void**, std::size_t) { return 2; };
    reason = "cudaMalloc: error 2";
  }
  SECTION("no device") {
    setting.cuda.set_device = [](int) { return 101; };
    reason = "cudaSetDevice: error 101";
  }
  SECTION("no memset") {
    setting.cuda.fill = [](void*, int, std::size_t) { return 700; };
    reason = "cudaMemset: error 700";
  }
  setting.check("", reason);
}

TEST_CASE("only the requested memory is measured", "[probe]") {
  Setting setting;
  for (const std::string memory : {"host", "gpu"}) {
    setting.memories = {memory};
    const auto ends = setting.probe();
    CHECK_FALSE(ends[0].results.empty());
    for (const auto& [m, set] : ends[0].results) CHECK(m.memory == memory);
  }
  setting.cuda.missing = [] { return "no CUDA"; };
  CHECK_THAT(setting.probe()[0].error, Contains("no two ports with a GPU near them"));
}

}  // namespace
}  // namespace fabricast
