#pragma once
#include <string>

namespace stepcast::test {
/// Compares `text` with tests/golden/NAME.txt below its head of '#' lines, which says how the file
/// is made and why it is right. STEPCAST_UPDATE_GOLDEN=1 writes the file anew, keeping the head: do
/// that in a change that explains the difference.
void check_golden(const std::string& name, const std::string& text);
}  // namespace stepcast::test
