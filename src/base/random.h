// Chance, handed in so that a run can be repeated from its seed. Belongs to one thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace galen {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // A seed nobody can guess, from the kernel.
  static std::uint64_t Seed();

  std::uint64_t Next() { return engine_(); }
  // From 0 to below `bound`. REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }
  // From 0 to below 1.
  double Fraction() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  bool Chance(double probability) { return Fraction() < probability; }
  // Lower-case letters and digits that spell no words, as Kubernetes uses for generateName.
  std::string NameSuffix(int length);
  // A version 4 UUID.
  std::string Uuid();

 private:
  std::mt19937_64 engine_;
};

}  // namespace galen
