// SPDX-License-Identifier: GPL-2.0-or-later
#include "vswitch/flow_switch.h"

#include <numeric>

namespace verna {

void FlowSwitch::reset() {
  tables_.reset();
  meters_.clear();
  edits_.clear();
  std::iota(groups_.begin(), groups_.end(), uint16_t{0});
}

}  // namespace verna
