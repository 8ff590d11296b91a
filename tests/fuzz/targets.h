// Everything that reads bytes which strangers, files or people make, as functions for a fuzzer. A
// target takes any bytes and returns; what it reads must hold its promises, and a promise that does
// not hold ends the process (GALEN_CHECK). No state outlives a call, so that an input says the same
// each time.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace galen::fuzz {

// One function; its name is that of its corpus, tests/fuzz/corpus/NAME, and of its program,
// fuzz_NAME.
struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes);
};

// What comes of no trustworthy source is read by one of these; base/json and base/yaml.
void FuzzJson(std::string_view bytes);
void FuzzYaml(std::string_view bytes);
// Patches of all kinds on an object, and what server-side apply does with one.
void FuzzPatch(std::string_view bytes);
void FuzzApply(std::string_view bytes);
// What an API server sends: watches, lists and gzip, cut anywhere; then the objects in them.
void FuzzWatch(std::string_view bytes);
void FuzzObjects(std::string_view bytes);
// The two ends of HTTP/2, and HTTP/1.1; the same below calls of gRPC, as on unix sockets; what a
// proxy answers; and TLS on a wire in wrong hands.
void FuzzHttp2Client(std::string_view bytes);
void FuzzHttpServer(std::string_view bytes);
void FuzzGrpcServer(std::string_view bytes);
void FuzzGrpcClient(std::string_view bytes);
void FuzzProxyTunnel(std::string_view bytes);
void FuzzTls(std::string_view bytes);
// Another component's metrics.
void FuzzMetricsText(std::string_view bytes);
// gRPC's frames, headers and the messages of every service we call or serve.
void FuzzGrpc(std::string_view bytes);
void FuzzMessages(std::string_view bytes);
// Which those are, in full: "galen.inspect.v1.ExplainRequest".
std::set<std::string> FuzzedMessages();
void FuzzReport(std::string_view bytes);
void FuzzPodResources(std::string_view bytes);
// Files: of the cluster's address, of the agent and its rules, of the journals, of CDI and claims.
void FuzzKubeconfig(std::string_view bytes);
void FuzzRules(std::string_view bytes);
void FuzzAgentConfig(std::string_view bytes);
void FuzzJournal(std::string_view bytes);
void FuzzClaims(std::string_view bytes);
// What people type: selectors, galen's arguments and command lines; and what the kernel logs.
void FuzzSelectors(std::string_view bytes);
void FuzzFlags(std::string_view bytes);
void FuzzKernelLog(std::string_view bytes);
// Selectors of devices, of anybody who may make a claim.
void FuzzCel(std::string_view bytes);
// A page of somebody else's exporter, of which a driver reads the health of devices.
void FuzzExporter(std::string_view bytes);

inline constexpr Target kTargets[] = {
    {"json", FuzzJson},
    {"yaml", FuzzYaml},
    {"patch", FuzzPatch},
    {"apply", FuzzApply},
    {"watch", FuzzWatch},
    {"objects", FuzzObjects},
    {"http2_client", FuzzHttp2Client},
    {"http_server", FuzzHttpServer},
    {"grpc_server", FuzzGrpcServer},
    {"grpc_client", FuzzGrpcClient},
    {"proxy_tunnel", FuzzProxyTunnel},
    {"tls", FuzzTls},
    {"metrics_text", FuzzMetricsText},
    {"grpc", FuzzGrpc},
    {"messages", FuzzMessages},
    {"report", FuzzReport},
    {"pod_resources", FuzzPodResources},
    {"kubeconfig", FuzzKubeconfig},
    {"rules", FuzzRules},
    {"agent_config", FuzzAgentConfig},
    {"journal", FuzzJournal},
    {"claims", FuzzClaims},
    {"selectors", FuzzSelectors},
    {"flags", FuzzFlags},
    {"kernel_log", FuzzKernelLog},
    {"exporter", FuzzExporter},
    {"cel", FuzzCel},
};

}  // namespace galen::fuzz
