// SPDX-License-Identifier: GPL-2.0
/* A sample for adaptive moderation is passed by its address. */
#include <linux/dim.h>

void probe(struct dim *dim, const struct dim_sample *sample)
{
	net_dim(dim, sample);
}
