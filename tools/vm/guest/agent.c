// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verna-agent: runs the host's commands in a guest.
 *
 * It speaks frames over a virtio-serial port: a header of three little-endian words (length of
 * what follows, id, type), then the payload. Any number of commands run at once; the host picks
 * their ids. Output is streamed as it comes. The agent is process 1, so it also reaps orphans.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/random.h>

#define PORT "/dev/virtio-ports/verna.agent"
#define MAX_FRAME (1u << 20)
#define MAX_COMMANDS 128

enum frame_type {
	/* host to guest */
	FRAME_EXEC = 1, /* shell command line */
	FRAME_EXEC_TTY = 2, /* the same on a terminal of its own */
	FRAME_INPUT = 3, /* bytes for its standard input; none: end of file */
	FRAME_KILL = 4, /* u32 signal, for the command's whole session */
	FRAME_RESIZE = 5, /* u32 rows, u32 columns */
	FRAME_RESUME = 6, /* struct resume; the answer is another FRAME_HELLO */
	/* guest to host */
	FRAME_HELLO = 16, /* the guest is up */
	FRAME_OUT = 17,
	FRAME_ERR = 18,
	FRAME_EXIT = 19, /* i32: exit status, or the negated signal that ended it */
};

struct header {
	uint32_t length;
	uint32_t id;
	uint32_t type;
};

/* What a machine that was saved must learn before it goes on, and others with the same memory. */
struct resume {
	uint64_t seconds; /* of the time of day */
	uint64_t nanoseconds;
	uint8_t entropy[32];
};

/* One running command. `in` has bytes from the host that the command has not read yet. */
struct command {
	bool used;
	bool tty;
	bool in_ended;
	uint32_t id;
	pid_t pid;
	int in_fd, out_fd, err_fd;
	char *in;
	size_t in_len;
};

static struct command commands[MAX_COMMANDS];
static int port;

static void send_frame(uint32_t id, uint32_t type, const void *data, uint32_t length)
{
	struct header header = { length, id, type };
	char buffer[sizeof(header) + 65536];
	size_t size = sizeof(header) + length, done = 0;

	memcpy(buffer, &header, sizeof(header));
	memcpy(buffer + sizeof(header), data, length);
	while (done < size) {
		ssize_t n = write(port, buffer + done, size - done);

		if (n > 0)
			done += n;
		else if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = port, .events = POLLOUT }, 1, 1000);
		else if (errno != EINTR)
			return; /* the host is gone, and so is the guest, soon */
	}
}

static struct command *find(uint32_t id)
{
	for (int i = 0; i < MAX_COMMANDS; i++)
		if (commands[i].used && commands[i].id == id)
			return &commands[i];
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void child_main(const char *line)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (chdir("/root") == 0)
		execl("/bin/bash", "bash", "-c", line, NULL);
	_exit(127);
}

static void fail_start(uint32_t id)
{
	char text[128];
	int32_t status = 126;

	snprintf(text, sizeof(text), "verna-agent: can't start a command: %s\n", strerror(errno));
	send_frame(id, FRAME_ERR, text, strlen(text));
	send_frame(id, FRAME_EXIT, &status, sizeof(status));
}

static bool start_on_pipes(struct command *c, const char *line)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return false;
	c->pid = fork();
	if (c->pid == 0) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		child_main(line);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in_fd = in[1];
	c->out_fd = out[0];
	c->err_fd = err[0];
	return c->pid > 0;
}

static bool start_on_terminal(struct command *c, const char *line)
{
	c->pid = forkpty(&c->out_fd, NULL, NULL, NULL);
	if (c->pid == 0)
		child_main(line);
	if (c->pid < 0)
		return false;
	fcntl(c->out_fd, F_SETFD, FD_CLOEXEC);
	c->in_fd = dup(c->out_fd);
	fcntl(c->in_fd, F_SETFD, FD_CLOEXEC);
	c->err_fd = -1;
	return true;
}

static void set_nonblocking(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void start(uint32_t id, const char *line, bool tty)
{
	struct command *c = NULL;

	for (int i = 0; i < MAX_COMMANDS && !c; i++)
		if (!commands[i].used)
			c = &commands[i];
	if (!c) {
		errno = EAGAIN;
		fail_start(id);
		return;
	}
	*c = (struct command){ .used = true, .id = id, .tty = tty };
	if (tty ? !start_on_terminal(c, line) : !start_on_pipes(c, line)) {
		c->used = false;
		fail_start(id);
		return;
	}
	set_nonblocking(c->in_fd);
	set_nonblocking(c->out_fd);
	set_nonblocking(c->err_fd);
}

static void add_input(struct command *c, const char *data, uint32_t length)
{
	char *grown;

	if (length == 0) {
		c->in_ended = true;
		return;
	}
	grown = realloc(c->in, c->in_len + length);
	if (!grown)
		return;
	memcpy(grown + c->in_len, data, length);
	c->in = grown;
	c->in_len += length;
}

/* Hands waiting input on; a command that closed its input loses what it did not want. */
static void push_input(struct command *c)
{
	while (c->in_len && c->in_fd >= 0) {
		ssize_t n = write(c->in_fd, c->in, c->in_len);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			c->in_len = 0;
			close_fd(&c->in_fd);
			return;
		}
		c->in_len -= n;
		memmove(c->in, c->in + n, c->in_len);
	}
	if (c->in_ended)
		close_fd(&c->in_fd);
}

/* Forwards what a command printed, at most `budget` reads. */
static void pull_output(struct command *c, int *fd, uint32_t type, int budget)
{
	char data[32768];

	while (*fd >= 0 && budget-- > 0) {
		ssize_t n = read(*fd, data, sizeof(data));

		if (n > 0)
			send_frame(c->id, type, data, n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			close_fd(fd);
		else
			return;
	}
}

/* Sets the clock, and makes the kernel's random numbers others than those of its twins. */
static void resume(const char *data, uint32_t length)
{
	union {
		struct rand_pool_info head;
		char room[sizeof(struct rand_pool_info) + sizeof(((struct resume *)0)->entropy)];
	} pool;
	struct resume r;
	int random;

	if (length != sizeof(r))
		return;
	memcpy(&r, data, sizeof(r));
	clock_settime(CLOCK_REALTIME, &(struct timespec){ .tv_sec = (time_t)r.seconds,
							   .tv_nsec = (long)r.nanoseconds });
	pool.head.entropy_count = 8 * sizeof(r.entropy);
	pool.head.buf_size = sizeof(r.entropy);
	memcpy(pool.head.buf, r.entropy, sizeof(r.entropy));
	random = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	if (random < 0 || ioctl(random, RNDADDENTROPY, &pool) || ioctl(random, RNDRESEEDCRNG))
		perror("verna-agent: /dev/urandom");
	close(random);
	send_frame(0, FRAME_HELLO, "", 0);
}

static void handle(const struct header *h, char *data)
{
	struct command *c = find(h->id);
	uint32_t word[2] = { 0, 0 };

	data[h->length] = 0;
	memcpy(word, data, h->length < sizeof(word) ? h->length : sizeof(word));
	if (h->type == FRAME_EXEC || h->type == FRAME_EXEC_TTY)
		start(h->id, data, h->type == FRAME_EXEC_TTY);
	else if (h->type == FRAME_RESUME)
		resume(data, h->length);
	else if (!c)
		return; /* it ended while the frame was on its way */
	else if (h->type == FRAME_INPUT)
		add_input(c, data, h->length);
	else if (h->type == FRAME_KILL)
		kill(-c->pid, (int)word[0]);
	else if (h->type == FRAME_RESIZE)
		ioctl(c->out_fd, TIOCSWINSZ,
		      &(struct winsize){ .ws_row = word[0], .ws_col = word[1] });
}

/* Reads what the host sent and handles every whole frame in it. */
static void read_port(void)
{
	static char buffer[sizeof(struct header) + MAX_FRAME + 1];
	static size_t fill;
	struct header header;
	ssize_t n = read(port, buffer + fill, sizeof(buffer) - 1 - fill);

	if (n <= 0)
		return;
	fill += n;
	while (fill >= sizeof(header)) {
		size_t size;
		char saved;

		memcpy(&header, buffer, sizeof(header));
		if (header.length > MAX_FRAME) {
			fprintf(stderr, "verna-agent: frame of %u bytes\n", header.length);
			exit(1);
		}
		size = sizeof(header) + header.length;
		if (fill < size)
			return;
		saved = buffer[size]; /* handle() ends the text here */
		handle(&header, buffer + sizeof(header));
		buffer[size] = saved;
		fill -= size;
		memmove(buffer, buffer + size, fill);
	}
}

/*
 * A command is over when its process is: a daemon that it left behind may keep the pipes open.
 * What it printed before is in the pipes already.
 */
static void finish(struct command *c, int wait_status)
{
	int32_t status = WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) :
						    WEXITSTATUS(wait_status);

	pull_output(c, &c->out_fd, FRAME_OUT, 1000);
	pull_output(c, &c->err_fd, FRAME_ERR, 1000);
	send_frame(c->id, FRAME_EXIT, &status, sizeof(status));
	close_fd(&c->in_fd);
	close_fd(&c->out_fd);
	close_fd(&c->err_fd);
	free(c->in);
	c->used = false;
}

static void reap(int signals)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(signals, &info, sizeof(info)) < 0)
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < MAX_COMMANDS; i++)
			if (commands[i].used && commands[i].pid == pid)
				finish(&commands[i], status);
}

static void serve_commands(void)
{
	for (int i = 0; i < MAX_COMMANDS; i++) {
		struct command *c = &commands[i];

		if (!c->used)
			continue;
		push_input(c);
		pull_output(c, &c->out_fd, FRAME_OUT, 4);
		pull_output(c, &c->err_fd, FRAME_ERR, 4);
	}
}

static int collect(struct pollfd *fds, int signals)
{
	int n = 0;

	fds[n++] = (struct pollfd){ .fd = port, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = signals, .events = POLLIN };
	for (int i = 0; i < MAX_COMMANDS; i++) {
		struct command *c = &commands[i];

		if (!c->used)
			continue;
		if (c->out_fd >= 0)
			fds[n++] = (struct pollfd){ .fd = c->out_fd, .events = POLLIN };
		if (c->err_fd >= 0)
			fds[n++] = (struct pollfd){ .fd = c->err_fd, .events = POLLIN };
		if (c->in_fd >= 0 && c->in_len)
			fds[n++] = (struct pollfd){ .fd = c->in_fd, .events = POLLOUT };
	}
	return n;
}

int main(void)
{
	static struct pollfd fds[2 + 3 * MAX_COMMANDS];
	sigset_t mask;
	int signals;

	for (int tries = 0; (port = open(PORT, O_RDWR | O_CLOEXEC)) < 0; tries++) {
		if (tries == 100) {
			perror("verna-agent: " PORT);
			return 1;
		}
		usleep(50000);
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	send_frame(0, FRAME_HELLO, "", 0);
	for (;;) {
		int n = collect(fds, signals);

		if (poll(fds, n, -1) < 0)
			continue;
		if (fds[0].revents)
			read_port();
		serve_commands();
		if (fds[1].revents)
			reap(signals);
	}
}
