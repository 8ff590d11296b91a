// For tests: a page on the fake network, and its answers as "status body".
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_link.h"
#include "net/recording_sink.h"

namespace galen::web {

class AskedPage {
 public:
  explicit AskedPage(net::HttpHandler& page) {
    network_.Listen(kTarget, page);
    net::DialOptions options;
    options.target = kTarget;
    dialling_ = dialer_->Dial(options, [this](StatusOr<std::unique_ptr<net::Connection>> made) {
      connection_ = std::move(made).value();
    });
    loop_.RunUntilIdle();
  }

  std::string Ask(net::HttpRequest request) {
    net::RecordingSink sink;
    const auto call = connection_->Send(std::move(request), sink);
    loop_.RunUntilIdle();
    return fmt::format("{} {}", sink.status(), sink.body());
  }
  std::string Get(const std::string& path) { return Ask({.method = "GET", .path = path}); }

 private:
  static constexpr char kTarget[] = "tcp:127.0.0.1:9470";

  FakeLoop loop_;
  Random random_{1};
  net::FakeNetwork network_{loop_, random_};
  net::LinkWeather weather_;
  std::unique_ptr<net::Dialer> dialer_ = network_.MakeDialer(weather_);
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
};

}  // namespace galen::web
