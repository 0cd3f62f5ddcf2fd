#include "harness/hooked.hpp"

namespace harness {

Hooked::Hooked(const Words& options, const Words& task) : run_(options, task) {
  run_.command.program(targets_path() + "/mayfly-hooked");
}

Hooked& Hooked::without(const std::vector<Step>& steps) {
  std::string numbers;
  for (const Step step : steps) {
    if (!numbers.empty()) numbers += ',';
    numbers += std::to_string(static_cast<unsigned>(step));
  }
  run_.command.env("MAYFLY_TEST_WITHOUT", numbers);
  return *this;
}

Hooked& Hooked::failing(Step step) {
  run_.command.env("MAYFLY_TEST_FAULT", std::to_string(static_cast<unsigned>(step)));
  return *this;
}

Hooked& Hooked::sharing(unsigned long namespaces) {
  run_.command.env("MAYFLY_TEST_SHARED", std::to_string(namespaces));
  return *this;
}

}  // namespace harness
