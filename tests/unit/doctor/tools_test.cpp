// Output of other tools, as their documentation shows it, and the findings of doctor.
#include <catch2/catch.hpp>

#include "fabricast/calibrate/doctor.hpp"
#include "fabricast/core/error.hpp"
#include "support/host_tree.hpp"

namespace fabricast {
namespace {

using Words = std::vector<std::string>;

/// Findings of one check on a host of four GPUs with these texts.
Words of_check(const std::string& check, const std::vector<std::string>& texts) {
  const HostTree tree;
  for (int i = 0; i < 4; ++i) tree.pci(gpu_folder(i), "10de", "2330", "030200", 0, 32, 16);
  DoctorExtras extras;
  for (const std::string& text : texts) extras.texts.push_back({"out.txt", text});
  Words list;
  for (const Finding& f : doctor(tree.root(), extras).findings)
    if (f.check == check) {
      list.push_back(std::string(name_of(f.status)) + " " + f.subject + ": " + f.found);
      CHECK((f.status == FindingStatus::ok) == f.fix.empty());
      CHECK((f.status == FindingStatus::ok) == f.why.empty());
      CHECK_FALSE(f.source.empty());
    }
  return list;
}

const std::vector<std::string> of_tools = {"nvlink", "fabric_manager", "imex", "xid", "gpu_power", "gpu_clocks"};

TEST_CASE("without tool output, its checks report nothing", "[doctor]") {
  for (const std::string& check : of_tools) CHECK(of_check(check, {}).empty());
}

TEST_CASE("Xids are found in dmesg and in journals, and explained", "[doctor]") {
  const std::string log =
      "[    0.000000] Linux version 6.8.0\n"
      "[  881.220000] NVRM: Xid (PCI:0000:67:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
      "Nov  3 12:00:01 dgx-7 kernel: NVRM: Xid (PCI:0000:13:00): 31, pid=812, name=python3, Ch 00000008\n"
      "[Tue Nov  3 12:00:02 2026] NVRM: Xid (PCI:0000:13:00): 31, pid=812, name=python3, Ch 00000009\n"
      "[  900.000000] NVRM: Xid (PCI:0000:13:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 07\n"
      "[  901.000000] NVRM: Xid (PCI:0000:13:00): 999, something new\n"
      "[  902.000000] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n";
  CHECK(of_check("xid", {log}) == Words{"warning gpu0 (0000:13:00): Xid 31 (2 times): GPU memory page fault",
                                        "error gpu0 (0000:13:00): Xid 145: NVLink error",
                                        "warning gpu0 (0000:13:00): Xid 999: something new",
                                        "error gpu3 (0000:67:00): Xid 79: the GPU has fallen off the bus",
                                        "error NVSwitch 0000:c1:00.0: SXid 20034: Fatal, Link 30 LTSSM Fault Up"});
  CHECK(of_check("xid", {"[    0.000000] Linux version 6.8.0\n"}) == Words{"ok host: none in the given log"});
}

TEST_CASE("the important Xids of NVIDIA's catalog are known", "[doctor]") {
  for (const int code :
       {13, 31, 43, 45, 48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 137, 140, 144, 145, 146, 147, 148, 149, 150}) {
    const Words list =
        of_check("xid", {"NVRM: Xid (PCI:0000:13:00): " + std::to_string(code) + ", words of the driver\n"});
    REQUIRE(list.size() == 1);
    INFO(list[0]);
    CHECK(list[0].find("words of the driver") == std::string::npos);
  }
}

TEST_CASE("a program name cannot write control characters to the terminal", "[doctor]") {
  const Words list = of_check("xid", {"NVRM: Xid (PCI:0000:13:00): 998, name=\x1b[31mred\x1b[0m\n"});
  REQUIRE(list.size() == 1);
  CHECK(list[0].find('\x1b') == std::string::npos);
}

std::string links(const std::string& gpu, const std::vector<std::string>& rates) {
  std::string text = gpu;
  for (std::size_t i = 0; i < rates.size(); ++i) text += "\t Link " + std::to_string(i) + ": " + rates[i] + "\n";
  return text;
}

TEST_CASE("links that are inactive or slow are found, with their GPU", "[doctor]") {
  const std::string zero = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n",
                    one = "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n";
  const Words full(3, "26.562 GB/s");
  CHECK(of_check("nvlink", {links(zero, full) + links(one, full)}) ==
        Words{"ok GPU 0 of nvidia-smi: 3 of 3 links active", "ok GPU 1 of nvidia-smi: 3 of 3 links active"});
  CHECK(of_check("nvlink", {links(zero, full) + links(one, {"26.562 GB/s", "<inactive>", "26.562 GB/s"})}).at(1) ==
        "error GPU 1 of nvidia-smi: 2 of 3 links active");
  CHECK(of_check("nvlink", {links(zero, full) + links(one, {"26.562 GB/s", "25 GB/s", "26.562 GB/s"})}).at(1) ==
        "warning GPU 1 of nvidia-smi: 3 of 3 links active, 1 slower than 26.562 GB/s");
  CHECK(of_check("nvlink", {links(zero, Words(3, "<inactive>"))}) ==
        Words{"error GPU 0 of nvidia-smi: 0 of 3 links active"});
}

TEST_CASE("link errors are reported, except those that FEC corrected", "[doctor]") {
  const std::string text =
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n"
      "\t Link 0: Replay Errors: 0\n"
      "\t Link 0: Recovery Errors: 0\n"
      "\t Link 0: CRC Errors: 0\n"
      "\t Link 4: Replay Errors: 17\n"
      "\t Link 4: FEC Errors - 0: 123\n";
  CHECK(of_check("nvlink", {text}) == Words{"warning GPU 0 of nvidia-smi: Link 4: Replay Errors 17"});
}

std::string smi(const std::string& body) {
  return "\n==============NVSMI LOG==============\n\nTimestamp                                 : Tue Nov  3 12:00:00 "
         "2026\n"
         "Driver Version                            : 550.54.15\n\nAttached GPUs                             : 1\n"
         "GPU 00000000:1B:00.0\n    Product Name                          : NVIDIA H100 80GB HBM3\n" +
         body;
}

TEST_CASE("the state of the NVLink fabric is read from nvidia-smi -q", "[doctor]") {
  const auto with = [](const std::string& state, const std::string& status) {
    return of_check("fabric_manager", {smi("    Fabric\n        State                             : " + state +
                                           "\n        Status                            : " + status + "\n")});
  };
  CHECK(with("Completed", "Success") == Words{"ok GPU 00000000:1B:00.0: state Completed, status Success"});
  CHECK(with("In Progress", "N/A") == Words{"error GPU 00000000:1B:00.0: state In Progress"});
  CHECK(with("Completed", "Insufficient Resources").at(0).starts_with("error"));
  CHECK(with("N/A", "N/A").empty());
}

TEST_CASE("services are judged by their Active: line", "[doctor]") {
  const auto unit = [](const std::string& name, const std::string& active) {
    return "\u25cf " + name + ".service - NVIDIA service\n     Loaded: loaded (/lib/systemd/system/" + name +
           ".service; enabled; vendor preset: enabled)\n     Active: " + active + "\n   Main PID: 1021\n";
  };
  CHECK(of_check("fabric_manager",
                 {unit("nvidia-fabricmanager", "active (running) since Tue 2026-11-03 12:00:00 UTC; 1h ago")}) ==
        Words{"ok nvidia-fabricmanager: active (running)"});
  CHECK(of_check("fabric_manager", {unit("nvidia-fabricmanager", "failed (Result: exit-code) since Tue 2026-11-03")}) ==
        Words{"error nvidia-fabricmanager: failed (Result: exit-code)"});
  CHECK(of_check("fabric_manager", {"Unit nvidia-fabricmanager.service could not be found.\n"}) ==
        Words{"note nvidia-fabricmanager: not installed"});
  CHECK(of_check("imex", {unit("nvidia-imex", "inactive (dead)")}) == Words{"note nvidia-imex: inactive (dead)"});
}

TEST_CASE("the IMEX domain is read with its nodes and connections", "[doctor]") {
  const std::string legend =
      "Connectivity Table Legend:\nI - Invalid - Node wasn't reachable\nC - Connected - Ready for operation\n\n";
  const std::string well = legend +
                           "5/12/2025 06:08:10.580\nNodes:\n"
                           "Node #0   * 192.168.103.1 *     - READY                - Version: 570.172\n"
                           "Node #1   - 192.168.103.2       - READY                - Version: 570.172\n\n"
                           " Nodes From\\To  0   1\n       0        C   C\n       1        C   C\nDomain State: UP\n";
  CHECK(of_check("imex", {well}) == Words{"ok host: domain UP, 2 nodes"});
  const std::string sick = legend +
                           "Nodes:\nNode #0   - 10.0.0.1    - READY                - Version: 570.172\n"
                           "Node #1   - 10.0.0.2    - UNAVAILABLE          - Version: N/A\n"
                           " Nodes From\\To  0   1\n       0        C   N\n       1        I   I\nDomain State: DOWN\n";
  CHECK(of_check("imex", {sick}) ==
        Words{"error host: domain DOWN, 2 nodes, 3 of 4 connections missing", "error node 1 (10.0.0.2): UNAVAILABLE"});
}

TEST_CASE("a power limit below the default is found, in output of old and new drivers", "[doctor]") {
  const auto with = [](const std::string& section, const std::string& key, const std::string& limit) {
    return of_check("gpu_power",
                    {smi("    " + section + "\n        Power Draw                        : 100.00 W\n        " + key +
                         "                       : " + limit +
                         "\n        Default Power Limit               : 700.00 W\n"
                         "        Max Power Limit                   : 700.00 W\n")});
  };
  CHECK(with("GPU Power Readings", "Current Power Limit", "700.00 W") == Words{"ok GPU 00000000:1B:00.0: limit 700 W"});
  CHECK(with("GPU Power Readings", "Current Power Limit", "500.00 W") ==
        Words{"warning GPU 00000000:1B:00.0: limit 500 W"});
  CHECK(with("Power Readings", "Power Limit", "500.00 W") == Words{"warning GPU 00000000:1B:00.0: limit 500 W"});
  CHECK(with("GPU Power Readings", "Current Power Limit", "N/A").empty());
}

std::string clock_reasons(const std::string& title, const std::string& which) {
  std::string text = "    " + title + "\n";
  for (const std::string name :
       {"Idle", "Applications Clocks Setting", "SW Power Cap", "HW Slowdown", "    HW Thermal Slowdown",
        "    HW Power Brake Slowdown", "Sync Boost", "SW Thermal Slowdown"})
    text += "        " + name + "  : " + (name.ends_with(which) ? "Active" : "Not Active") + "\n";
  return smi(text);
}

TEST_CASE("reasons that lower clocks have a status by severity", "[doctor]") {
  const std::string gpu = "GPU 00000000:1B:00.0: ";
  for (const std::string title : {"Clocks Event Reasons", "Clocks Throttle Reasons"}) {
    CHECK(of_check("gpu_clocks", {clock_reasons(title, "Idle")}) == Words{"ok " + gpu + "nothing lowers its clocks"});
    CHECK(of_check("gpu_clocks", {clock_reasons(title, "HW Thermal Slowdown")}) ==
          Words{"error " + gpu + "HW Thermal Slowdown is active"});
    CHECK(of_check("gpu_clocks", {clock_reasons(title, "HW Power Brake Slowdown")}).at(0).starts_with("error"));
    CHECK(of_check("gpu_clocks", {clock_reasons(title, "HW Slowdown")}) ==
          Words{"error " + gpu + "HW Slowdown is active"});
    CHECK(of_check("gpu_clocks", {clock_reasons(title, "SW Thermal Slowdown")}).at(0).starts_with("warning"));
    CHECK(of_check("gpu_clocks", {clock_reasons(title, "SW Power Cap")}).at(0).starts_with("note"));
  }
  const std::string held =
      "    Applications Clocks\n        Graphics                          : 1200 MHz\n        Memory                   "
      "         : 2619 MHz\n"
      "    Default Applications Clocks\n        Graphics                          : 1980 MHz\n"
      "    Max Clocks\n        Graphics                          : 1980 MHz\n";
  CHECK(of_check("gpu_clocks", {smi(held)}) == Words{"warning " + gpu + "applications clock 1200 MHz"});
}

TEST_CASE("one text may hold several outputs", "[doctor]") {
  const std::string all = smi("    Fabric\n        State                             : Completed\n") +
                          "Unit nvidia-fabricmanager.service could not be found.\n" +
                          "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n\t Link 0: 26.562 GB/s\n[ 1.000000] booted\r\n";
  CHECK(of_check("fabric_manager", {all}).size() == 2);
  CHECK(of_check("nvlink", {all}).size() == 1);
  CHECK(of_check("xid", {all}).size() == 1);
}

TEST_CASE("a text without known output is rejected, with its name", "[doctor]") {
  const HostTree tree;
  DoctorExtras extras;
  extras.texts = {{"a.txt", "[ 1.000000] booted\n"}, {"b.txt", "hello\n"}, {"c.txt", ""}};
  try {
    doctor(tree.root(), extras);
    FAIL("taken");
  } catch (const UserError& e) {
    REQUIRE(e.diagnostics().size() == 2);
    CHECK(e.diagnostics()[0].where.file == "b.txt");
    CHECK(e.diagnostics()[0].where.line == 1);
    CHECK(e.diagnostics()[1].message == "the file is empty");
  }
}

TEST_CASE("damaged texts do not crash the doctor", "[doctor]") {
  const std::string texts[] = {
      smi("    Fabric\n : \n:\n        State\n"),
      "GPU 99999999999: x (UUID: \nGPU 1: (UUID: \n\t Link 99999999999: 5 GB/s\n\t Link 0:\n",
      "NVRM: Xid (\nNVRM: Xid (PCI:0): \nNVRM: Xid (PCI:0000:01:00): 99999999999999999999, x\n",
      "Node #\nNode #1\nDomain State:\n 0 C C\n" + std::string(70000, 'C'),
      "prio-pfc 9:on -1:on :on 3:off\nenabled 1 1\nprio:9 dscp:99,,-1,x\nPriority trust state:\n",
      "DCBX mode: OS\n" + std::string("\0\xff\xfe\x80", 4)};
  for (const std::string& text : texts) {
    const HostTree tree;
    DoctorExtras extras;
    extras.texts = {{"x", text}};
    CHECK_FALSE(doctor_text(doctor(tree.root(), extras), "9.9").empty());
  }
}

}  // namespace
}  // namespace fabricast
