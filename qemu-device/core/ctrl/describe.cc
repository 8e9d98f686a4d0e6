// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "ctrl/describe_flow.h"
#include "ctrl/describe_rates.h"

namespace verna {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kTraceAnswer = 4096;  // records in one answer

#define VERNA_NAME(name, doc) #name,
constexpr const char* kPortNames[] = {VERNA_PORT_COUNTERS(VERNA_NAME)};
constexpr const char* kVportNames[] = {VERNA_VPORT_COUNTERS(VERNA_NAME)};
constexpr const char* kEthNames[] = {VERNA_ETH_COUNTERS(VERNA_NAME)};
constexpr const char* kRdmaNames[] = {VERNA_RDMA_COUNTERS(VERNA_NAME)};
constexpr const char* kDevNames[] = {VERNA_DEV_COUNTERS(VERNA_NAME)};
constexpr const char* kTxqNames[] = {VERNA_TXQ_COUNTERS(VERNA_NAME)};
constexpr const char* kRxqNames[] = {VERNA_RXQ_COUNTERS(VERNA_NAME)};
#undef VERNA_NAME

template <size_t N>
Json named(const char* const (&names)[N], const std::array<uint64_t, N>& values) {
  Json out = Json::object();
  for (size_t i = 0; i < N; i++) out[names[i]] = values[i];
  return out;
}

Json describe_regs(const DescribeContext& card) {
  Json out = Json::object();
  for (const RegisterInfo& reg : RegFile::list())
    if (reg.access != Access::kWriteOnly)
      out[reg.name] = fmt::format("0x{:08x}", card.regs.peek(reg));
  return out;
}

Json describe_cap(const verna_cap_dev& cap) {
  return {{"max_eqs", cap.max_eqs},
          {"max_cqs", cap.max_cqs},
          {"log_max_cq_entries", cap.log_max_cq_entries},
          {"log_max_eq_entries", cap.log_max_eq_entries},
          {"num_functions", cap.num_functions},
          {"max_pbl_entries", cap.max_pbl_entries},
          {"page_shifts", fmt::format("0x{:x}", cap.page_shifts)}};
}

Json describe_cap(const verna_cap_eth& cap) {
  return {{"features", fmt::format("0x{:x}", cap.features)},
          {"max_txqs", cap.max_txqs},
          {"max_rxqs", cap.max_rxqs},
          {"log_max_entries", cap.log_max_entries},
          {"max_mac_filters", cap.max_mac_filters},
          {"min_mtu", cap.min_mtu},
          {"max_mtu", cap.max_mtu},
          {"max_tx_frags", cap.max_tx_frags},
          {"rss_table_size", cap.rss_table_size},
          {"max_tso_bytes", cap.max_tso_bytes},
          {"max_flow_rules", cap.max_flow_rules},
          {"max_rss_contexts", cap.max_rss_contexts},
          {"max_tx_classes", cap.max_tx_classes},
          {"flow_age_ms", cap.flow_age_ms}};
}

Json describe_cap(const verna_cap_rdma& cap) {
  return {{"features", fmt::format("0x{:x}", cap.features)},
          {"max_qps", cap.max_qps},
          {"max_mrs", cap.max_mrs},
          {"max_pds", cap.max_pds},
          {"max_gids", cap.max_gids},
          {"log_max_wqes", cap.log_max_wqes},
          {"max_send_sge", cap.max_send_sge},
          {"max_recv_sge", cap.max_recv_sge},
          {"max_inline", cap.max_inline},
          {"max_rd_atomic", cap.max_rd_atomic},
          {"max_mtu", cap.max_mtu},
          {"max_msg", cap.max_msg},
          {"max_mr_size", cap.max_mr_size},
          {"node_guid", fmt::format("{:016x}", __builtin_bswap64(cap.node_guid))}};
}

Json describe_cap(const verna_cap_vport& cap) {
  return {{"fields", fmt::format("0x{:x}", cap.fields)},
          {"max_vfs", cap.max_vfs},
          {"max_addresses", cap.max_addresses},
          {"max_rate_nodes", cap.max_rate_nodes},
          {"max_rate_levels", cap.max_rate_levels}};
}

Json describe_cap(const verna_cap_eswitch& cap) {
  return {{"modes", fmt::format("0x{:x}", cap.modes)},
          {"max_rules", cap.max_rules},
          {"max_meters", cap.max_meters},
          {"max_edits", cap.max_edits},
          {"max_groups", cap.max_groups},
          {"max_tables", cap.max_tables},
          {"actions", fmt::format("0x{:x}", cap.actions)},
          {"max_masks", cap.max_masks},
          {"key_flags", fmt::format("0x{:x}", cap.key_flags)},
          {"tunnels", fmt::format("0x{:x}", cap.tunnels)},
          {"max_hops", cap.max_hops},
          {"max_copies", cap.max_copies},
          {"age_ms", cap.age_ms}};
}

Json describe_caps(const DescribeContext& card) {
  Json out = {{"dev", describe_cap(card.cap_dev)},
              {"eth", describe_cap(card.cap_eth)},
              {"rdma", describe_cap(card.cap_rdma)}};
  if (!card.cap_vport.max_vfs) return out;
  out["vport"] = describe_cap(card.cap_vport);
  out["eswitch"] = describe_cap(card.cap_eswitch);
  return out;
}

Json describe_eqs(const DescribeContext& card) {
  Json out = Json::array();
  for (const auto& eq : card.eqs.all()) {
    if (!eq) continue;
    out.push_back({{"eqn", eq->eqn},
                   {"vector", eq->vector},
                   {"entries", 1u << eq->log_size},
                   {"users", eq->users},
                   {"events", eq->events},
                   {"written", eq->ring.produced()},
                   {"consumed", eq->ring.consumed()}});
  }
  return {{"eqs", out}};
}

Json describe_cqs(const DescribeContext& card) {
  Json out = Json::array();
  for (const auto& cq : card.cqs.all()) {
    if (!cq) continue;
    out.push_back({{"cqn", cq->cqn()},
                   {"eqn", cq->eqn()},
                   {"entries", cq->ring().size()},
                   {"users", cq->users},
                   {"error", cq->in_error()},
                   {"delay_ns", cq->moderation().delay_ns},
                   {"event_entries", cq->moderation().entries},
                   {"written", cq->ring().produced()},
                   {"consumed", cq->ring().consumed()}});
  }
  return {{"cqs", out}};
}

template <typename Queue, size_t N>
Json describe_queue(const Queue& queue, const char* const (&names)[N]) {
  Json out = {{"id", queue.id()},
              {"cqn", queue.cqn()},
              {"uar", queue.uar()},
              {"entries", queue.ring().size()},
              {"next_index", queue.ring().next_index()},
              {"available", queue.ring().available()},
              {"need_doorbell", queue.ring().need_doorbell()},
              {"stopped", queue.stopped()}};
  out.update(named(names, queue.counters));
  return out;
}

Json describe_schedule(const Scheduler& scheduler, const TxQueue& queue) {
  const TxQueueSetup setup = scheduler.setup_of(queue);
  return {{"tclass", setup.tclass},
          {"weight", setup.weight},
          {"rate_kbps", setup.rate_kbps},
          {"burst_bytes", setup.burst_bytes},
          {"pace_kbps", queue.pace_kbps()}};
}

Json describe_classes(const Scheduler& scheduler) {
  Json out = Json::array();
  for (const TxClass& c : scheduler.classes())
    out.push_back({{"weight", c.weight}, {"max_kbps", c.shaper.kbps()}, {"runnable", c.size()}});
  return out;
}

Json describe_queues(const DescribeContext& card) {
  Json txqs = Json::array();
  Json rxqs = Json::array();
  for (uint32_t id = 0; id < card.eth.limits().max_queues; id++) {
    if (const TxQueue* queue = card.eth.txq(id)) {
      txqs.push_back(describe_queue(*queue, kTxqNames));
      txqs.back().update(describe_schedule(card.scheduler, *queue));
    }
    if (const RxQueue* queue = card.eth.rxq(id)) rxqs.push_back(describe_queue(*queue, kRxqNames));
  }
  return {{"txqs", txqs}, {"rxqs", rxqs}};
}

Json describe_eth(const DescribeContext& card) {
  return {{"mtu", card.eth.mtu()},
          {"rx_mode", card.eth.filter().mode()},
          {"mac_filters", card.eth.filter().size()},
          {"vlans", card.eth.vlans().size()},
          {"features", card.eth.features()},
          {"held_cells", card.eth.held().used()}};
}

Json describe_counters(const DescribeContext& card) {
  return {{"port", named(kPortNames, card.counters.port)},
          {"eth", named(kEthNames, card.counters.eth)},
          {"rdma", named(kRdmaNames, card.counters.rdma)},
          {"dev", named(kDevNames, card.counters.dev)},
          {"loopback", named(kPortNames, card.loopback_counters.port)}};
}

Json describe_vport(const Switch& vswitch, uint16_t number) {
  Json out = {{"vport", number}, {"group", vswitch.flows().group(number)}};
  if (number != kUplink) {
    const BridgePortConfig& config = vswitch.bridge().config(number);
    const auto fn = static_cast<FunctionId>(number - kPfPort);
    out.update({{"mac", fmt::format("{:02x}", fmt::join(config.mac, ":"))},
                {"enabled", vswitch.enabled(fn)},
                {"link", static_cast<int>(vswitch.link(fn))},
                {"vlan", config.vlan},
                {"qos", config.priority},
                {"spoof_check", config.spoof_check},
                {"trust", config.trusted},
                {"learned", vswitch.bridge().learned(number)}});
  }
  out.update(named(kVportNames, *vswitch.counters(number)));
  return out;
}

/// All of them for the PF, its own for a VF.
Json describe_vports(const DescribeContext& card) {
  Json out = Json::array();
  for (uint16_t number = 0; card.vswitch && card.vswitch->counters(number); number++)
    if (card.fn == 0 || number == vport_of(card.fn))
      out.push_back(describe_vport(*card.vswitch, number));
  if (!card.vswitch || card.fn != 0) return {{"vports", out}};
  return {{"mode", switch_mode_name(*card.vswitch)}, {"vports", out}};
}

/// The switch is the PF's.
Json describe_switch(const DescribeContext& card) {
  if (!card.vswitch || card.fn != 0) return {{"error", "this function has no switch"}};
  return Json::parse(describe_switch(*card.vswitch, card.now), nullptr, false);
}

/// And so is the tree of rates.
Json describe_rates(const DescribeContext& card) {
  if (!card.vswitch || card.fn != 0) return {{"error", "this function has no tree of rates"}};
  return Json::parse(describe_rates(card.rates), nullptr, false);
}

Json describe_state(const DescribeContext& card) {
  return {{"link_up", card.wire.link_up()},
          {"fatal", static_cast<int>(card.regs.fatal())},
          {"runnable", card.scheduler.num_runnable()},
          {"parked", card.scheduler.num_parked()},
          {"classes", describe_classes(card.scheduler)},
          {"rdma_class", card.scheduler.rdma_class()},
          {"polled", card.scheduler.num_polled()},
          {"wire_full", card.scheduler.wire_full()},
          {"pbl_entries", card.quota.used()},
          {"timers", card.timers.size()}};
}

Json trace_record(uint64_t number, const Trace::Record& record) {
  return {{"number", number},        {"time", record.time},
          {"packet", record.packet}, {"stage", stage_name(record.stage)},
          {"a", record.a},           {"b", record.b}};
}

/// Records from number `first` on, as far as they still exist, at most kTraceAnswer.
Json follow_trace(const DescribeContext& card, uint64_t first) {
  const Trace& trace = card.trace;
  if (!trace.enabled()) return {{"error", "trace is off: ask for \"trace on\" first"}};
  const uint64_t oldest = trace.written() > Trace::kRecords ? trace.written() - Trace::kRecords : 0;
  first = std::min(std::max(first, oldest), trace.written());
  const uint64_t end = std::min(trace.written(), first + kTraceAnswer);
  Json records = Json::array();
  for (uint64_t i = first; i < end; i++) records.push_back(trace_record(i, trace.at(i)));
  return {{"next", end}, {"records", records}};
}

/// The last records.
Json show_trace(const DescribeContext& card) {
  const uint64_t written = card.trace.written();
  return follow_trace(card, written > kTraceAnswer ? written - kTraceAnswer : 0);
}

Json switch_trace(const DescribeContext& card, bool on) {
  card.trace.enable(on);
  return {{"trace", on}};
}

/// What an engine says is JSON already.
Json embed(const char* name, const std::string& text) {
  Json out = Json::parse(text, nullptr, false);
  if (out.is_discarded()) return {{"error", "an engine's answer is no JSON"}};
  return {{name, out}};
}

Json describe_qps(const DescribeContext& card) { return embed("qps", card.rdma.describe_qps()); }
Json describe_mrs(const DescribeContext& card) { return embed("mrs", card.rdma.describe_mrs()); }
Json describe_gids(const DescribeContext& card) { return embed("gids", card.rdma.describe_gids()); }
Json describe_rss(const DescribeContext& card) { return embed("rss", describe_rss(card.eth)); }
Json describe_flows(const DescribeContext& card) {
  return Json::parse(describe_flows(card.eth, card.now), nullptr, false);
}
Json help(const DescribeContext&);

using Answer = Json (*)(const DescribeContext&);
struct Request {
  const char* name;
  Answer answer;
};
constexpr Request kRequests[] = {
    {"regs", describe_regs},
    {"caps", describe_caps},
    {"eqs", describe_eqs},
    {"cqs", describe_cqs},
    {"queues", describe_queues},
    {"eth", describe_eth},
    {"rss", describe_rss},
    {"flow", describe_flows},
    {"qps", describe_qps},
    {"mrs", describe_mrs},
    {"gids", describe_gids},
    {"counters", describe_counters},
    {"vports", describe_vports},
    {"switch", describe_switch},
    {"rates", describe_rates},
    {"state", describe_state},
    {"trace on", [](const DescribeContext& card) { return switch_trace(card, true); }},
    {"trace off", [](const DescribeContext& card) { return switch_trace(card, false); }},
    {"trace show", show_trace},
    {"help", help},
};
constexpr std::string_view kFollow = "trace follow ";  // and the number of the first record

Json help(const DescribeContext&) {
  Json known = Json::array();
  for (const Request& r : kRequests) known.push_back(r.name);
  known.push_back(fmt::format("{}N", kFollow));
  return {{"requests", known}};
}

Json answer(const DescribeContext& card, std::string_view request) {
  for (const Request& r : kRequests)
    if (request == r.name) return r.answer(card);
  if (request.starts_with(kFollow)) {
    const std::string_view number = request.substr(kFollow.size());
    uint64_t first = 0;
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, first);
    if (error == std::errc() && stop == end) return follow_trace(card, first);
  }
  Json out = {{"error", fmt::format("unknown request \"{}\"", request)}};
  out.update(help(card));
  return out;
}

}  // namespace

std::string describe(const DescribeContext& card, const std::string& request) {
  // Bytes of a request that are no UTF-8 are replaced; nothing here throws.
  return answer(card, request).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace verna
