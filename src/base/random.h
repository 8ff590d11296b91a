// Chance, handed in so that a run can be repeated from its seed. Belongs to one thread. For delays,
// names and simulated weather; not for secrets: the engine is a Mersenne Twister.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace galen {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // A seed that cannot be guessed, from the kernel. Waits while the kernel has none yet, early at
  // boot.
  static std::uint64_t Seed();

  std::uint64_t Next() { return engine_(); }
  // From 0 to below `bound`; the bias of the remainder is far too small to matter for our bounds.
  // REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }
  // From 0 to below 1, in steps of 2^-53, the resolution of a double there.
  double Fraction() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  // True with `probability`: 0 and less is never, 1 and more is always.
  bool Chance(double probability) { return Fraction() < probability; }
  // Lower-case letters and digits that spell no words, as Kubernetes uses for generateName (five of
  // them; k8s.io/apimachinery/pkg/util/rand has the same letters).
  std::string NameSuffix(int length);
  // A version 4 UUID (RFC 9562, section 5.4), in lower case.
  std::string Uuid();

 private:
  std::mt19937_64 engine_;
};

}  // namespace galen
