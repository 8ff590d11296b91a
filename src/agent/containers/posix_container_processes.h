// Containers as processes of this machine: each the leader of a session of its own, so that a
// signal reaches all of it, in a control group of its own where the machine allows one, and started
// by a keeper (process_keeper.h) that kills all its descendants when the agent dies. It has its own
// environment and none of the agent's descriptors, and cannot gain rights by starting a program
// (no_new_privs). base/process.h is for programs of ours, which share our environment and session.
// Belongs to its loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/containers/container_processes.h"
#include "agent/containers/process_keeper.h"
#include "base/files/control_groups.h"
#include "base/log.h"
#include "base/loop/io_loop.h"

namespace galen::agent {

class PosixContainerProcesses final : public ContainerProcesses {
 public:
  // The directory of every container lies below `directory`; left-over processes are recognised by
  // it in their environment. Tests give other `places`. A keeper that ends is logged, and its
  // containers end by SIGKILL.
  PosixContainerProcesses(IoLoop& loop, Log& log, std::unique_ptr<ProcessKeeper> keeper,
                          std::string directory, ControlGroups::Places places = {});

  // Kills every container's processes; only one that hangs in the kernel may outlive it.
  ~PosixContainerProcesses() override;

  StatusOr<std::unique_ptr<ContainerProcess>> Start(const ContainerCommand& command,
                                                    OnOutput on_output, OnEnd on_end) override;
  int KillLeftovers() override;
  StatusOr<std::string> ReadStart(const std::string& path, std::size_t bytes_max) override;
  void RemoveTree(const std::string& directory) override;
  std::string limitation() const override { return groups_.limitation(); }

 private:
  class Running;

  void OnEnded(std::uint64_t id, int status);
  void OnKeeperLost(const std::string& how);

  IoLoop& loop_;
  Log& log_;
  std::unique_ptr<ProcessKeeper> keeper_;
  std::map<std::uint64_t, Running*> running_;  // by the keeper's number
  const std::string directory_;
  const ControlGroups groups_;
  std::vector<std::string> empty_groups_;  // to be removed once the kernel lets go of them
};

}  // namespace galen::agent
