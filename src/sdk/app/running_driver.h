// What runs inside a galen::Driver: a whole driver, or a health source beside another's driver.
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
  // Listens. AlreadyExists: the same runs here already. Other errors are those of directories and
  // sockets; after one this is of no use.
  virtual Status Start() = 0;
  // As Driver's; nothing without a health handler.
  virtual void HealthChanged() = 0;
  // A clean end, then `done`, from the loop, which may destroy this. A second call replaces `done`.
  virtual void Stop(std::function<void()> done) = 0;
  // "" when it does what it is for.
  virtual std::string WhyNotReady() const = 0;
  // The path of the socket that health is read from.
  virtual std::string socket() const = 0;
  // What that socket serves; to be added to before Start.
  virtual rpc::Dispatcher& methods() = 0;
};

}  // namespace galen::sdk
