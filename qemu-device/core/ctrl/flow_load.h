// SPDX-License-Identifier: GPL-2.0-or-later
// Meters and edits as the host writes them.
#pragma once

#include "flow/flow_edit.h"
#include "flow/meter.h"
#include "hw/verna_edit.h"

namespace verna {

/// False: it breaks a rule of verna_edit.h.
bool load_meter(const verna_meter& from, MeterConfig* to);

/// The same of an edit for a card with vports 0 to `num_vports` - 1.
bool load_edit(const verna_flow_edit& from, size_t num_vports, FlowEdit* to);

}  // namespace verna
