// A galen-sim of its own for a test, and the ways to ask it. Belongs to its stage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/stage.h"

namespace galen::e2e {

class SimCluster {
 public:
  // Starts it with these flags and waits until it serves; check serves() before going on. The stage
  // outlives it and ends its program.
  SimCluster(Stage& stage, std::vector<std::string> arguments);

  bool serves() const { return serves_; }
  const std::string& kubeconfig() const { return kubeconfig_; }
  Program& program() { return *program_; }
  // The same API once more, at the same place, after its program has ended; `more` are further
  // flags. What it forgot meanwhile is for --data to say. False when it does not come.
  bool StartAgain(const std::vector<std::string>& more = {});

  // Runs `kubectl` (a path) against it as the administrator and waits for its end. Its cache lies
  // in the stage's directory, so that no other run's is used.
  Outcome Kubectl(const std::string& kubectl, std::vector<std::string> arguments);

 private:
  bool Start(std::vector<std::string> arguments);

  Stage& stage_;
  const std::vector<std::string> arguments_;
  std::string kubeconfig_;
  Program* program_ = nullptr;
  bool serves_ = false;
};

// Every kubectl of this machine, in order of its name: those of the Google Cloud SDK, which come in
// many versions, and the one on PATH.
std::vector<std::string> FindKubectls();

}  // namespace galen::e2e
