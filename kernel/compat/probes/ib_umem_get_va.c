// SPDX-License-Identifier: GPL-2.0
/* ib_umem_get() got a name that says what it takes: addresses of the process. */
#include <rdma/ib_umem.h>

struct ib_umem *probe(struct ib_device *device)
{
	return ib_umem_get_va(device, 0, 0, 0);
}
