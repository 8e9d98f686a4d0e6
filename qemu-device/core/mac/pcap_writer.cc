// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/pcap_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace verna {

namespace {

// The format as described in draft-ietf-opsawg-pcap.
struct FileHeader {
  uint32_t magic = 0xa1b23c4d;  // time stamps are in nanoseconds
  uint16_t major = 2;
  uint16_t minor = 4;
  uint32_t reserved[2] = {0, 0};
  uint32_t snap_length = 65535;
  uint32_t link_type = 1;  // LINKTYPE_ETHERNET
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  uint32_t seconds;
  uint32_t nanoseconds;
  uint32_t captured;
  uint32_t original;
};
static_assert(sizeof(RecordHeader) == 16);

template <typename T>
void append(std::vector<uint8_t>& buffer, const T* data, size_t count) {
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(data);
  buffer.insert(buffer.end(), bytes, bytes + count * sizeof(T));
}

}  // namespace

std::unique_ptr<PcapWriter> PcapWriter::open(const char* path) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return nullptr;
  auto writer = std::unique_ptr<PcapWriter>(new PcapWriter(fd));
  writer->flush();
  return writer->fd_ < 0 ? nullptr : std::move(writer);
}

PcapWriter::PcapWriter(int fd) : fd_(fd) {
  buffer_.reserve(kBufferBytes);
  const FileHeader header;
  append(buffer_, &header, 1);
}

PcapWriter::~PcapWriter() {
  flush();
  if (fd_ >= 0) close(fd_);
}

void PcapWriter::write(Nanos now, const uint8_t* frame, uint32_t len) {
  if (fd_ < 0) return;
  if (buffer_.size() + sizeof(RecordHeader) + len > kBufferBytes) flush();
  const RecordHeader header{static_cast<uint32_t>(now / 1'000'000'000),
                            static_cast<uint32_t>(now % 1'000'000'000), len, len};
  append(buffer_, &header, 1);
  append(buffer_, frame, len);
}

void PcapWriter::flush() {
  size_t done = 0;
  while (fd_ >= 0 && done < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      const int error = errno;
      close(fd_);
      fd_ = -1;
      errno = error;
    }
  }
  buffer_.clear();
}

}  // namespace verna
