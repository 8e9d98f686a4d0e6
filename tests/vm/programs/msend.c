// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * msend, mreceive: sends to a multicast group, or joins one and waits to be killed. The kernel's
 * forwarding tests call two programs of these names which Debian does not have; this is what they
 * ask of them: msend -g GROUP -I INTERFACE [-c COUNT], mreceive -g GROUP -I INTERFACE, msend -v.
 */
#include <arpa/inet.h>
#include <err.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT	4444

struct group {
	struct sockaddr_storage address;
	socklen_t size;
	unsigned int index; /* of the interface */
};

static void parse_group(const char *text, struct group *group)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&group->address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&group->address;

	memset(&group->address, 0, sizeof(group->address));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(PORT);
		group->size = sizeof(*v4);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(PORT);
		group->size = sizeof(*v6);
	} else {
		errx(2, "%s is no group", text);
	}
}

static void join(int fd, const struct group *group)
{
	int level = group->address.ss_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	struct group_req request = { .gr_interface = group->index, .gr_group = group->address };

	if (setsockopt(fd, level, MCAST_JOIN_GROUP, &request, sizeof(request)))
		err(1, "joining");
	for (;;)
		pause();
}

/* In a VRF nothing but the bound interface decides where a multicast goes. */
static void send_to(int fd, const struct group *group, const char *interface, int count)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface, strlen(interface)))
		err(1, "binding to %s", interface);
	while (count-- > 0)
		if (sendto(fd, "verna", 5, 0, (const struct sockaddr *)&group->address,
			   group->size) != 5)
			err(1, "sending");
}

int main(int argc, char **argv)
{
	int receive = strstr(argv[0], "mreceive") != NULL, count = 1, option, fd;
	struct group group = { .size = 0 };
	const char *interface = "";

	while ((option = getopt(argc, argv, "g:I:c:v")) != -1) {
		if (option == 'g')
			parse_group(optarg, &group);
		else if (option == 'I')
			group.index = if_nametoindex(interface = optarg);
		else if (option == 'c')
			count = atoi(optarg);
		else
			return printf("msend version 3.0, of verna's tests\n") < 0;
	}
	if (!group.size || !group.index)
		errx(2, "usage: %s -g GROUP -I INTERFACE [-c COUNT]", argv[0]);
	fd = socket(group.address.ss_family, SOCK_DGRAM, 0);
	if (fd < 0)
		err(1, "socket");
	if (receive)
		join(fd, &group);
	send_to(fd, &group, interface, count);
	return 0;
}
