#pragma once
#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QEventLoop>
#include <functional>

namespace stepcast::tests {
/// Runs the event loop until `is_true` or the time is over; answers whether it became true.
inline bool wait_until(const std::function<bool()>& is_true, int ms = 60'000) {
  const QDeadlineTimer deadline(ms);
  while (!is_true()) {
    if (deadline.hasExpired()) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
  }
  return true;
}
}  // namespace stepcast::tests
