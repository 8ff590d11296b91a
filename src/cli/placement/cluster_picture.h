// Reads from the API server what decides which devices a Pod can have.
#pragma once

#include "alloc/explanation/picture.h"
#include "alloc/selection/options.h"
#include "cli/fleet/session.h"

namespace galen::cli {

// A picture, and of whose allocator it is.
struct ClusterPicture {
  alloc::Picture picture;
  alloc::Options options;  // as the server's release has it with stock gates
};

// Also what claims with devices asked for and where their Pods may go, with `for_moves`: for those
// who ask where they could go. What may not be read is among the picture's gaps (claims, rules) or
// left out (health); what cannot be understood, too. An error: nodes, slices or classes cannot be
// read, or no server answers.
StatusOr<ClusterPicture> ReadClusterPicture(Session& session, bool for_moves);

// The parts of it, of objects as the API has them; pure.
void AddNodes(const std::vector<Json>& objects, alloc::Picture& picture);
void AddSlices(const std::vector<Json>& objects, alloc::Picture& picture);
void AddClasses(const std::vector<Json>& objects, alloc::Picture& picture);
void AddClaims(const std::vector<Json>& objects, alloc::Picture& picture);
// Where the Pods of held claims may go; after AddClaims.
void AddReach(const std::vector<Json>& pods, alloc::Picture& picture);
void AddTaintRules(const std::vector<Json>& objects, alloc::Picture& picture);
// Notes on devices that are not Healthy: "XidGpuLost for 6m".
void AddHealth(const std::vector<Json>& objects, WallTime now, alloc::Picture& picture);
// Of "/version"; releases beyond those that `alloc` knows count as the nearest.
alloc::Options OptionsOf(const Json& version);

}  // namespace galen::cli
