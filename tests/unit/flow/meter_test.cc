// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace verna::test {
namespace {

constexpr Nanos kSecond = 1'000'000'000;
constexpr Nanos kMinute = 60 * kSecond;
constexpr Nanos kYear = 365 * 24 * 60 * kMinute;

MeterConfig packets(uint64_t amount, Nanos per, uint64_t burst = 1) {
  MeterConfig config;
  config.unit = MeterConfig::Unit::kPackets;
  config.committed = {amount, per};
  config.committed_burst = burst;
  return config;
}

MeterConfig bytes(uint64_t per_second, uint64_t burst) {
  MeterConfig config = packets(per_second, kSecond, burst);
  config.unit = MeterConfig::Unit::kBytes;
  return config;
}

MeterConfig two_rates(MeterConfig::Second second, uint64_t committed, uint64_t other) {
  MeterConfig config = bytes(committed, 10'000);
  config.second = second;
  config.second_rate = {other, kSecond};
  config.second_burst = 20'000;
  return config;
}

TEST(Meter, OnePacketAMinuteForAYear) {
  Meter meter(packets(1, kMinute), 0);
  uint64_t passed = 0;
  Nanos now = 0;
  for (; now < kYear; now += kMinute / 4)
    passed += meter.colour(100, Colour::kGreen, now) == Colour::kGreen;
  EXPECT_EQ(passed, kYear / kMinute);
  EXPECT_EQ(meter.count(Colour::kGreen).packets, passed);
  EXPECT_EQ(meter.count(Colour::kRed).packets, 3 * passed);
}

/// The moment itself, not just the sum: a nanosecond too early is too early, after any time.
TEST(Meter, OnePacketAMinuteToTheNanosecond) {
  for (const Nanos start : {Nanos{0}, kYear, 500 * kYear}) {
    Meter meter(packets(1, kMinute), start);
    for (Nanos now = start; now < start + 1000 * kMinute; now += kMinute) {
      ASSERT_EQ(meter.colour(100, Colour::kGreen, now), Colour::kGreen);
      ASSERT_EQ(meter.colour(100, Colour::kGreen, now + kMinute - 1), Colour::kRed);
    }
  }
}

/// 7 packets in 3 minutes: a period that is no whole number of anything.
TEST(Meter, OddRatesDoNotDrift) {
  Meter meter(packets(7, 3 * kMinute), 0);
  uint64_t passed = 0;
  const Nanos end = 7 * 24 * 60 * kMinute;
  for (Nanos now = 0; now < end; now += kSecond)
    passed += meter.colour(100, Colour::kGreen, now) == Colour::kGreen;
  // Offered once a second, a packet is at most a second late, and the bucket holds one: of each
  // 180 s, 7 pass at 25.7 s each but wait for the next full second, 26 s.
  EXPECT_EQ(passed, (end / kSecond + 25) / 26);
  Meter deep(packets(7, 3 * kMinute, 2), 0);
  passed = 0;
  for (Nanos now = 0; now < end; now += kSecond)
    passed += deep.colour(100, Colour::kGreen, now) == Colour::kGreen;
  EXPECT_EQ(passed, 2 + (end - kSecond) / kSecond * 7 / 180) << "room for one: nothing is lost";
}

TEST(Meter, HundredPacketsAMinute) {
  Meter meter(packets(100, kMinute, 100), 0);
  uint64_t passed = 0;
  for (Nanos now = 0; now < 60 * kMinute; now += kSecond / 100)
    passed += meter.colour(64, Colour::kGreen, now) == Colour::kGreen;
  EXPECT_EQ(passed, 100u + 100 * 60 - 1) << "the burst, and the last minute's last is not due yet";
}

/// Any rate, packets of any size, offered at about twice the rate: what passes is the rate and the
/// burst, but for the last packet, and so within 2 % over 10 s.
TEST(Meter, BytesAreExactAtEveryRate) {
  std::mt19937_64 random(1);
  for (const uint64_t rate : {1'000ull, 123'457ull, 12'500'000ull, 1'250'000'000ull,
                              12'500'000'001ull, 50'000'000'000ull}) {
    const uint64_t burst = std::max<uint64_t>(3000, rate / 100'000);
    Meter meter(bytes(rate, burst), 77);
    const Nanos span = 10 * kSecond;
    const uint64_t wanted = rate / kSecond * span + rate % kSecond * span / kSecond;
    const Nanos step = std::max<Nanos>(1, span / (2 * wanted / 750 + 1));
    uint64_t passed = 0;
    // Not every rate can be offered in 10 s of test: the fast ones are tried for less.
    const Nanos end = std::min<Nanos>(span, step * 300'000);
    Nanos now = 77;
    for (; now < 77 + end; now += 1 + random() % (2 * step)) {
      const auto size = static_cast<uint32_t>(60 + random() % 1440);
      if (meter.colour(size, Colour::kGreen, now) == Colour::kGreen) passed += size;
    }
    const auto promised =
        static_cast<uint64_t>(static_cast<__int128>(rate) * (now - 77) / kSecond) + burst;
    EXPECT_LE(passed, promised) << rate;
    EXPECT_GE(passed + 1500, promised - promised / 1000) << rate;
  }
}

TEST(Meter, BurstAfterAPauseIsTheBurst) {
  Meter meter(bytes(1'000'000, 5000), 0);
  const auto burst = [&](Nanos now) {
    int passed = 0;
    for (int i = 0; i < 20; i++)
      passed += meter.colour(1000, Colour::kGreen, now) == Colour::kGreen;
    return passed;
  };
  EXPECT_EQ(burst(0), 5);
  EXPECT_EQ(burst(0), 0);
  EXPECT_EQ(burst(1'999'999), 1);
  EXPECT_EQ(burst(2'000'000), 1) << "the fraction was kept";
  EXPECT_EQ(burst(kNever / 2), 5) << "time that would overflow fills, and no more";
  EXPECT_EQ(burst(kNever - 1), 5);
}

TEST(Meter, PacketsLongerThanTheBurstNeverPass) {
  Meter meter(bytes(1'000'000, 1000), 0);
  EXPECT_EQ(meter.colour(1001, Colour::kGreen, kYear), Colour::kRed);
  EXPECT_EQ(meter.colour(1000, Colour::kGreen, kYear), Colour::kGreen);
}

TEST(Meter, OverheadAndLengthLimit) {
  MeterConfig config = bytes(1'000'000, 1000);
  config.overhead = 24;
  config.max_bytes = 900;
  Meter meter(config, 0);
  EXPECT_EQ(meter.colour(901, Colour::kGreen, 0), Colour::kRed);
  EXPECT_EQ(meter.colour(476, Colour::kGreen, 0), Colour::kGreen);
  EXPECT_EQ(meter.colour(477, Colour::kGreen, 0), Colour::kRed);
  EXPECT_EQ(meter.colour(476, Colour::kGreen, 0), Colour::kGreen);
  EXPECT_EQ(meter.count(Colour::kGreen).bytes, 952u) << "counted without overhead";
}

TEST(Meter, ChangesKeepWhatIsInTheBuckets) {
  Meter meter(packets(10, kSecond, 10), 0);
  for (int i = 0; i < 6; i++) meter.colour(1, Colour::kGreen, 0);
  meter.configure(packets(1, kMinute, 100), 0);
  int passed = 0;
  for (int i = 0; i < 20; i++) passed += meter.colour(1, Colour::kGreen, 0) == Colour::kGreen;
  EXPECT_EQ(passed, 4);
  meter.configure(packets(1, kMinute, 2), kYear);
  EXPECT_EQ(meter.colour(1, Colour::kGreen, kYear), Colour::kGreen);
  EXPECT_EQ(meter.colour(1, Colour::kGreen, kYear), Colour::kGreen);
  EXPECT_EQ(meter.colour(1, Colour::kGreen, kYear), Colour::kRed);
  meter.configure(bytes(1000, 500), kYear);
  EXPECT_EQ(meter.colour(500, Colour::kGreen, kYear), Colour::kGreen) << "bytes are no packets";
}

TEST(Meter, ExcessAndPeakByHand) {
  Meter excess(two_rates(MeterConfig::Second::kExcess, 1000, 1000), 0);
  Meter peak(two_rates(MeterConfig::Second::kPeak, 1000, 2000), 0);
  const auto run = [](Meter* meter) {
    std::string out;
    for (int i = 0; i < 32; i++)
      out += "gyr"[static_cast<int>(meter->colour(1000, Colour::kGreen, 0))];
    return out;
  };
  EXPECT_EQ(run(&excess), "ggggggggggyyyyyyyyyyyyyyyyyyyyrr") << "10 committed and 20 more";
  EXPECT_EQ(run(&peak), "ggggggggggyyyyyyyyyyrrrrrrrrrrrr") << "20 in all";
}

TEST(Meter, YellowIsDroppedIfTheMeterSaysSo) {
  MeterConfig config = two_rates(MeterConfig::Second::kPeak, 1000, 2000);
  EXPECT_FALSE(Meter(config, 0).drops(Colour::kYellow));
  EXPECT_TRUE(Meter(config, 0).drops(Colour::kRed));
  config.drop_yellow = true;
  EXPECT_TRUE(Meter(config, 0).drops(Colour::kYellow));
  EXPECT_FALSE(Meter(config, 0).drops(Colour::kGreen));
}

TEST(Meter, ColoursAreBelievedOnlyIfAsked) {
  for (const auto second : {MeterConfig::Second::kPeak, MeterConfig::Second::kExcess}) {
    MeterConfig config = two_rates(second, 1000, 2000);
    EXPECT_EQ(Meter(config, 0).colour(10, Colour::kRed, 0), Colour::kGreen);
    config.colour_aware = true;
    EXPECT_EQ(Meter(config, 0).colour(10, Colour::kRed, 0), Colour::kRed);
    EXPECT_EQ(Meter(config, 0).colour(10, Colour::kYellow, 0), Colour::kYellow);
    EXPECT_EQ(Meter(config, 0).colour(10, Colour::kGreen, 0), Colour::kGreen);
  }
}

TEST(Meter, WhatCannotBeIsRefused) {
  const auto refused = [](const MeterConfig& config) { return Meter::check(config) != nullptr; };
  EXPECT_FALSE(refused(packets(1, kMinute)));
  EXPECT_FALSE(refused(packets(1, 24 * 60 * kMinute, 40'000)));
  EXPECT_FALSE(refused(MeterConfig())) << "lets nothing through";
  EXPECT_TRUE(refused(packets(1, 0)));
  EXPECT_TRUE(refused(packets(0, kSecond)));
  EXPECT_TRUE(refused(packets(1, kSecond, 0)));
  EXPECT_TRUE(refused(packets(1, kYear, 1u << 30))) << "would not fit into 64 bits";
  EXPECT_TRUE(refused(packets(~0ull, 1, 1)));
  EXPECT_FALSE(refused(packets(1000, kYear, 1u << 6)));
  EXPECT_TRUE(refused(two_rates(MeterConfig::Second::kPeak, 1001, 1000)));
  EXPECT_FALSE(refused(two_rates(MeterConfig::Second::kExcess, 1001, 1000)));
  MeterConfig config = two_rates(MeterConfig::Second::kExcess, 1, 0);
  EXPECT_TRUE(refused(config));
  config.second_burst = 0;
  EXPECT_FALSE(refused(config));
  EXPECT_EQ(Meter(MeterConfig(), 0).colour(1, Colour::kGreen, kYear), Colour::kRed);
}

// --- against the RFCs' words, in fractions of 128 bits ---------------------------------------

__extension__ using Wide = __int128;

/// A bucket as the RFCs have it, counted in units / 10^9; rates are per second.
struct NaiveBucket {
  Wide rate, size, tokens;
  Nanos at = 0;
  NaiveBucket(uint64_t r, uint64_t burst)
      : rate(r), size(Wide{static_cast<int64_t>(burst)} * kSecond), tokens(size) {}
  void refill(Nanos now) {
    tokens = std::min(size, tokens + rate * static_cast<Wide>(now - at));
    at = now;
  }
  bool has(Wide units) const { return tokens >= units * kSecond; }
  void take(Wide units) { tokens -= units * kSecond; }
};

Colour naive_2698(NaiveBucket* c, NaiveBucket* p, Wide b, Colour in) {
  if (in == Colour::kRed || !p->has(b)) return Colour::kRed;
  if (in == Colour::kYellow || !c->has(b)) {
    p->take(b);
    return Colour::kYellow;
  }
  p->take(b);
  c->take(b);
  return Colour::kGreen;
}

Colour naive_4115(NaiveBucket* c, NaiveBucket* e, Wide b, Colour in) {
  if (in == Colour::kGreen && c->has(b)) {
    c->take(b);
    return Colour::kGreen;
  }
  if (in != Colour::kRed && e->has(b)) {
    e->take(b);
    return Colour::kYellow;
  }
  return Colour::kRed;
}

TEST(Meter, RandomTrafficAgreesWithTheRfcs) {
  std::mt19937_64 random(7);
  size_t seen[3] = {};
  for (int round = 0; round < 200; round++) {
    MeterConfig config;
    config.second = round % 2 ? MeterConfig::Second::kPeak : MeterConfig::Second::kExcess;
    config.unit = round % 3 ? MeterConfig::Unit::kBytes : MeterConfig::Unit::kPackets;
    config.colour_aware = round % 5 < 2;
    config.committed = {1 + random() % 1'000'000, kSecond};
    config.second_rate = {config.committed.amount + random() % 1'000'000, kSecond};
    config.committed_burst = 1 + random() % 5000;
    config.second_burst = 1 + random() % 5000;
    ASSERT_EQ(Meter::check(config), nullptr);
    Meter meter(config, 0);
    NaiveBucket c(config.committed.amount, config.committed_burst);
    NaiveBucket s(config.second_rate.amount, config.second_burst);
    Nanos now = 0;
    for (int i = 0; i < 500; i++) {
      now += random() % 3'000'000;
      c.refill(now);
      s.refill(now);
      const auto size = static_cast<uint32_t>(1 + random() % 1600);
      const Colour in = config.colour_aware ? static_cast<Colour>(random() % 3) : Colour::kGreen;
      const Wide units = config.unit == MeterConfig::Unit::kBytes ? size : 1;
      const Colour wanted = config.second == MeterConfig::Second::kPeak
                                ? naive_2698(&c, &s, units, in)
                                : naive_4115(&c, &s, units, in);
      ASSERT_EQ(meter.colour(size, in, now), wanted) << "round " << round << ", packet " << i;
      seen[static_cast<size_t>(wanted)]++;
    }
  }
  for (const size_t count : seen) EXPECT_GT(count, 5000u);
}

}  // namespace
}  // namespace verna::test
