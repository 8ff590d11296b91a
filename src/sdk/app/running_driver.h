// What runs inside a galen::Driver: a whole driver, or a health source beside another driver.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "galen/driver.h"
#include "rpc/service.h"

namespace galen::sdk {

// Start once, Stop once; destroying it without Stop closes everything at once, as a crash would.
// Every call comes from the loop's thread.
class RunningDriver {
 public:
  virtual ~RunningDriver() = default;
  // Replaces the inventory; before Start or after. InvalidArgument names every fault and changes
  // nothing.
  virtual Status Publish(const Inventory& inventory) = 0;
  // Listens. AlreadyExists: this driver or source already runs here. Other errors are those of
  // directories and sockets; after an error this cannot be used.
  virtual Status Start() = 0;
  // As Driver's; nothing without a health handler.
  virtual void HealthChanged() = 0;
  // A clean end, then `done`, from the loop, which may destroy this. A second call replaces `done`.
  virtual void Stop(std::function<void()> done) = 0;
  // "" when it is ready, else the reason.
  virtual std::string WhyNotReady() const = 0;
  // The path of the socket that health is read from.
  virtual std::string socket() const = 0;
  // The methods of that socket; to be added to before Start.
  virtual rpc::Dispatcher& methods() = 0;
};

}  // namespace galen::sdk
