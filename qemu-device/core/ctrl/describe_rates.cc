// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/describe_rates.h"

#include <nlohmann/json.hpp>

#include "vswitch/switch.h"

namespace verna {
namespace {

using Json = nlohmann::ordered_json;

Json describe_node(const char* name, uint32_t number, const TxNode& node) {
  const RateSetup setup = RateTree::setup_of(node);
  return {{name, number},
          {"parent", setup.parent},
          {"max_kbps", setup.max_kbps},
          {"min_kbps", setup.min_kbps},
          {"priority", setup.priority},
          {"weight", setup.weight},
          {"tx_bytes", node.sent},
          {"held", node.is_held()}};
}

}  // namespace

std::string describe_rates(const RateTree& tree) {
  Json nodes = Json::array();
  tree.for_each([&](uint16_t id, const TxNode& node) {
    nodes.push_back(describe_node("node", id, node));
    nodes.back()["children"] = node.num_children;
  });
  Json leaves = Json::array();
  for (FunctionId fn = 1; fn <= tree.leaves().size(); fn++)
    leaves.push_back(describe_node("vport", vport_of(fn), *tree.leaves()[fn - 1u]));
  return Json{{"nodes", nodes}, {"leaves", leaves}}.dump();
}

}  // namespace verna
