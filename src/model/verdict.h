// Whose fault the end of a Pod was: hardware, application, platform, or undetermined; as a value,
// with the evidence for it and against it. verdict/judge.h makes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galen {

// kPlatform is everything between the device and the program that neither of the two answers for:
// node, kubelet, container runtime, the device's driver and firmware, power, and people who asked
// the Pod to go.
enum class VerdictKind { kUndetermined, kHardware, kApplication, kPlatform };
inline constexpr VerdictKind kVerdictKinds[] = {VerdictKind::kHardware, VerdictKind::kApplication,
                                                VerdictKind::kPlatform, VerdictKind::kUndetermined};
std::string_view ToString(VerdictKind kind);  // "Hardware"
// Exact, as ToString writes it; kUndetermined for anything else.
VerdictKind ParseVerdictKind(std::string_view text);

// A rule that applied, with its sentence for this case.
struct Evidence {
  std::string rule;  // its name in the table, "device-lost-before"
  VerdictKind supports = VerdictKind::kUndetermined;
  double weight = 0;     // of the rule, 0 to 1
  std::string sentence;  // "device gpu-3 lost 2.7 s before the crash"
  bool operator==(const Evidence&) const = default;
};

// Confidence is how sure the verdict is, 0 to 1; 0 when undetermined. Evidence for the verdict's
// kind is `supporting`, evidence for other kinds `opposing`, both strongest first. All that an
// undetermined verdict has is opposing.
struct Verdict {
  VerdictKind kind = VerdictKind::kUndetermined;
  double confidence = 0;
  std::vector<Evidence> supporting;
  std::vector<Evidence> opposing;
  bool operator==(const Verdict&) const = default;
};

// "hardware (0.98): gpu-3 lost 2.7 s before the crash; 7 ranks on healthy devices did not crash
// first", "undetermined: nothing shows why it ended". At most three reasons; of an undetermined
// verdict they come with what they support. Texts from outside are cut but not made printable.
std::string Summary(const Verdict& verdict);

}  // namespace galen
