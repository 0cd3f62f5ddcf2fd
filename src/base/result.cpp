#include "base/result.hpp"

#include <cstring>

namespace mayfly {

std::string errno_name(int number) {
  if (const char* name = ::strerrorname_np(number)) return name;
  return "errno " + std::to_string(number);
}

std::string describe(const Error& error) {
  std::string text = "cannot " + error.action;
  if (!error.call.empty()) text += ": " + error.call;
  if (error.sys_errno != 0) {
    const char* words = ::strerrordesc_np(error.sys_errno);
    text += ": ";
    if (words != nullptr) text += words;
    text += " (" + errno_name(error.sys_errno) + ")";
  }
  return text;
}

}  // namespace mayfly
