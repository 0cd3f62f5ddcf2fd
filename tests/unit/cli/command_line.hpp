// Command lines as tests write them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/named_file.hpp"
#include "cli/options.hpp"
#include "cli/verbs.hpp"

namespace mayfly::cli {

struct Parsed {
  Request request;
  Result<void> result;
};

// `mayfly VERB WORD...`, read by a caller who is in /home/dir.
inline Parsed read_words(const Verb& verb, std::vector<std::string> words,
                         std::string working_dir = "/home/dir") {
  words.insert(words.begin(), verb.name);
  std::vector<char*> args;
  for (std::string& word : words)
    args.push_back(word.data());
  const std::size_t count = args.size();
  args.push_back(nullptr);
  Parsed parsed;
  parsed.request.read_file = read_named_file;
  parsed.request.working_dir = std::move(working_dir);
  parsed.result = parse(verb, std::span(args.data(), count), parsed.request);
  if (parsed.result && !parsed.request.help && &verb == &kRunVerb) {
    parsed.result = spec::validate(parsed.request.spec);
    if (!parsed.result) {
      parsed.result = spec::with_place(parsed.request, std::move(parsed.result).error());
    }
  }
  return parsed;
}

}  // namespace mayfly::cli
