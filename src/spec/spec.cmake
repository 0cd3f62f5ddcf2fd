# The readers of TOML and JSON: header-only libraries, each behind one source file.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
target_include_directories(mayfly_spec SYSTEM PRIVATE ${TOMLPLUSPLUS_INCLUDE_DIR} ${NLOHMANN_JSON_INCLUDE_DIR})
# No exceptions, no streams: neither is touched, and neither has constructors that run at the start.
target_compile_definitions(mayfly_spec PRIVATE TOML_EXCEPTIONS=0 TOML_ENABLE_FORMATTERS=0 TOML_ENABLE_UNRELEASED_FEATURES=0 TOML_FLOAT_CHARCONV=1 JSON_NO_IO=1 JSON_HAS_CPP_20=0)
