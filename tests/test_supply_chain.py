"""What CI, the image and a release are made of: lock files, licenses, the list of components, actions, the recipe."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from bayplan import __version__
from test_gitops import blocks
from test_packaging import LEFT_OUT, clean, packages, run, stand_in
from tools.clients import tool
from tools.data import parse
from tools.docs import pages
from tools.effort import LONG, thorough
from tools.locks import LOCKS, Pin, path, pins, project, requirements
from tools.run import ROOT
from tools.sbom import BASE, base_image, document, license_of, normal

DOCKERFILE = (ROOT / "argocd-plugin" / "Dockerfile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())
BUNDLED = {"pip", "setuptools", "bayplan"}
"""Distributions that a new environment has, and bayplan."""

in_ci = pytest.mark.skipif("PIP_NO_INDEX" not in os.environ, reason="pip has an index: only .ci/run fixes all versions")

PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache Software License",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "MIT",
    "MIT License",
    "PSF-2.0",
    "Python Software Foundation License",
    "Zlib",
}
"""Licenses whose code an image under Apache-2.0 may contain. Names with spaces are those of classifiers."""

DEVELOPMENT = {
    *PERMISSIVE,
    "3-Clause BSD License",
    "Apache",
    "MPL-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)",
}
"""Licenses of what only the tests use: nothing of it is distributed."""


def installed() -> dict[str, Distribution]:
    """The distributions of this environment."""
    return {normal(each.name): each for each in distributions()}


def image() -> list[Pin]:
    """The lock of the image, with the versions that this environment has: without a lock they may differ."""
    here = installed()
    return [pin._replace(version=here[pin.name].version) if pin.name in here else pin for pin in pins("image")]


def parts(expression: str) -> set[str]:
    """The licenses in an expression."""
    return {each if " (" in each else each.strip("()") for each in re.split(r" AND | OR ", expression)}


class TestLocks:
    def test_every_file_is_one_of_the_table(self) -> None:
        assert {each.name for each in (ROOT / "requirements").iterdir()} == {path(name).name for name in LOCKS}

    @pytest.mark.parametrize("name", LOCKS)
    def test_every_entry_has_a_hash(self, name: str) -> None:
        assert [pin.name for pin in pins(name) if not pin.hashes] == []

    @pytest.mark.parametrize("name", LOCKS)
    def test_no_file_names_an_index(self, name: str) -> None:
        text = path(name).read_text(encoding="utf-8")
        assert re.findall(r"://|--[a-z-]*(?:index|links|host)|@ ", text) == []

    @pytest.mark.parametrize("name", LOCKS)
    def test_versions_are_those_that_pyproject_allows(self, name: str) -> None:
        locked = pins(name)
        for each in map(Requirement, requirements(LOCKS[name])):
            found = [pin.version for pin in locked if pin.name == normal(each.name)]
            assert found, each
            assert all(each.specifier.contains(version) for version in found), each

    def test_the_lowest_versions_are_the_lowest(self) -> None:
        locked = {pin.name: pin.version for pin in pins("lowest")}
        for each in map(Requirement, requirements(LOCKS["lowest"])):
            (bound,) = (part.version for part in each.specifier if part.operator == ">=")
            assert locked[normal(each.name)].startswith(bound.removesuffix(".0")), each

    def test_all_extras_are_tested_with_their_lowest_versions(self) -> None:
        """CI does not install `fuzz`: it runs mutated inputs without atheris, which has wheels only for Linux."""
        tested = {*requirements(LOCKS["lowest"]), *requirements(LOCKS["torchx"])}
        extras = project()["project"]["optional-dependencies"]
        untested = {each for name, extra in extras.items() if name != "fuzz" for each in extra} - tested
        assert untested == {"bayplan[solver,validate]"}

    @pytest.mark.parametrize("name", ["image", "build", "docs", "release"])
    def test_locks_agree(self, name: str) -> None:
        tested = {pin.name: {each.version for each in pins("test") if each.name == pin.name} for pin in pins("test")}
        assert [pin for pin in pins(name) if pin.version not in tested.get(pin.name, {pin.version})] == []

    @in_ci
    def test_this_environment_has_what_the_locks_allow(self) -> None:
        allowed = {(pin.name, pin.version) for name in ("test", "docs") for pin in pins(name)}
        here = {(name, each.version) for name, each in installed().items() if name not in BUNDLED}
        assert here - allowed == set()
        missing = {pin.name for pin in pins("test") if not pin.marker} - {name for name, _ in here}
        assert missing == {"editables"}  # only the environment of the build has it


class TestLicenses:
    def test_the_image_contains_permissive_licenses_only(self) -> None:
        here = installed()
        found = {pin.name: license_of(here[pin.name]) for pin in image() if pin.name in here}
        assert len(found) > 8
        assert {name: each for name, each in found.items() if not parts(each) <= PERMISSIVE} == {}

    def test_the_tests_use_known_licenses_only(self) -> None:
        names = {pin.name for pin in pins("test")}
        found = {name: license_of(each) for name, each in installed().items() if name in names}
        assert {name: each for name, each in found.items() if not parts(each) <= DEVELOPMENT} == {}

    def test_a_copyleft_license_is_found(self) -> None:
        assert not parts("MIT AND (GPL-3.0-only OR AGPL-3.0-only)") <= DEVELOPMENT


@pytest.fixture(scope="module")
def listed() -> str:
    """The list of components."""
    return json.dumps(document(image(), installed(), "1.2.3", [base_image(DOCKERFILE)]))


class TestSbom:
    def test_it_is_cyclonedx(self, listed: str) -> None:
        judge = JsonStrictValidator(SchemaVersion.V1_6)
        assert judge.validate_str(listed) is None
        assert judge.validate_str(listed.replace('"SHA-256"', '"SHA-257"')) is not None

    def test_it_lists_every_distribution_and_the_base(self, listed: str) -> None:
        found = {each["name"]: each for each in json.loads(listed)["components"]}
        assert set(found) - {"typing-extensions"} == {pin.name for pin in pins("image") if not pin.marker} | {"python"}
        assert all(each["hashes"] and each["purl"] == each["bom-ref"] for each in found.values())
        assert [name for name, each in found.items() if not each.get("licenses")] == ["python"]
        assert found["pyyaml"]["purl"] == f"pkg:pypi/pyyaml@{found['pyyaml']['version']}"

    def test_it_says_what_needs_what(self, listed: str) -> None:
        edges = {each["ref"]: each["dependsOn"] for each in json.loads(listed)["dependencies"]}
        reached, queue = set[str](), ["pkg:pypi/bayplan@1.2.3"]
        while queue:
            reached.add(at := queue.pop())
            queue += [each for each in edges[at] if each not in reached]
        assert reached == set(edges)
        (jinja,) = (edges[ref] for ref in edges if "/jinja2@" in ref)
        assert [each.partition("@")[0] for each in jinja] == ["pkg:pypi/markupsafe"]

    def test_it_is_the_same_every_time(self, listed: str) -> None:
        assert json.dumps(document(reversed(image()), installed(), "1.2.3", [base_image(DOCKERFILE)])) == listed

    def test_another_version_than_the_locked_one_is_refused(self) -> None:
        locked = [pin._replace(version="0.0.1") if pin.name == "click" else pin for pin in image()]
        with pytest.raises(SystemExit, match=r"click 0\.0\.1, and this environment has \d"):
            document(locked, installed(), "1.2.3", [])

    def test_a_base_without_a_digest_is_refused(self) -> None:
        with pytest.raises(SystemExit, match="names no image with a digest"):
            base_image(DOCKERFILE.partition("@")[0])


class TestImage:
    def test_every_stage_starts_from_the_digest(self) -> None:
        assert BASE.search(DOCKERFILE)
        assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"$BASE"}

    def test_pip_takes_hashes_or_no_index(self) -> None:
        lines = [line for line in instructions("RUN") if "pip" in line.split("/")[-1] or "/pip " in line]
        assert len(lines) == 3
        assert all(("--require-hashes" in line) != ("--no-index" in line) for line in lines)

    @in_ci
    def test_its_commands_install_bayplan_and_the_lock(self, tmp_path: Path) -> None:
        source = shutil.copytree(ROOT, tmp_path / "src", ignore=LEFT_OUT)
        for line in instructions("RUN"):
            shell(line.replace("/opt/", f"{tmp_path}/opt/"), source)
        made = tmp_path / "opt" / "bayplan" / "bin"
        assert run([str(made / "bayplan"), "--version"], tmp_path).startswith("bayplan ")
        code = "from importlib.metadata import distributions; print(*(each.name for each in distributions()))"
        have = {normal(name) for name in run([str(made / "python"), "-c", code], tmp_path).split()}
        assert have - {"typing-extensions"} == {pin.name for pin in pins("image") if not pin.marker} | {"bayplan"}


def instructions(word: str) -> list[str]:
    """The arguments of an instruction in the Dockerfile."""
    return re.findall(rf"^{word} (.*)$", DOCKERFILE.replace("\\\n", ""), re.MULTILINE)


def shell(line: str, folder: Path) -> str:
    """What a command prints that must succeed, with this Python first on the `PATH` and the packages of `.ci/run`."""
    packages = {key: value for key, value in os.environ.items() if key in ("PIP_NO_INDEX", "PIP_FIND_LINKS")}
    env = {**clean(), **packages, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return run(["bash", "-euo", "pipefail", "-c", line], folder, env)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout as one commit of a new repository."""
    tool("git")
    folder = shutil.copytree(ROOT, tmp_path_factory.mktemp("release") / "bayplan", ignore=LEFT_OUT)
    person = "git -c user.name=a -c user.email=a@b"
    shell(f"git init -q && git add -A && {person} commit -q -m release", folder)
    return Path(folder)


class TestRelease:
    @pytest.mark.parametrize("place", ["HEAD", "GitHub"] if LONG else ["HEAD"])
    def test_a_tag_of_another_version_is_refused(self, place: str, repository: Path, tmp_path: Path) -> None:
        shell(f"git tag -d v{__version__} || true", repository)
        env = {key: value for key, value in clean().items() if not key.startswith("GITHUB_REF")}
        if place == "HEAD":
            shell("git tag v9.9.9", repository)
        else:
            env |= {"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v9.9.9"}
        command = ["bash", "tests/tools/release", str(tmp_path)]
        done = subprocess.run(command, cwd=repository, env=env, capture_output=True, encoding="utf-8", check=False)
        shell("git tag -d v9.9.9 || true", repository)
        assert done.returncode == 1
        assert done.stderr == f"the tag is v9.9.9, and the version is {__version__}\n"


@pytest.fixture
def tagged(repository: Path, tmp_path: Path) -> Path:
    """A clone whose changelog has the version, with its tag. A text file stands for the binary."""
    shell(f"git clone -q {repository} {tmp_path}/clone", tmp_path)
    folder, log = tmp_path / "clone", tmp_path / "clone" / "CHANGELOG.md"
    log.write_text(
        f"# Changelog\n\n## {__version__} (2027-01-01)\n\nThe first.\n\n## 0.0.1\n\nOld.\n", encoding="utf-8"
    )
    for end in ("", ".licenses"):
        (tmp_path / f"built{end}").write_text("a program\n", encoding="utf-8")
    stand_in(folder, tmp_path / "built")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    """Commits all changes, and moves the tag there."""
    person = "git -c user.name=a -c user.email=a@b"
    shell(f"{person} commit -q -a -m release && git tag -f v{__version__} >/dev/null", folder)


def release(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`packaging/release`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    pip = {key: value for key, value in os.environ.items() if key in ("PIP_NO_INDEX", "PIP_FIND_LINKS")}
    every = {**clean(), **pip, "PATH": path, **env}
    command = ["packaging/release", *words]
    return subprocess.run(command, cwd=folder, env=every, capture_output=True, encoding="utf-8", check=False)


class TestReleaseOfATag:
    @in_ci
    def test_up_to_the_upload(self, tagged: Path, tmp_path: Path) -> None:
        """With an address of the project, in a real clone: builds, twine, check-wheel-contents, examples, Krew."""
        packages("twine")
        address = "https://git.example.net/gpu/planner"
        shell(f"packaging/address {address}/", tagged)
        assert shell("packaging/address", tagged) == f"{address}\n"
        assert shell("git grep -lF tools/bayplan || true", tagged) == ""
        assert "uses: gpu/planner@v" in (tagged / "docs/how-to/check-manifests-in-ci.md").read_text(encoding="utf-8")
        commit(tagged)
        made = tmp_path / "made"
        done = release(tagged, f"v{__version__}", str(made))
        assert done.returncode == 0, done.stdout + done.stderr
        wheel, sdist = f"bayplan-{__version__}-py3-none-any.whl", f"bayplan-{__version__}.tar.gz"
        krew = f"kubectl-bayplan_v{__version__}_linux_amd64.tar.gz"
        listed = {"SHA256SUMS", wheel, sdist, krew, "bayplan.yaml", "bayplan.cdx.json", "notes.md", "bayplan-image.tar"}
        assert {each.name for each in made.iterdir()} == {
            *listed,
            "bayplan-linux-amd64",
            "bayplan-linux-amd64.licenses",
        }
        assert (made / "notes.md").read_text(encoding="utf-8") == "The first.\n"
        assert len(shell("sha256sum -c --strict SHA256SUMS", made).splitlines()) == 9
        components = (made / "bayplan.cdx.json").read_text(encoding="utf-8")
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(components) is None
        spec = parse((made / "bayplan.yaml").read_text(encoding="utf-8"))["spec"]
        assert spec["homepage"] == address
        assert spec["platforms"][0]["uri"] == f"{address}/releases/download/v{__version__}/{krew}"
        assert re.search(r"^\d\d examples are the same bytes$", done.stdout, re.MULTILINE)
        assert done.stdout.count("PASSED") == 2
        assert done.stdout.splitlines()[-1].endswith(f"twine upload {made / wheel} {made / sdist}")
        with zipfile.ZipFile(made / wheel) as archive:
            metadata = archive.read(f"bayplan-{__version__}.dist-info/METADATA").decode()
        assert f"Project-URL: Repository, {address}\n" in metadata

    @thorough
    @pytest.mark.parametrize(
        ("change", "tag", "message"),
        [
            ("touch new", f"v{__version__}", "there are changes that are not committed"),
            ("git tag v9.9.9 HEAD~1", "v9.9.9", "v9.9.9 is not a tag of HEAD"),
            ("git rm -q --cached CHANGELOG.md && echo CHANGELOG.md >.git/info/exclude && COMMIT && echo >CHANGELOG.md",
             f"v{__version__}", f'CHANGELOG.md has no section "## {__version__}"'),
            ("touch ../made", f"v{__version__}", "made is not empty"),
        ],
    )  # fmt: skip
    def test_what_it_refuses(self, change: str, tag: str, message: str, tagged: Path) -> None:
        person = f"git -c user.name=a -c user.email=a@b commit -q -m a && git tag -f v{__version__}"
        shell(change.replace("COMMIT", person), tagged)
        done = release(tagged, tag, "../made")
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(f"packaging/release: .*{re.escape(message)}\n", done.stderr)

    def test_an_address_needs_a_host_and_a_repository(self, tagged: Path) -> None:
        for url in ("git.example.net/gpu/planner", "https://git.example.net/planner", "https://a/b/c?d"):
            done = subprocess.run(["packaging/address", url], cwd=tagged, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (1, f"packaging/address: not https://HOST/OWNER/NAME: {url}\n")
        assert shell("git status --porcelain", tagged) == ""


class TestActions:
    def test_every_action_is_pinned_by_its_commit(self) -> None:
        found = [
            (file.name, line.strip())
            for file in [*WORKFLOWS, ROOT / "action.yml", *pages()]
            for line in file.read_text(encoding="utf-8").splitlines()
            if re.search(r"\buses: (?!tools/bayplan@v)", line)  # ours is the version of the page
        ]
        assert len(found) > 10
        pinned = re.compile(r"(- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
        assert [each for each in found if not pinned.fullmatch(each[1])] == []

    def test_an_action_has_one_version(self) -> None:
        files = [*WORKFLOWS, ROOT / "action.yml", *pages()]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        used: dict[str, set[str]] = {}
        for action, version in re.findall(r"uses: ([\w./-]+)@(.*)", text):
            used.setdefault(action, set()).add(version)
        assert {action: versions for action, versions in used.items() if len(versions) > 1} == {}

    def test_workflows_are_correct(self, tmp_path: Path) -> None:
        """actionlint compares the inputs of the example with the action.yml of its repository."""
        example = tmp_path / ".github" / "workflows" / "manifests.yml"
        example.parent.mkdir(parents=True)
        (tmp_path / ".git").mkdir()
        shutil.copy(ROOT / "action.yml", tmp_path)
        text = blocks("check-manifests-in-ci.md")[0]
        assert "uses: tools/bayplan@v" in text
        example.write_text(re.sub("uses: tools/bayplan@v.*", "uses: ./", text), encoding="utf-8")
        done = run([tool("actionlint"), *map(str, WORKFLOWS), str(example)], tmp_path)
        assert done == ""

    @pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
    def test_no_job_has_more_permissions_than_its_own(self, file: Path) -> None:
        content: Mapping[str, object] = parse(file.read_text(encoding="utf-8"))
        assert content["permissions"] == {}
        jobs = content["jobs"]
        assert isinstance(jobs, dict)
        assert all("permissions" in job and "timeout-minutes" in job for job in jobs.values())
        assert "secrets." not in file.read_text(encoding="utf-8")
