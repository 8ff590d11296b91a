// A whole DRA driver with health: the FPGAs that Linux shows below /sys/class/fpga_manager.
#include <galen/driver.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace {

const fs::path kClass = "/sys/class/fpga_manager";

std::string ReadLine(const fs::path& path) {  // "" for a file that cannot be read
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

galen::Inventory FindCards() {
  galen::Inventory cards;
  std::error_code error;  // no such directory: no cards
  for (const auto& card : fs::directory_iterator(kClass, error)) {
    cards.push_back({.name = card.path().filename(),
                     // Kubernetes takes at most 64 bytes of text in an attribute.
                     .attributes = {{"model", ReadLine(card.path() / "name").substr(0, 64)}}});
  }
  return cards;
}

void Judge(const std::string& card, const std::string& state, galen::HealthWriter& health) {
  if (state == "operating") return health.Healthy(card);  // of the kernel's fpga_mgr_states
  if (state.empty() || state == "unknown") return health.Unknown(card, {"StateUnknown"});
  health.Unhealthy(card, {.code = "FpgaNotOperating",
                          .message = "FPGA is not operating: " + state,
                          .owner = galen::HealthCause::Owner::kHardware});
}

}  // namespace

int main(int argc, char** argv) {
  galen::Driver::Options options{.name = "fpga.example.com", .node = galen::NodeNameFromEnv()};
  if (const auto code = galen::ParseCommandLine(argc, argv, options)) return *code;

  const galen::Inventory cards = FindCards();
  galen::Driver driver(options);
  driver.Publish(cards);  // what is wrong with them is on standard error; Run then returns 64
  driver.OnPrepare([](const galen::DeviceClaim& claim) {
    std::map<std::string, galen::CdiEdits> edits;  // each container gets the cards of its requests
    for (const auto& held : claim.devices) {
      edits[held.device].device_nodes = {{.path = "/dev/" + held.device}};
    }
    return edits;
  });
  driver.OnHealth(std::chrono::seconds(5), [&cards](galen::HealthWriter& health) {
    for (const auto& card : cards) Judge(card.name, ReadLine(kClass / card.name / "state"), health);
  });
  return driver.Run();
}
