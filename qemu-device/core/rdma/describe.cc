// SPDX-License-Identifier: GPL-2.0-or-later
// What vernactl shows of the engine, as JSON.
#include <fmt/format.h>

#include <iterator>
#include <map>

#include "rdma/engine_impl.h"

namespace verna {
namespace {

const char* type_name(verna_qp_type type) {
  static constexpr const char* kNames[] = {"?", "RC", "UC", "UD", "GSI"};
  return static_cast<size_t>(type) < std::size(kNames) ? kNames[type] : "?";
}

const char* state_name(verna_qp_state state) {
  static constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return static_cast<size_t>(state) < std::size(kNames) ? kNames[state] : "?";
}

std::string gid_text(const uint8_t gid[16]) {
  std::string text;
  for (int i = 0; i < 16; i += 2)
    fmt::format_to(std::back_inserter(text), "{}{:04x}", i ? ":" : "", load_be16(gid + i));
  return text;
}

void describe_qp(std::string* out, const QpSummary& s, const QpContext& c) {
  fmt::format_to(
      std::back_inserter(*out),
      "{{\"qpn\":{},\"type\":\"{}\",\"state\":\"{}\",\"pdn\":{},\"send_cqn\":{},\"recv_cqn\":{},"
      "\"uar\":{},\"function\":{},\"path_mtu\":{},\"dest_qpn\":{},\"dgid\":\"{}\","
      "\"sq\":{{\"size\":{},\"next\":{},\"posted\":{},\"doorbell\":{}}},"
      "\"rq\":{{\"size\":{},\"next\":{},\"posted\":{},\"doorbell\":{}}},"
      "\"oldest_psn\":{},\"next_psn\":{},\"expected_psn\":{},\"in_flight\":{},"
      "\"responses_due\":{},\"rnr_wait\":{},\"blocked\":{}}}",
      c.qpn, type_name(c.type), state_name(c.state), c.pd->pdn, c.send_cq->cqn(), c.recv_cq->cqn(),
      c.uar, c.fn, uint16_t{c.attr.path_mtu}, uint32_t{c.attr.dest_qpn}, gid_text(c.attr.av.dgid),
      c.sq.size(), c.sq.next_index(), c.sq.available(), c.sq.need_doorbell(), c.rq.size(),
      c.rq.next_index(), c.rq.available(), c.rq.need_doorbell(), s.oldest_psn, s.next_psn,
      s.expected_psn, s.in_flight, s.responses_due, s.rnr_wait, s.blocked);
}

/// Objects in order of their number, separated by commas, in brackets.
template <typename Map, typename F>
std::string json_array(const Map& objects, F describe) {
  std::string out = "[";
  for (const auto& [number, object] : objects) {
    if (out.size() > 1) out += ',';
    describe(&out, *object);
  }
  return out + "]";
}

}  // namespace

std::string RdmaEngine::describe_qps() const {
  std::map<uint32_t, const Qp*> sorted;
  for (const auto& [qpn, qp] : impl_->qps) sorted[qpn] = qp.get();
  return json_array(
      sorted, [](std::string* out, const Qp& qp) { describe_qp(out, qp.summary(), qp.context()); });
}

std::string RdmaEngine::describe_mrs() const {
  std::map<uint32_t, const MemoryRegion*> sorted;
  impl_->services.memory.for_each([&](const MemoryRegion& mr) { sorted[mr.key] = &mr; });
  return json_array(sorted, [](std::string* out, const MemoryRegion& mr) {
    fmt::format_to(std::back_inserter(*out),
                   "{{\"key\":{},\"pdn\":{},\"function\":{},\"access\":{},\"dma\":{},"
                   "\"invalid\":{},\"start\":{},\"length\":{},\"pages\":{}}}",
                   mr.key, mr.pd->pdn, mr.fn, mr.access, mr.dma, mr.invalid, mr.start, mr.length,
                   mr.pages.num_pages());
  });
}

std::string RdmaEngine::describe_gids() const {
  std::map<size_t, const GidEntry*> sorted;
  const GidTable& gids = impl_->services.gids;
  for (size_t i = 0; i < gids.size(); i++) {
    if (gids.valid(i)) sorted[i] = &gids.at(i);
  }
  std::string out = "[";
  for (const auto& [index, entry] : sorted) {
    const uint8_t* m = entry->mac;
    fmt::format_to(std::back_inserter(out),
                   "{}{{\"index\":{},\"gid\":\"{}\",\"vlan\":{},"
                   "\"mac\":\"{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}\"}}",
                   out.size() > 1 ? "," : "", index, gid_text(entry->gid),
                   entry->vlan == VERNA_VLAN_NONE ? -1 : int{entry->vlan}, m[0], m[1], m[2], m[3],
                   m[4], m[5]);
  }
  return out + "]";
}

}  // namespace verna
