// SPDX-License-Identifier: GPL-2.0
/* BIG TCP over IPv6 has an extension header with the length. */
#include <net/ipv6.h>

int verna_probe(struct sk_buff *skb)
{
	return ipv6_hopopt_jumbo_remove(skb);
}
