// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/flow_load.h"

namespace verna {
namespace {

constexpr uint32_t kEditFlags =
    VERNA_EDIT_DECAP | VERNA_EDIT_REWRITE | VERNA_EDIT_DEC_TTL | VERNA_EDIT_ENCAP;
constexpr uint8_t kEncapFlags = VERNA_ENCAP_ID | VERNA_ENCAP_MAY_FRAGMENT | VERNA_ENCAP_UDP_CSUM;
constexpr uint8_t kMeterFlags = VERNA_METER_COLOUR_AWARE | VERNA_METER_DROP_YELLOW;
static_assert(FlowEdit::kMaxCopies == VERNA_EDIT_MAX_COPIES);
static_assert(FlowEdit::kMaxTags == VERNA_EDIT_MAX_TAGS);

template <typename T>
uint16_t be16(const T& field) {
  static_assert(sizeof field == 2);
  return load_be16(reinterpret_cast<const uint8_t*>(&field));
}

bool load_rate(const verna_meter_rate& from, MeterRate* rate, uint64_t* burst) {
  if (!from.amount) return !from.ns && !from.burst;
  *rate = {from.amount, from.ns};
  *burst = from.burst;
  return from.ns != 0;
}

bool load_copies(const verna_flow_edit& from, size_t num_vports, FlowEdit* to) {
  if (from.num_copies > FlowEdit::kMaxCopies) return false;
  to->num_copies = from.num_copies;
  for (size_t i = 0; i < FlowEdit::kMaxCopies; i++) {
    const verna_edit_copy& copy = from.copies[i];
    if (i >= from.num_copies && !all_zero(copy)) return false;
    if (copy.vport >= num_vports || copy.changed > 1 || copy.reserved) return false;
    to->copies[i] = {copy.vport, copy.changed == 1};
  }
  return true;
}

bool load_tags(const verna_flow_edit& from, FlowEdit* to) {
  if (from.num_push > FlowEdit::kMaxTags || from.num_pop > FlowEdit::kMaxTags) return false;
  to->pop_tags = from.num_pop;
  to->num_push = from.num_push;
  for (size_t i = 0; i < FlowEdit::kMaxTags; i++) {
    if (i >= from.num_push && !all_zero(from.push[i])) return false;
    to->push[i] = {be16(from.push[i].tpid), be16(from.push[i].tci)};
  }
  return true;
}

bool load_rewrite(const verna_flow_edit& from, FlowEdit* to) {
  if (!(from.flags & VERNA_EDIT_REWRITE)) return all_zero(from.value) && all_zero(from.mask);
  auto rewrite = std::make_unique<FlowRewrite>();
  rewrite->value = from.value;
  rewrite->mask = from.mask;
  to->rewrite = std::move(rewrite);
  return true;
}

bool load_encap(const verna_flow_edit& from, FlowEdit* to) {
  const verna_edit_encap& e = from.encap;
  if (!(from.flags & VERNA_EDIT_ENCAP)) return all_zero(e);
  const bool gre = e.kind == VERNA_FLOW_TUN_GRE;
  if (e.kind > VERNA_FLOW_TUN_GRE || e.flags & ~kEncapFlags || e.reserved) return false;
  if (gre && (e.dport || e.flags & VERNA_ENCAP_UDP_CSUM)) return false;
  if (e.ip_version == 6 && e.flags & VERNA_ENCAP_MAY_FRAGMENT) return false;
  auto encap = std::make_unique<FlowEncap>();
  encap->kind = static_cast<TunnelKind>(e.kind);
  encap->ip_version = e.ip_version;
  encap->tos = e.tos;
  encap->ttl = e.ttl;
  encap->has_id = e.flags & VERNA_ENCAP_ID;
  encap->may_fragment = e.flags & VERNA_ENCAP_MAY_FRAGMENT;
  encap->udp_checksum = e.flags & VERNA_ENCAP_UDP_CSUM;
  encap->dport = be16(e.dport);
  encap->id = load_be32(reinterpret_cast<const uint8_t*>(&e.id));
  std::copy(std::begin(e.dmac), std::end(e.dmac), encap->dmac);
  std::copy(std::begin(e.smac), std::end(e.smac), encap->smac);
  std::copy(std::begin(e.src_ip), std::end(e.src_ip), encap->source);
  std::copy(std::begin(e.dst_ip), std::end(e.dst_ip), encap->destination);
  to->encap = std::move(encap);
  return true;
}

}  // namespace

bool load_meter(const verna_meter& from, MeterConfig* to) {
  if (from.unit > VERNA_METER_PACKETS || from.second > VERNA_METER_PEAK) return false;
  if (from.flags & ~kMeterFlags || from.reserved0 || from.reserved1 || from.reserved2) return false;
  to->unit =
      from.unit == VERNA_METER_PACKETS ? MeterConfig::Unit::kPackets : MeterConfig::Unit::kBytes;
  to->second =
      from.second == VERNA_METER_PEAK ? MeterConfig::Second::kPeak : MeterConfig::Second::kExcess;
  to->colour_aware = from.flags & VERNA_METER_COLOUR_AWARE;
  to->drop_yellow = from.flags & VERNA_METER_DROP_YELLOW;
  to->overhead = from.overhead;
  to->max_bytes = from.max_bytes;
  return load_rate(from.committed_rate, &to->committed, &to->committed_burst) &&
         load_rate(from.second_rate, &to->second_rate, &to->second_burst) && !Meter::check(*to);
}

bool load_edit(const verna_flow_edit& from, size_t num_vports, FlowEdit* to) {
  if (from.flags & ~kEditFlags || from.reserved0 || from.reserved) return false;
  to->decap = from.flags & VERNA_EDIT_DECAP;
  to->dec_ttl = from.flags & VERNA_EDIT_DEC_TTL;
  return load_copies(from, num_vports, to) && load_tags(from, to) && load_rewrite(from, to) &&
         load_encap(from, to) && !check_edit(*to);
}

}  // namespace verna
