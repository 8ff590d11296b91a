// What the transport's tests share: a transport on connections without sockets, and a call that
// writes down what comes of it. Test code.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "base/path.h"
#include "kube/fake_dialer.h"
#include "kube/fake_exec_runner.h"
#include "kube/fake_transport.h"
#include "kube/transport.h"

namespace galen::kube {

// One request and what came of it.
struct Asked final : net::HttpResponseSink {
  void OnHead(int status, const net::Headers& headers) override {
    text += std::to_string(status) + " ";
    head = headers;
  }
  void OnData(std::string_view bytes) override { text += bytes; }
  void OnEnd(const Status& status, const net::Headers&) override {
    end = status;
    text += status.ok() ? "." : "!";
    call.reset();
  }

  std::string text;
  net::Headers head;
  Status end;
  std::unique_ptr<net::HttpCall> call;
};

// A transport that dials nowhere; config_ may be changed before Create.
class TransportTest : public testing::Test {
 protected:
  TransportTest() { config_.server = "https://10.0.0.1:6443/k8s"; }

  void Create() {
    auto created = Transport::Create(loop_, NullLog(), dialer_, files_, exec_, config_);
    ASSERT_TRUE(created.ok()) << ToString(created.status());
    transport_ = std::move(created).value();
  }
  std::unique_ptr<Asked> Ask(std::string path = "/api") {
    auto asked = std::make_unique<Asked>();
    net::HttpRequest request;
    request.path = std::move(path);
    asked->call = transport_->Send(std::move(request), *asked);
    return asked;
  }
  std::string SentHeader(std::size_t request, std::string_view name) const {
    const auto value = net::FindHeader(answers_.requests().at(request).headers, name);
    return value ? std::string(*value) : "none";
  }
  void Put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files_.MakeDirectories(ParentOf(path), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0600).ok());
  }
  std::string Token(std::string_view token) const {
    return fmt::format(
        R"({{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
        R"("status":{{"token":"{}"}}}})",
        token);
  }
  void UsePlugin() {
    config_.credentials.exec =
        ExecPlugin{.api_version = "client.authentication.k8s.io/v1", .command = {"login"}};
  }

  FakeLoop loop_;
  FakeTransport answers_{loop_};
  FakeDialer dialer_{loop_, answers_};
  FakeFileSystem files_;
  FakeExecRunner exec_;
  ClusterConfig config_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace galen::kube
