// SPDX-License-Identifier: GPL-2.0-or-later
// A frame on its way through tables, whose headers rules can change.
#pragma once

#include "flow/flow_edit.h"

namespace verna {

/// Headers are changed in a private copy with room in front; the payload stays where it is, and is
/// only read for checksums that cover it (SCTP's, and UDP's of outer headers). Checksums of IP, TCP
/// and UDP are updated by what changed, so a wrong one stays wrong, and an unchanged packet costs
/// no copy. Keys are made anew when they are asked for after a change.
class FlowPacket {
 public:
  /// For all that is put in front of one packet.
  static constexpr uint32_t kRoom = 256;
  static constexpr uint32_t kMaxBytes = 65535;

  /// `packet` stays as it is until this goes. `port`: where it came from.
  FlowPacket(const PacketView& packet, uint16_t port, const TunnelPorts& ports);

  uint16_t port() const { return port_; }
  /// The frame: bytes at head(), then those at rest().
  const uint8_t* head() const { return head_; }
  uint32_t head_bytes() const { return head_bytes_; }
  const uint8_t* rest() const { return rest_; }
  uint32_t rest_bytes() const { return rest_bytes_; }
  uint32_t bytes() const { return head_bytes_ + rest_bytes_; }
  void copy_to(uint8_t* out) const;

  const FrameLayers& layers();
  const FlowKeys& keys();

  /// False: the packet cannot be changed so, and is not whole any more. `ip_id`: of an outer IPv4
  /// header.
  [[nodiscard]] bool apply(const FlowEdit& edit, uint16_t ip_id);
  /// The TTL that `edit` would decrement is used up. (Behind tags that hide it apply() finds out.)
  bool ttl_expires(const FlowEdit& edit);

  // The steps of apply().
  /// Takes the outer headers off. An outer mark of congestion is carried over (RFC 6040).
  [[nodiscard]] bool decap();
  void pop_vlan();
  [[nodiscard]] bool rewrite(const FlowRewrite& rewrite);
  [[nodiscard]] bool decrement_ttl();
  [[nodiscard]] bool encap(const FlowEncap& encap, uint16_t ip_id);
  [[nodiscard]] bool push_vlan(const VlanTag& tag);

 private:
  HeaderBytes header_bytes() const { return {head_, head_bytes_, bytes()}; }
  uint8_t* own();
  uint8_t* grow(uint32_t bytes);
  void shrink(uint32_t bytes) {
    head_ += bytes;
    head_bytes_ -= bytes;
  }
  void cut(uint32_t bytes);
  void parse();
  uint32_t flow_hash();

  void set_ethernet(const FlowRewrite& rewrite);
  bool set_ip(const FlowRewrite& rewrite);
  bool set_ports(const FlowRewrite& rewrite);
  void set_tos(uint8_t tos);
  void set_sctp_ports(const FlowRewrite& rewrite, uint32_t l4);
  uint32_t sctp_crc(uint32_t l4) const;
  static void write_tunnel(const FlowEncap& encap, uint8_t* out);
  void write_outer_udp(const FlowEncap& encap, uint16_t source, uint32_t l4);

  uint16_t port_;
  const TunnelPorts& ports_;
  const uint8_t* head_;
  uint32_t head_bytes_;
  const uint8_t* rest_;
  uint32_t rest_bytes_;
  FrameLayers layers_;
  Tunnel tunnel_;             // that the frame is now
  bool was_tunnel_ = false;   // it had one that was taken off
  verna_flow_key outer_key_;  // tun_* of that, if was_tunnel_
  FlowKeys keys_;
  bool parsed_ = true;  // layers_ and tunnel_ are of the frame as it is
  bool keyed_ = false;  // and so are keys_
  bool own_ = false;    // head_ is in store_
  uint8_t store_[kRoom + PacketView::kHeaderBytes];
};

}  // namespace verna
