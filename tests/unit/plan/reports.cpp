#include "plan/reports.hpp"

#include <doctest/doctest.h>

using namespace mayfly;
using namespace mayfly::plan;
using Place = host::ReportPlace;

namespace {

MountStep bind(const char* source, Access access) {
  return {.kind = MountKind::Bind, .target = "inside", .source = source, .access = access};
}

std::string refusal(const MountStep& step, const Place& place, const spec::Spec& spec = {}) {
  host::HostFacts facts;
  facts.report_places = {place};
  Plan plan;
  plan.mounts = {step};
  const Result<void> checked = check_reports(spec, facts, plan);
  if (checked) return "";
  REQUIRE(checked.error().about);
  return std::string(checked.error().about->key) + ": " + describe(checked.error()) + " | " +
         checked.error().hint;
}

}  // namespace

TEST_CASE("reports: what lies in a live tree is refused, with the tree and its option") {
  const MountStep live = bind("/work", Access::ReadWrite);
  CHECK(refusal(live, {.path = "/work/r.json"}) ==
        "result: cannot write the result to /work/r.json: the command could write there, too, "
        "since it has /work live (--project rw) | name a file outside of it, or show the tree "
        "copy-on-write or read-only");
  spec::Spec spec;
  spec.fs = {{.kind = spec::FsKind::Rw, .source = "/work", .target = "/inside"}};
  spec.status_fd = 7;
  MountStep entry = live;
  entry.entry = 0;
  CHECK(refusal(entry, {.kind = Place::Kind::Status, .path = "/work/a/events"}, spec) ==
        "status-fd: cannot write the status to descriptor 7, which is /work/a/events: the command "
        "could write there, too, since it has /work live (--rw) | open a pipe or a file outside "
        "of it there, or show the tree copy-on-write or read-only");
  // A single file that is live.
  CHECK(refusal(bind("/work/r.json", Access::ReadWrite), {.path = "/work/r.json"}) != "");
}

TEST_CASE("reports: beside a live tree, or in one that is not live, all is well") {
  CHECK(refusal(bind("/work", Access::ReadWrite), {.path = "/works/r.json"}) == "");
  CHECK(refusal(bind("/work/deep", Access::ReadWrite), {.path = "/work/r.json"}) == "");
  CHECK(refusal(bind("/work", Access::ReadOnly), {.path = "/work/r.json"}) == "");
  CHECK(refusal({.kind = MountKind::Overlay, .target = "work", .lowers = {"/work"}},
                {.path = "/work/r.json"}) == "");
}
