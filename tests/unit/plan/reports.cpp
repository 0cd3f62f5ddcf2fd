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
  const MountStep live = bind("/srv", Access::ReadWrite);
  CHECK(refusal(live, {.path = "/srv/r.json"}) ==
        "result: cannot write the result to /srv/r.json: the command could write there, too, "
        "since it has /srv live (--project rw) | name a file outside of it, or show the tree "
        "copy-on-write or read-only");
  spec::Spec spec;
  spec.fs = {{.kind = spec::FsKind::Rw, .source = "/srv", .target = "/inside"}};
  spec.status_fd = 7;
  MountStep entry = live;
  entry.entry = 0;
  CHECK(refusal(entry, {.kind = Place::Kind::Status, .path = "/srv/a/events"}, spec) ==
        "status-fd: cannot write the status to descriptor 7, which is /srv/a/events: the command "
        "could write there, too, since it has /srv live (--rw) | open a pipe or a file outside "
        "of it there, or show the tree copy-on-write or read-only");
  // Under another path meanwhile.
  MountStep moved = live;
  moved.inode = host::Inode{.device = 1, .number = 2};
  const host::Inode root{.device = 1, .number = 1};
  CHECK(refusal(moved, {.path = "/new/r.json", .above = {*moved.inode, root}}) != "");
  CHECK(refusal(moved, {.path = "/new/r.json", .above = {root}}) == "");
  // A single file that is live.
  CHECK(refusal(bind("/srv/r.json", Access::ReadWrite), {.path = "/srv/r.json"}) != "");
}

TEST_CASE("reports: beside a live tree, or in one that is not live, all is well") {
  CHECK(refusal(bind("/srv", Access::ReadWrite), {.path = "/srvs/r.json"}) == "");
  CHECK(refusal(bind("/srv/deep", Access::ReadWrite), {.path = "/srv/r.json"}) == "");
  CHECK(refusal(bind("/srv", Access::ReadOnly), {.path = "/srv/r.json"}) == "");
  CHECK(refusal({.kind = MountKind::Overlay, .target = "srv", .lowers = {"/srv"}},
                {.path = "/srv/r.json"}) == "");
}
