// SPDX-License-Identifier: GPL-2.0
/*
 * verna: ethtool -t. Nothing here disturbs traffic, so all tests are run online
 * and offline alike.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/ethtool.h>

#include "eth.h"

#define VERNA_TEST_WAIT_MS	1000

/* TEST_REG answers with the complement. */
static int verna_test_register(struct verna_eth *eth)
{
	static const u32 patterns[] = { 0, 0x5a5a5a5a, 0xa5a5a5a5, 0x00000001, 0x80000000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		verna_reg_write(eth->vdev, VERNA_REG_TEST_REG, patterns[i]);
		if (verna_reg_read(eth->vdev, VERNA_REG_TEST_REG) != ~patterns[i])
			return -EIO;
	}
	return 0;
}

/* Reading what is not there answers a pattern and is counted. */
static int verna_test_bogus(struct verna_eth *eth)
{
	u32 before = verna_reg_read(eth->vdev, VERNA_REG_BAD_ACCESS);
	u32 offset, num = 0;

	for (offset = VERNA_REG_BOGUS_FIRST; offset <= VERNA_REG_BOGUS_LAST; offset += 4) {
		if (verna_reg_read(eth->vdev, offset) != VERNA_BOGUS)
			return -EIO;
		num++;
	}
	/* Somebody else may read nonsense at the same time. */
	if (verna_reg_read(eth->vdev, VERNA_REG_BAD_ACCESS) - before < num)
		return -EIO;
	return 0;
}

static int verna_test_irq_vector(struct verna_eth *eth, u32 vector)
{
	u32 before = verna_irq_count(eth->vdev, vector);
	u32 waited;

	verna_reg_write(eth->vdev, VERNA_REG_TEST_IRQ, vector);
	for (waited = 0; waited < VERNA_TEST_WAIT_MS; waited++) {
		if (verna_irq_count(eth->vdev, vector) != before)
			return 0;
		usleep_range(1000, 1500);
	}
	return -ETIMEDOUT;
}

static int verna_test_irq(struct verna_eth *eth)
{
	u32 vector;
	int err;

	for (vector = 0; vector < verna_num_vectors(eth->vdev); vector++) {
		err = verna_test_irq_vector(eth, vector);
		if (err)
			return err;
	}
	return 0;
}

static int verna_test_dma_command(struct verna_eth *eth, u32 command)
{
	u32 status, waited;

	verna_reg_write(eth->vdev, VERNA_REG_TEST_DMA_CTRL, command);
	for (waited = 0; waited < VERNA_TEST_WAIT_MS; waited++) {
		status = verna_reg_read(eth->vdev, VERNA_REG_TEST_DMA_STATUS);
		if (status == VERNA_TEST_DMA_OK)
			return 0;
		if (status != VERNA_TEST_DMA_BUSY)
			return -EIO;
		usleep_range(1000, 1500);
	}
	return -ETIMEDOUT;
}

/* One command, after which every byte must have the value. */
static int verna_test_dma_step(struct verna_eth *eth, const u8 *mem, u32 command, u8 value)
{
	int err;

	err = verna_test_dma_command(eth, command);
	if (err)
		return err;
	return memchr_inv(mem, value, VERNA_TEST_DMA_MAX) ? -EIO : 0;
}

static int verna_test_dma(struct verna_eth *eth)
{
	struct device *dev = verna_device(eth->vdev);
	dma_addr_t dma;
	u8 *mem;
	int err;

	mem = dma_alloc_coherent(dev, VERNA_TEST_DMA_MAX, &dma, GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	verna_reg_write(eth->vdev, VERNA_REG_TEST_DMA_LO, lower_32_bits(dma));
	verna_reg_write(eth->vdev, VERNA_REG_TEST_DMA_HI, upper_32_bits(dma));
	verna_reg_write(eth->vdev, VERNA_REG_TEST_DMA_SIZE, VERNA_TEST_DMA_MAX);
	err = verna_test_dma_step(eth, mem, VERNA_TEST_DMA_FILL, 0x96);
	err = err ?: verna_test_dma_step(eth, mem, VERNA_TEST_DMA_INVERT, 0x69);
	err = err ?: verna_test_dma_step(eth, mem, VERNA_TEST_DMA_CLEAR, 0x00);
	/* A command that never ended may still write: better leak than corrupt. */
	if (err != -ETIMEDOUT)
		dma_free_coherent(dev, VERNA_TEST_DMA_MAX, mem, dma);
	return err;
}

static int verna_test_link(struct verna_eth *eth)
{
	return netif_carrier_ok(eth->netdev) ? 0 : -ENOLINK;
}

static const struct {
	const char *name;
	int (*run)(struct verna_eth *eth);
} verna_tests[] = {
	{ "register", verna_test_register },
	{ "bogus register", verna_test_bogus },
	{ "interrupt", verna_test_irq },
	{ "dma", verna_test_dma },
	{ "link", verna_test_link },
};

int verna_self_test_count(void)
{
	return ARRAY_SIZE(verna_tests);
}

void verna_self_test_strings(u8 *data)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_tests); i++)
		ethtool_puts(&data, verna_tests[i].name);
}

void verna_self_test(struct net_device *netdev, struct ethtool_test *test, u64 *data)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_tests); i++) {
		int err = verna_tests[i].run(eth);

		data[i] = err ? 1 : 0;
		if (!err)
			continue;
		netdev_err(netdev, "self-test %s: %d\n", verna_tests[i].name, err);
		test->flags |= ETH_TEST_FL_FAILED;
	}
}
