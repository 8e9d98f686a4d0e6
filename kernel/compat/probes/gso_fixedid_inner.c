// SPDX-License-Identifier: GPL-2.0
/* GSO tells the IPv4 IDs inside of a tunnel and around it apart. */
#include <linux/skbuff.h>

const unsigned int verna_probe = SKB_GSO_TCP_FIXEDID_INNER;
