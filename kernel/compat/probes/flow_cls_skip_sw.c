// SPDX-License-Identifier: GPL-2.0
/* A classifier tells whether its rule is the card's alone. */
#include <net/flow_offload.h>

bool probe(const struct flow_cls_common_offload *common)
{
	return common->skip_sw;
}
