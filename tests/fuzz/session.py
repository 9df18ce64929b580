"""What scripts/fuzz does: builds the C modules twice (for finding faults, for counting lines), runs
one target after the other, and says what was found."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from fuzz import corpus, seeds

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "fuzz"
ONE = ROOT / "tests" / "fuzz" / "one.py"
MODULES = (
    *("fetch/_receive", "urls/_links", "page/_scan", "page/_simhash"),
    "frontier/log/_domain_log",
)
ENOUGH = 95.0  # per cent of the lines of each module
CHECKED = ("-g", "-O1", "-fsanitize=address,undefined,fuzzer-no-link", "-fno-sanitize-recover=all")
COUNTED = ("-g", "-O0", "-fprofile-instr-generate", "-fcoverage-mapping")
# The interpreter's memory, which a target can make fail, in the place of the C library's.
MEMORY = ("-DBUFFER_REALLOC=PyMem_RawRealloc", "-DBUFFER_RELEASE=PyMem_RawFree")
# How much slower than usual: the limit of CPU time for one input is that much higher.
SLOWER = "15"
WEIGHTS = {"scan": 3.0, "page": 2.0, "links": 2.0, "inbox": 2.0, "whole": 3.0}
REPLAY = """
from fuzz import corpus, seeds
from fuzz.judge import judge
from fuzz.targets import TARGETS
for name, target in TARGETS.items():
    for data in [*corpus.kept(name), *seeds.inputs(name)]:
        try:
            judge(target, data)
        except Exception as error:  # what was reached counts all the same
            print(f"a finding in {name}: {error!r}")
"""


def build(name: str, flags: Sequence[str]) -> Path:
    """A copy of the package with its C modules made by clang; its folder of sources."""
    source = WORK / name
    shutil.rmtree(source, ignore_errors=True)
    junk = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "lycosa", source / "lycosa", ignore=junk)
    include = f"-I{sysconfig.get_paths()['include']}"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for module in MODULES:
        file = ROOT / "src" / "lycosa" / f"{module}.c"
        target = source / "lycosa" / f"{module}{suffix}"
        options = [*flags, *MEMORY, "-w", "-shared", "-fPIC", include]
        subprocess.run(["clang", *options, str(file), "-o", str(target)], check=True)
    return source


def environment(source: Path, **more: str) -> dict[str, str]:
    paths = (source, ROOT / "tests", WORK / "site")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), **more}


# --- fuzzing ---


@dataclass
class Summary:
    target: str
    executions: int
    coverage: str
    findings: list[Path]
    said: str


def begun(target: str) -> Path:
    """The folder in which a target's corpus grows; what is kept and the seeds are in it."""
    folder = WORK / "corpus" / target
    corpus.unpack(target, folder)
    for data in seeds.inputs(target):
        (folder / corpus.name_of(data)).write_bytes(data)
    return folder


def fuzz(source: Path, target: str, seconds: float) -> Summary:
    folder = begun(target)
    findings = WORK / "findings"
    findings.mkdir(exist_ok=True)
    before = set(findings.glob(f"{target}-*"))
    words = (
        f"-max_total_time={max(1, round(seconds))}",
        f"-artifact_prefix={findings}/{target}-",
        "-max_len=4096",
        "-len_control=0",
        "-timeout=60",
        "-report_slow_units=600",  # by the clock on the wall: `judge` goes by CPU time
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        str(folder),
    )
    done = checked(source, target, *words)
    found = sorted(set(findings.glob(f"{target}-*")) - before)
    executed = re.search(r"stat::number_of_executed_units: *(\d+)", done.stdout)
    reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stdout)
    if done.returncode and not found:
        findings.joinpath(f"{target}-said").write_text(done.stdout)
        found = [findings / f"{target}-said"]
    return Summary(
        target,
        int(executed[1]) if executed else 0,
        "cov {} ft {} corpus {}".format(*reached[-1]) if reached else "",
        found,
        done.stdout,
    )


def checked(
    source: Path, target: str, *words: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """One run of libFuzzer; `more`: variables for it."""
    variables = environment(
        source,
        LD_PRELOAD=str(WORK / "site" / "asan_with_fuzzer.so"),
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16",
        UBSAN_OPTIONS="print_stacktrace=1",
        PYTHONMALLOC="malloc",
        FUZZ_SLOWER=SLOWER,
        **more,
    )
    command = [sys.executable, str(ONE), target, *words]
    return subprocess.run(
        command,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def session(targets: list[str], minutes: float) -> int:
    source = build("checked", CHECKED)
    begin = time.monotonic()
    total = sum(WEIGHTS.get(target, 1.0) for target in targets)
    results = []
    for target in targets:
        share = WEIGHTS.get(target, 1.0) / total
        results.append(fuzz(source, target, minutes * 60 * share))
        print(line(results[-1]), flush=True)
    executions = sum(result.executions for result in results)
    findings = [path for result in results for path in result.findings]
    for result in results:
        if result.findings:
            print(f"\n{result.target}:\n{gist(result.said)}")
            for path in result.findings:
                print(f"again: scripts/fuzz --input {path} {result.target}")
    spent = (time.monotonic() - begin) / 60
    print(f"{executions:,} executions in {spent:.0f} minutes, {len(findings)} findings")
    return 1 if findings else 0


def line(result: Summary) -> str:
    found = f", {len(result.findings)} FOUND" if result.findings else ""
    return f"{result.target:10} {result.executions:10,} executions, {result.coverage}{found}"


def gist(said: str) -> str:
    """What the fuzzer said of a finding, without the tables."""
    signs = ("=== Uncaught", "runtime error", "ERROR: Addr", "ERROR: lib", "Traceback")
    at = min((said.find(sign) for sign in signs if sign in said), default=0)
    return said[at : at + 3000]


def again(target: str, file: str) -> int:
    done = checked(build("checked", CHECKED), target, file)
    print(gist(done.stdout) if done.returncode else "No finding.")
    return 1 if done.returncode else 0


# --- the kept corpus ---


def keep(targets: list[str]) -> int:
    source = build("checked", CHECKED)
    for target in targets:
        folder = begun(target)
        small = WORK / "small" / target
        shutil.rmtree(small, ignore_errors=True)
        small.mkdir(parents=True)
        merged(source, target, small, folder)
        corpus.keep(target, [path.read_bytes() for path in small.iterdir()])
        size = (corpus.FOLDER / f"{target}.zip").stat().st_size
        print(f"{target:10} {len(list(small.iterdir())):5} inputs, {size:,} bytes")
    return 0


def merged(source: Path, target: str, small: Path, folder: Path) -> None:
    """Put the fewest inputs that reach as much as all of them into `small`. A merge starts itself
    in a process of its own, by a command that is only a file."""
    again = WORK / f"again-{target}"
    again.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ONE}" {target} "$@"\n')
    again.chmod(0o755)
    done = checked(source, target, "-merge=1", str(small), str(folder), FUZZ_AGAIN=str(again))
    if not any(small.iterdir()):
        raise SystemExit(f"Nothing of {target} is kept, its merge failed:\n{done.stdout[-2000:]}")


def coverage() -> int:
    source = build("counted", COUNTED)
    for old in WORK.glob("*.profraw"):
        old.unlink()
    variables = environment(source, LLVM_PROFILE_FILE=str(WORK / "%m.profraw"), FUZZ_SLOWER="20")
    subprocess.run([sys.executable, "-c", REPLAY], env=variables, check=True, cwd=ROOT)
    merged = WORK / "all.profdata"
    raw = [str(path) for path in WORK.glob("*.profraw")]
    subprocess.run(["llvm-profdata", "merge", *raw, "-o", str(merged)], check=True)
    code = 0
    for module in MODULES:
        built = next((source / "lycosa").glob(f"{module}.*.so"))
        file = ROOT / "src" / "lycosa" / f"{module}.c"
        command = ["llvm-cov", "show", str(built), f"-instr-profile={merged}", str(file)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        reached, missed = counted(shown)
        share = 100 * reached / (reached + len(missed))
        numbers = ", ".join(map(str, missed))
        print(f"{module}.c: {share:.1f} % of {reached + len(missed)} lines; not: {numbers or '-'}")
        if share < ENOUGH:
            code = 1
    return code


def counted(shown: str) -> tuple[int, list[int]]:
    """How many lines were reached, and which were not."""
    rows = re.findall(r"^ *(\d+)\| *([\d.]+[kMG]?)\|", shown, re.M)
    missed = [int(number) for number, count in rows if count == "0"]
    return len(rows) - len(missed), missed


def main() -> int:
    from fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--input", metavar="FILE", help="one input again, for the one target")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    targets = options.targets or list(TARGETS)
    if options.input:
        return again(targets[0], options.input)
    if options.coverage:
        return coverage()
    return keep(targets) if options.keep else session(targets, options.minutes)


if __name__ == "__main__":
    sys.exit(main())
