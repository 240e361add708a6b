// Netlink messages of DCB: a request for the IEEE attributes of an interface, and the parser of the answer
// [Linux-dcbnl].
//
// PFC is not in sysfs, and mlnx_qos and dcb need root or an extra package. Any user may ask the kernel. The messages
// are built by hand because libnl would be a dependency for a single request. Requests and answers are plain bytes, so
// tests replace the kernel.
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "fabricast/calibrate/port_flow.hpp"

namespace fabricast {

namespace {

/// Netlink pads headers and attributes to 4 bytes; the length fields do not count the padding at the end.
constexpr std::size_t aligned(std::size_t size) { return (size + 3) / 4 * 4; }

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
std::optional<T> get(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

struct Attribute {
  int type = 0;
  std::string_view value;
};

/// Removes and returns the next attribute; empty at the end, or if the rest is damaged.
std::optional<Attribute> take(std::string_view& bytes) {
  const auto header = get<nlattr>(bytes);
  if (!header || header->nla_len < sizeof(nlattr) || header->nla_len > bytes.size()) return std::nullopt;
  const Attribute attribute{header->nla_type & NLA_TYPE_MASK,
                            bytes.substr(sizeof(nlattr), header->nla_len - sizeof(nlattr))};
  bytes.remove_prefix(std::min(bytes.size(), aligned(header->nla_len)));
  return attribute;
}

std::optional<std::string_view> find(std::string_view bytes, int type) {
  while (const auto attribute = take(bytes))
    if (attribute->type == type) return attribute->value;
  return std::nullopt;
}

}  // namespace

std::string dcb_request(std::string_view netdev) {
  const std::size_t value = netdev.size() + 1, length = sizeof(nlattr) + value;
  nlmsghdr header{};
  // Layout: nlmsghdr, dcbmsg, one attribute with the interface's name and its terminating zero.
  header.nlmsg_len = static_cast<__u32>(sizeof(nlmsghdr) + aligned(sizeof(dcbmsg)) + aligned(length));
  header.nlmsg_type = RTM_GETDCB;
  header.nlmsg_flags = NLM_F_REQUEST;
  header.nlmsg_seq = 1;
  dcbmsg message{};
  message.dcb_family = AF_UNSPEC;
  message.cmd = DCB_CMD_IEEE_GET;
  nlattr name{};
  name.nla_len = static_cast<__u16>(length);
  name.nla_type = DCB_ATTR_IFNAME;
  std::string bytes;
  put(bytes, header);
  put(bytes, message);
  bytes.resize(sizeof(nlmsghdr) + aligned(sizeof(dcbmsg)));
  put(bytes, name);
  bytes += netdev;
  bytes.resize(header.nlmsg_len);
  return bytes;
}

std::optional<PriorityFlow> dcb_answer(std::string_view bytes) {
  const auto header = get<nlmsghdr>(bytes);
  // An error message has another type. It means that the driver has no DCB.
  if (!header || header->nlmsg_len > bytes.size() || header->nlmsg_type != RTM_GETDCB) return std::nullopt;
  constexpr std::size_t before = sizeof(nlmsghdr) + aligned(sizeof(dcbmsg));
  if (header->nlmsg_len < before) return std::nullopt;
  const auto ieee = find(bytes.substr(before, header->nlmsg_len - before), DCB_ATTR_IEEE);
  if (!ieee) return std::nullopt;
  PriorityFlow flow;
  // pfc_en has one bit for each priority.
  if (const auto pfc = find(*ieee, DCB_ATTR_IEEE_PFC))
    if (const auto value = get<ieee_pfc>(*pfc)) flow.pfc = value->pfc_en;
  if (const auto table = find(*ieee, DCB_ATTR_IEEE_APP_TABLE)) {
    std::string_view rest = *table;
    while (const auto entry = take(rest))
      if (const auto app = get<dcb_app>(entry->value);
          // Damaged entries must not become indices: a DSCP has 6 bits, a priority 3.
          app && app->selector == IEEE_8021QAZ_APP_SEL_DSCP && app->protocol < 64 && app->priority < 8)
        flow.priority_of_dscp[app->protocol] = app->priority;
  }
  // Drivers use the DSCP if an entry maps one, else the priority of the VLAN tag.
  if (!flow.priority_of_dscp.empty()) flow.trust = "dscp";
  return flow.pfc ? std::optional(flow) : std::nullopt;
}

std::string ask_kernel(const std::string& request) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return {};
  // A container may block netlink, and the doctor must not hang there.
  const timeval second{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  std::string answer;
  if (send(socket, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
    // One datagram holds the whole answer.
    answer.resize(1 << 16);
    const ssize_t got = recv(socket, answer.data(), answer.size(), 0);
    answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  close(socket);
  return answer;
}

std::map<std::string, PriorityFlow> flow_of_ports(const std::vector<std::string>& netdevs, DcbExchange ask) {
  std::map<std::string, PriorityFlow> found;
  for (const std::string& netdev : netdevs)
    if (const auto flow = dcb_answer(ask(dcb_request(netdev)))) found[netdev] = *flow;
  return found;
}

std::vector<std::string> hardware_netdevs() {
  std::vector<std::string> names;
  std::error_code gone;
  // Virtual interfaces, such as bridges and tunnels, have no device and no DCB.
  for (std::filesystem::directory_iterator it("/sys/class/net", gone), end; !gone && it != end; it.increment(gone))
    if (std::filesystem::exists(it->path() / "device", gone)) names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fabricast
