// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/segmenter.h"

#include "pkt/packet_view.h"

namespace verna {
namespace {

enum TcpFlags : uint8_t { kFin = 0x01, kPsh = 0x08, kCwr = 0x80 };

CsumSum pseudo_header(const uint8_t* ip, bool ipv4, uint8_t proto, uint32_t len) {
  return ipv4 ? csum_pseudo_ipv4(ip, proto, len) : csum_pseudo_ipv6(ip, proto, len);
}

}  // namespace

Segmenter::Begin Segmenter::begin(HostBus& bus, FunctionId fn, const TxPacket& packet,
                                  uint32_t max_segment) {
  const verna_tx_desc& request = packet.request();
  left_ = 0;
  reader_.start(&packet);
  if (!reader_.read(bus, fn, hdr_.data(), request.hdr_len)) return Begin::kDmaFault;
  if (!headers_.parse(hdr_.data(), request)) return Begin::kBad;
  mss_ = request.mss;
  flags_ = request.flags;
  index_ = 0;
  left_ = static_cast<uint32_t>(packet.bytes) - request.hdr_len;
  return next_length() <= max_segment ? Begin::kReady : Begin::kBad;
}

/// From the innermost header to the outermost, because a checksum covers what is inside.
bool Segmenter::write(HostBus& bus, FunctionId fn, uint8_t* frame) {
  const uint32_t len = next_length();
  std::memcpy(frame, hdr_.data(), headers_.end);
  if (!reader_.read(bus, fn, frame + headers_.end, len - headers_.end)) {
    left_ = 0;
    return false;
  }
  write_ip(frame, headers_.l3, len, headers_.ipv4, flags_ & VERNA_TX_F_FIXED_ID);
  const CsumSum inner = write_l4(frame, len);
  if (headers_.outer_l3) write_outer(frame, len, inner);
  left_ -= len - headers_.end;
  index_++;
  return true;
}

/// Length, and for IPv4 ID and checksum, of the IP header at `l3` of a segment of `len` bytes.
void Segmenter::write_ip(uint8_t* frame, uint32_t l3, uint32_t len, bool ipv4,
                         bool fixed_id) const {
  uint8_t* ip = frame + l3;
  if (!ipv4) {
    store_be16(ip + 4, static_cast<uint16_t>(len - l3 - kIpv6Bytes));
    return;
  }
  store_be16(ip + 2, static_cast<uint16_t>(len - l3));
  if (!fixed_id) store_be16(ip + 4, static_cast<uint16_t>(load_be16(ip + 4) + index_));
  store_le<uint16_t>(ip + 10, 0);
  store_le(ip + 10, csum_finish(csum_add(0, ip, (ip[0] & 0xfu) * 4)));
}

/// The TCP or UDP header and its checksum. Returns the sum over all from it on.
CsumSum Segmenter::write_l4(uint8_t* frame, uint32_t len) const {
  const uint32_t l4_len = len - headers_.l4;
  uint8_t* l4 = frame + headers_.l4;
  uint8_t* check = l4 + (headers_.tcp ? 16 : 6);
  if (headers_.tcp)
    write_tcp(l4, left_ <= mss_);
  else
    store_be16(l4 + 4, static_cast<uint16_t>(l4_len));
  store_le<uint16_t>(check, 0);
  const CsumSum covered = csum_add(0, l4, l4_len);
  const CsumSum sum =
      csum_join(covered, pseudo_header(frame + headers_.l3, headers_.ipv4,
                                       headers_.tcp ? kProtoTcp : kProtoUdp, l4_len));
  store_le(check, headers_.tcp ? csum_finish(sum) : csum_finish_udp(sum));
  return csum_join(covered, load_le<uint16_t>(check));
}

void Segmenter::write_tcp(uint8_t* tcp, bool last) const {
  store_be32(tcp + 4, load_be32(tcp + 4) + index_ * mss_);
  if (!last) tcp[13] &= static_cast<uint8_t>(~(kFin | kPsh));
  if (index_ > 0 && !(flags_ & VERNA_TX_F_KEEP_CWR)) tcp[13] &= static_cast<uint8_t>(~kCwr);
}

/// The headers around a tunnel. `inner` is the sum over all from the inner TCP or UDP header on, so
/// that no byte of payload has to be looked at twice.
void Segmenter::write_outer(uint8_t* frame, uint32_t len, CsumSum inner) const {
  const TsoHeaders& h = headers_;
  write_ip(frame, h.outer_l3, len, h.outer_ipv4, flags_ & VERNA_TX_F_OUTER_FIXED_ID);
  if (!h.outer_l4) return;
  uint8_t* l4 = frame + h.outer_l4;
  const uint32_t l4_len = len - h.outer_l4;
  if (h.outer_udp) store_be16(l4 + 4, static_cast<uint16_t>(l4_len));
  if (!h.outer_checksum) return;
  uint8_t* check = l4 + (h.outer_udp ? 6 : 4);
  store_le<uint16_t>(check, 0);
  // RFC 2784 2.3: what follows the checksum of GRE is zero. Linux leaves it to who writes that.
  if (!h.outer_udp) store_le<uint16_t>(check + 2, 0);
  const uint32_t between = h.l4 - h.outer_l4;
  const CsumSum sum = csum_join(csum_add(0, l4, between), csum_at(inner, between));
  const uint8_t* ip = frame + h.outer_l3;
  if (h.outer_udp)
    store_le(check,
             csum_finish_udp(csum_join(sum, pseudo_header(ip, h.outer_ipv4, kProtoUdp, l4_len))));
  else
    store_le(check, csum_finish(sum));
}

}  // namespace verna
