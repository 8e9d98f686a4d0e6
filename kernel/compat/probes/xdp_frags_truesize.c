// SPDX-License-Identifier: GPL-2.0
/* The memory of an xdp_buff's fragments is told beside their size. */
#include <linux/skbuff.h>

u32 probe(struct skb_shared_info *sinfo)
{
	return sinfo->xdp_frags_truesize;
}
