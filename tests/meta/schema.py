#!/usr/bin/env python3
"""schema.py PROGRAM SCHEMA_DIRECTORY MAN_DIRECTORY: the schemas are what the program prints and reads,
and the pages describe all that is in them.

Everything that the program prints in many kinds of runs is valid by its schema, with no member that
the schema does not declare; every member that a schema declares is printed by one of them; what a
schema of a request refuses, the program refuses, and what it allows, the program reads."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import warnings

from complaints import expect, finish, planted
from schema_cases import (BAD_COMMANDS, BAD_SPECS, BY_MACHINE, COMMANDS, ENDS, EVERY_SETTING, EXPLAINED,
                          GOOD_SPECS)

SECONDS = 60
PAGES = {"spec.json": "mayfly-protocol.7", "status.json": "mayfly-protocol.7",
         "result.json": "mayfly-protocol.7", "control.json": "mayfly-protocol.7",
         "explain.json": "mayfly-protocol.7", "features.json": "mayfly-features.1",
         "doctor.json": "mayfly-doctor.1"}


def without_jsonschema():
    print("python3-jsonschema is not installed: the schemas cannot be checked")
    sys.exit(1 if os.environ.get("MAYFLY_MUST_RUN") == "1" else 77)


class Schemas:
    """The schemas of a directory, closed: a member that is not declared is an error. Remembers which
    members were seen."""

    def __init__(self, directory):
        self.files = {path.name: json.loads(path.read_text())
                      for path in sorted(pathlib.Path(directory).glob("*.json"))}
        for schema in self.files.values():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.close(schema)
        self.seen = set()

    def close(self, node):
        if isinstance(node, list):
            for item in node:
                self.close(item)
        if isinstance(node, dict):
            if "properties" in node:
                node.setdefault("additionalProperties", False)
            for value in node.values():
                self.close(value)

    def errors(self, name, value):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions have another way to resolve
            resolver = jsonschema.RefResolver(name, self.files[name], store=self.files)
            validator = jsonschema.Draft202012Validator(self.files[name], resolver=resolver)
            return [error.message for error in validator.iter_errors(value)]

    def resolve(self, file, pointer, node):
        """What a reference leads to, as (file, pointer, node)."""
        if "$ref" not in node:
            return file, pointer, node
        target, _, fragment = node["$ref"].partition("#")
        file, node = target or file, self.files[target or file]
        for key in fragment.split("/")[1:]:
            node = node[key]
        return file, fragment, node

    def walk(self, file, pointer, node, value, found):
        """Adds the members of `value` that the schema declares to `found`; without a value, all."""
        file, pointer, node = self.resolve(file, pointer, node)
        everything = value is ALL
        for number, kind in enumerate(node.get("oneOf", [])):
            place = self.resolve(file, f"{pointer}/oneOf/{number}", kind)
            fixed = [(key, rule["const"]) for key, rule in place[2]["properties"].items()
                     if key in ("ev", "cmd") and "const" in rule]
            if everything or all(value.get(key) == const for key, const in fixed):
                self.walk(*place, value, found)
        for key, rule in node.get("properties", {}).items():
            if everything or (isinstance(value, dict) and key in value):
                found.add((file, f"{pointer}/{key}"))
                self.walk(file, f"{pointer}/{key}", rule, ALL if everything else value[key], found)
        rest = node.get("additionalProperties")
        if isinstance(rest, dict) and (everything or isinstance(value, dict)):
            for inner in [ALL] if everything else value.values():
                self.walk(file, pointer + "/*", rest, inner, found)
        if "items" in node and (everything or isinstance(value, list)):
            for inner in [ALL] if everything else value:
                self.walk(file, pointer, node["items"], inner, found)

    def see(self, name, value):
        self.walk(name, "", self.files[name], value, self.seen)
        return self.errors(name, value)

    def declared(self, name):
        found = set()
        self.walk(name, "", self.files[name], ALL, found)
        return found

    def unseen(self):
        declared = set().union(*(self.declared(name) for name in self.files))
        return sorted(f"{file}{pointer}" for file, pointer in declared - self.seen)


ALL = object()


class Program:
    def __init__(self, path, directory):
        self.path, self.directory = path, directory
        self.project = pathlib.Path(directory) / "project"
        self.project.mkdir()

    def call(self, *words, text=""):
        return subprocess.run([self.path, *words], input=text, capture_output=True, text=True,
                              cwd=self.project, timeout=SECONDS, check=False)

    def run(self, options, command, meanwhile=None, control=()):
        """Status lines and the result file of a run. `meanwhile` is called with its process number."""
        lines, result = (pathlib.Path(self.directory) / name for name in ("lines", "result"))
        result.unlink(missing_ok=True)
        for_commands, commands = os.pipe()
        with open(lines, "w", encoding="utf-8") as status:
            words = [self.path, "run", "--quiet", "--status-fd", str(status.fileno()), "--result",
                     str(result)]
            if control:
                words += ["--control-fd", str(for_commands)]
            started = subprocess.Popen(words + options + ["--", *command], cwd=self.project,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       pass_fds=(status.fileno(), for_commands))
            os.write(commands, "".join(line + "\n" for line in control).encode())
            if meanwhile:
                meanwhile(started.pid, lines)
            printed = started.communicate(timeout=SECONDS)[0]
        os.close(for_commands)
        os.close(commands)
        parsed = [json.loads(line) for line in lines.read_text().splitlines()]
        return parsed, json.loads(result.read_text()), printed.decode()


def kill_init(pid, lines):
    """From outside, once the command runs: init is the only child."""
    deadline = time.monotonic() + SECONDS
    while '"started"' not in lines.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


def check_run(schemas, name, lines, result, reason):
    for line in lines:
        yield from (f"{name}: {line.get('ev')}: {error}" for error in schemas.see("status.json", line))
    yield from (f"{name}: the result file: {error}" for error in schemas.see("result.json", result))
    if lines[-1] != result:
        yield f"{name}: the last line is not the result file"
    if result["reason"] != reason:
        yield f"{name}: the reason is {result['reason']}, wanted {reason}: {result['error']}"
    measured = {"denials": result["denials"], **result["usage"], **result["proof"]}
    reasons = {**result, **result["usage"], **result["proof"]}
    yield from (f"{name}: {key} is null, and nothing says why" for key, value in measured.items()
                if value is None and f"{key}_why" not in reasons)


def check_ends(schemas, program):
    for name, (options, command, reason) in ENDS.items():
        meanwhile = kill_init if reason == "supervisor_lost" else None
        lines, result, _ = program.run(options, command, meanwhile)
        yield from check_run(schemas, name, lines, result, reason)
    lines, result, _ = program.run(["--grace", "0"], ["sleep", "60"], control=COMMANDS + BAD_COMMANDS +
                                   ['{"cmd":"cancel"}'])
    yield from check_run(schemas, "control", lines, result, "cancelled")
    refused = [line["line"] for line in lines if line["ev"] == "control_error"]
    wanted = list(range(len(COMMANDS) + 1, len(COMMANDS) + len(BAD_COMMANDS) + 1))
    if refused != wanted:
        yield f"control: the program refused the lines {refused}, wanted {wanted}"


def check_nested(schemas, program):
    """In a sandbox there are no user namespaces, which every sandbox needs."""
    place = os.path.dirname(program.path)
    script = "/inner/mayfly run --quiet --status-fd 3 true 3>&1 >/dev/null"
    _, result, printed = program.run(["--ro", f"{place}:/inner"], ["sh", "-c", script])
    lines = [json.loads(line) for line in printed.splitlines()]
    if result["reason"] != "exited" or not lines:
        yield f"nested: {result}"
    else:
        yield from check_run(schemas, "nested", lines, lines[-1], "host_unsupported")


def check_commands(schemas):
    for line in COMMANDS + ['{"cmd":"cancel"}']:
        yield from (f"command {line}: {error}" for error in schemas.see("control.json", json.loads(line)))
    for line in BAD_COMMANDS:
        if not schemas.errors("control.json", json.loads(line)):
            yield f"command {line}: the schema allows what the program refuses"


def check_specs(schemas, program):
    every = json.dumps(EVERY_SETTING)
    printed = program.call("run", "--spec", "-", "--print-spec", text=every)
    if printed.returncode != 0:
        yield f"every setting: {printed.stderr}"
        return
    written = json.loads(printed.stdout)
    for name, spec in (("every setting, as given", EVERY_SETTING), ("every setting, printed", written)):
        yield from (f"{name}: {error}" for error in schemas.see("spec.json", spec))
    if set(written) != set(EVERY_SETTING) - {"policy"}:
        yield f"every setting: other keys are printed: {set(written) ^ set(EVERY_SETTING)}"
    for wanted, specs in ((True, GOOD_SPECS), (False, BAD_SPECS)):
        for spec in specs:
            spec = {"command": ["true"], **spec}
            read = program.call("run", "--spec", "-", "--print-spec", text=json.dumps(spec))
            errors = schemas.errors("spec.json", spec)
            if (read.returncode == 0) != wanted:
                yield f"the program on {spec}: {read.returncode} {read.stderr}"
            if bool(errors) == wanted:
                yield f"the schema on {spec}: {errors}"


def check_others(schemas, program):
    for options in EXPLAINED:
        told = program.call("explain", "--json", "run", *options, "true")
        if told.returncode != 0:
            yield f"explain {options}: {told.stderr}"
            continue
        plan = json.loads(told.stdout)
        yield from (f"explain {options}: {error}" for error in schemas.see("explain.json", plan))
        if (plan["cgroup"] is None) != ("cgroup_why" in plan):
            yield f"explain {options}: cgroup_why and null do not go together"
    for verb in ("features", "doctor"):
        told = program.call(verb, "--json")
        yield from (f"{verb}: {error}" for error in schemas.see(f"{verb}.json", json.loads(told.stdout)))
    for unseen in schemas.unseen():
        if not unseen.startswith(BY_MACHINE):
            yield f"{unseen}: no case prints this member"


def check_pages(schemas, man):
    for name in schemas.files:
        page = (pathlib.Path(man) / PAGES[name]).read_text()
        items = {line.split()[2].replace("\\-", "-") for line in page.splitlines()
                 if line.startswith(".It Va ")}
        missing = {pointer.rsplit("/", 1)[1] for _, pointer in schemas.declared(name)} - items
        yield from (f"{PAGES[name]}: {member} of {name} is not described" for member in sorted(missing))


def check(program, directory, man):
    schemas = Schemas(directory)
    with tempfile.TemporaryDirectory() as place:
        program = Program(os.path.abspath(program), place)
        parts = [check_ends(schemas, program), check_nested(schemas, program), check_commands(schemas),
                 check_specs(schemas, program), check_others(schemas, program),
                 check_pages(schemas, man)]
        return [complaint for part in parts for complaint in part]


def self_test():
    schema = {"type": "object", "properties": {"told": {"type": "integer"}, "dead": {"const": 1}}}
    with planted({"spec.json": json.dumps(schema), "mayfly-protocol.7": ".It Va told Pq integer\n"}) as tree:
        schemas = Schemas(tree)
        complaints = schemas.see("spec.json", {"told": "7", "other": 1}) + schemas.unseen()
        complaints += check_pages(schemas, tree)
    expect(complaints, ["'other' was unexpected", "'7' is not of type", "spec.json/dead",
                        "dead of spec.json is not described"])


if __name__ == "__main__":
    try:
        import jsonschema
    except ImportError:
        without_jsonschema()
    if sys.argv[1] == "--self-test":
        self_test()
    else:
        finish(check(*sys.argv[1:]))
