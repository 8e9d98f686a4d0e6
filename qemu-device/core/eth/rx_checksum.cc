// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/rx_checksum.h"

#include <algorithm>

#include "pkt/crc32.h"

namespace verna {
namespace {

constexpr uint32_t kSctpBytes = 12;
constexpr uint16_t kVxlanPort = 4789;
constexpr uint16_t kGenevePort = 6081;
constexpr uint16_t kEthernetInside = 0x6558;
constexpr int kMaxLayers = 3;

enum class Finding { kNothing, kGood, kBad };

/// Walks one frame. All sums begin at even distances from the Ethernet header's end, as every
/// header between has an even length.
class Checker {
 public:
  explicit Checker(HeldFrame* frame) : f_(*frame) {}

  void run() {
    IpLayer ip = f_.ip;
    for (int layer = 0; layer < kMaxLayers && ip.ip_version; layer++) {
      if (ip.ip_version == 4 && !header_good(ip)) f_.csum_bad = true;
      if (f_.csum_bad || ip.fragment || !ip.l4) return;
      IpLayer inner;
      if (!look(ip, &inner)) return;
      ip = inner;
    }
  }

 private:
  const uint8_t* at(uint32_t offset) const { return f_.data + offset; }

  bool header_good(const IpLayer& ip) const {
    const uint32_t bytes = (*at(ip.l3) & 0xfu) * 4;
    return csum_fold(csum_add(0, at(ip.l3), bytes)) == 0xffff;
  }

  /// With source routing the pseudo header has an address that is not in the IP header.
  bool may_be_routed(const IpLayer& ip) const {
    return ip.l4 - ip.l3 > (ip.ip_version == 4 ? 20 : 40);
  }

  Finding internet(const IpLayer& ip, uint8_t proto, uint32_t length) const {
    const CsumSum pseudo = ip.ip_version == 4 ? csum_pseudo_ipv4(at(ip.l3), proto, length)
                                              : csum_pseudo_ipv6(at(ip.l3), proto, length);
    const uint16_t sum = csum_fold(csum_join(pseudo, f_.sum_within(ip.l4, ip.l4 + length)));
    if (sum == 0xffff || sum == 0) return Finding::kGood;
    return may_be_routed(ip) ? Finding::kNothing : Finding::kBad;
  }

  Finding udp(const IpLayer& ip, uint32_t length) const {
    if (length < kUdpBytes || ip.l4 + length > ip.l3_end) return Finding::kNothing;
    if (load_be16(at(ip.l4 + 6)) == 0) return Finding::kGood;
    return internet(ip, kProtoUdp, length);
  }

  Finding sctp(const IpLayer& ip) const {
    if (ip.l4 + kSctpBytes > ip.l3_end || ip.l4 + kSctpBytes > f_.hdr_len())
      return Finding::kNothing;
    constexpr uint8_t kZero[4] = {};
    uint32_t crc = crc32c(0, at(ip.l4), 8);
    crc = crc32c(crc, kZero, sizeof kZero);
    f_.pieces(ip.l4 + kSctpBytes, ip.l3_end, [&](const uint8_t* bytes, uint32_t n) {
      crc = crc32c(crc, bytes, n);
      return true;
    });
    return crc == load_le<uint32_t>(at(ip.l4 + 8)) ? Finding::kGood : Finding::kBad;
  }

  /// Notes what was found; true if there may be more inside.
  bool note(Finding finding) {
    if (finding == Finding::kGood) f_.csum_ok++;
    if (finding == Finding::kBad) f_.csum_bad = true;
    return finding == Finding::kGood;
  }

  /// Looks at the upper layer of `ip`. True: `*inner` is the IP header that it carries.
  bool look(const IpLayer& ip, IpLayer* inner) {
    switch (ip.ip_proto) {
      case kProtoTcp:
        note(internet(ip, kProtoTcp, ip.l3_end - ip.l4));
        return false;
      case kProtoSctp:
        note(sctp(ip));
        return false;
      case kProtoUdp: {
        const uint32_t length = load_be16(at(ip.l4 + 4));
        return note(udp(ip, length)) && udp_tunnel(ip.l4, ip.l4 + length, inner);
      }
      case kProtoIpv4:
        return carried(ip.l4, ip.l3_end, kEthertypeIpv4, inner);
      case kProtoIpv6:
        return carried(ip.l4, ip.l3_end, kEthertypeIpv6, inner);
      case kProtoGre:
        return gre(ip, inner);
      default:
        return false;
    }
  }

  bool carried(uint32_t offset, uint32_t end, uint16_t ethertype, IpLayer* inner) const {
    if (ethertype == kEthernetInside) {
      if (!readable(offset, kMacHeaderBytes, end)) return false;
      ethertype = load_be16(at(offset + 12));
      offset += kMacHeaderBytes;
    }
    parse_ip({f_.data, std::min(f_.hdr_len(), end), end}, offset, ethertype, inner);
    return inner->ip_version != 0;
  }

  bool readable(uint32_t offset, uint32_t bytes, uint32_t end) const {
    return offset + bytes <= end && offset + bytes <= f_.hdr_len();
  }

  bool udp_tunnel(uint32_t l4, uint32_t end, IpLayer* inner) const {
    const uint16_t port = load_be16(at(l4 + 2));
    const uint32_t header = l4 + kUdpBytes;
    if ((port != kVxlanPort && port != kGenevePort) || !readable(header, 8, end)) return false;
    if (port == kVxlanPort) return carried(header + 8, end, kEthernetInside, inner);
    const uint32_t options = (*at(header) & 0x3fu) * 4;
    return carried(header + 8 + options, end, load_be16(at(header + 2)), inner);
  }

  bool gre(const IpLayer& ip, IpLayer* inner) const {
    if (!readable(ip.l4, 4, ip.l3_end)) return false;
    const uint16_t flags = load_be16(at(ip.l4));
    if (flags & ~0x3000) return false;  // only a key and a sequence number
    const uint32_t options = (flags & 0x2000 ? 4 : 0) + (flags & 0x1000 ? 4 : 0);
    return carried(ip.l4 + 4 + options, ip.l3_end, load_be16(at(ip.l4 + 2)), inner);
  }

  HeldFrame& f_;
};

}  // namespace

void check_sums(HeldFrame* frame) {
  frame->sum = frame->sum_of(kMacHeaderBytes, frame->len);
  Checker(frame).run();
}

}  // namespace verna
