#pragma once
#include <QFutureWatcher>
#include <QObject>
#include <QtConcurrentRun>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>

namespace stepcast::gui {
/// One job at a time off the drawing thread: starting the next stops the former, whose answer is
/// then dropped.
class Background : public QObject {
 public:
  using QObject::QObject;
  ~Background() override { stop_.request_stop(); }

  /// `work(stop)` runs on a worker; `done(answer)` then runs here, unless a later start or stop()
  /// came first. An exception of the work becomes `failed(text)`.
  template <class Work, class Done>
  void start(Work work, Done done, std::function<void(const QString&)> failed = {}) {
    using Answer = std::invoke_result_t<Work, std::stop_token>;
    struct Outcome {
      std::shared_ptr<Answer> answer;
      QString error;
    };
    stop_.request_stop();
    stop_ = std::stop_source();
    is_running_ = true;
    auto* watcher = new QFutureWatcher<Outcome>(this);
    const std::stop_token token = stop_.get_token();
    connect(watcher, &QFutureWatcherBase::finished, this,
            [this, watcher, token, done = std::move(done), failed = std::move(failed)]() mutable {
              const Outcome outcome = watcher->result();
              watcher->deleteLater();
              if (token.stop_requested()) return;
              is_running_ = false;
              if (outcome.answer)
                done(std::move(*outcome.answer));
              else if (failed)
                failed(outcome.error);
            });
    watcher->setFuture(QtConcurrent::run([token, work = std::move(work)]() mutable -> Outcome {
      try {
        return {std::make_shared<Answer>(work(token)), {}};
      } catch (const std::exception& e) {
        return {nullptr, QString::fromUtf8(e.what())};
      }
    }));
  }
  void stop() {
    stop_.request_stop();
    is_running_ = false;
  }
  bool is_running() const { return is_running_; }

 private:
  std::stop_source stop_;
  bool is_running_ = false;
};
}  // namespace stepcast::gui
