// SPDX-License-Identifier: GPL-2.0-or-later
#include "card_options.h"

#include <fmt/format.h>

#include "hw/verna_regs.h"

namespace verna {
namespace {

struct NumberOption {
  const char* name;
  uint32_t verna_card_config::* value;
  uint32_t min;
  uint32_t max;
  const char* help;
  bool of_vfs = false;  // means nothing to a card without
};

constexpr NumberOption kNumbers[] = {
    {"vectors", &verna_card_config::vectors, 1, VERNA_CARD_MAX_VECTORS, "MSI-X vectors"},
    {"uars", &verna_card_config::uars, 2, 16384, "doorbell pages, one per user"},
    {"speed", &verna_card_config::speed, 10, 800000, "what the port says, Mbit/s"},
    {"max-qps", &verna_card_config::max_qps, 2, 1 << 20, "RDMA queue pairs"},
    {"link-ring-kib", &verna_card_config::link_ring_kib, 64, 65536,
     "ring of each direction of a link, a power of two"},
    {"poll-us", &verna_card_config::poll_us, 0, 1000000,
     "how long the engine looks for work before it sleeps"},
    {"inline-kib", &verna_card_config::inline_kib, 0, 1024,
     "how much a vCPU sends itself when its doorbell finds the engine asleep"},
    {"vfs", &verna_card_config::vfs, 0, VERNA_CARD_MAX_VFS,
     "virtual functions that can be enabled"},
    {"vf-vectors", &verna_card_config::vf_vectors, 1, VERNA_CARD_MAX_VECTORS,
     "MSI-X vectors of each virtual function", true},
    {"vf-uars", &verna_card_config::vf_uars, 2, 16384, "doorbell pages of each virtual function",
     true},
};

struct OtherOption {
  const char* name;
  const char* help;
};

constexpr OtherOption kOthers[] = {
    {"link", "path at which two cards of this host meet (excludes netdev)"},
    {"pcap", "file that gets all frames that cross the wire"},
    {"ctl", "path of a UNIX socket for vernactl"},
    {"seed", "not 0: the same keys and numbers in every run, for tests"},
};

}  // namespace

std::string check_options(const verna_card_config& config) {
  for (const NumberOption& option : kNumbers) {
    const uint32_t value = config.*option.value;
    if (option.of_vfs && !config.vfs) continue;
    if (value < option.min || value > option.max)
      return fmt::format("{}={} is out of range, must be {} to {}", option.name, value, option.min,
                         option.max);
  }
  if (config.link && config.netdev)
    return fmt::format("link={} and netdev={} exclude each other: the card has one wire",
                       config.link, config.netdev);
  return {};
}

const char* option_help(std::string_view name) {
  for (const NumberOption& option : kNumbers)
    if (name == option.name) return option.help;
  for (const OtherOption& option : kOthers)
    if (name == option.name) return option.help;
  return nullptr;
}

}  // namespace verna
