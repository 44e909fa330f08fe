"""What a stranger finds beside the code: workflows, templates, versions, metadata of a release, and the set-up."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import widegap
from tools import install, release_check
from tools.package_metadata import is_placeholder, project_urls, with_addresses

ROOT = Path(__file__).parents[2]
NOW = widegap.__version__
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/idea.yml"]
SCHEMAS = {
    "github-workflows": [path.relative_to(ROOT).as_posix() for path in WORKFLOWS],
    "dependabot": [".github/dependabot.yml"],
    "readthedocs": [".readthedocs.yaml"],
    "citation-file-format": ["CITATION.cff"],
    "github-issue-forms": FORMS,
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def program(name):
    """A program of the dev or hooks group, beside the Python that runs the tests."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    return found or pytest.skip(f"{name} is not installed: make dev")


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)


class TestFilesOfTheRepository:
    @pytest.mark.parametrize("schema", SCHEMAS)
    def test_files_fit_their_schemas(self, schema):
        done = run(program("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", *SCHEMAS[schema])
        assert done.returncode == 0, done.stdout

    def test_a_wrong_workflow_does_not_fit(self, tmp_path):
        (tmp_path / "w.yml").write_text("on: push\njobs:\n  a: {steps: [{run: ls}]}\n", encoding="utf-8")
        done = run(program("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", str(tmp_path / "w.yml"))
        assert done.returncode == 1  # no runs-on

    def test_zizmor_finds_nothing(self):
        done = run(program("zizmor"), "--offline", "--persona=pedantic", "--no-progress", ".github")
        assert done.returncode == 0, done.stdout + done.stderr

    def test_codespell_finds_nothing(self):
        done = run(program("codespell"))
        assert done.returncode == 0, done.stdout

    def test_hooks_call_programs_of_the_set_up(self):
        (local,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
        called = {hook["id"]: hook["entry"].split()[0] for hook in local["hooks"]}
        assert {"ruff-check", "ruff-format", "mypy", "codespell", "eslint"} <= set(called)
        assert called.pop("eslint") == "make"
        for entry in called.values():
            assert entry.startswith(".venv/bin/") and program(Path(entry).name)

    @pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md"])
    def test_times_to_answer_are_named(self, name):
        assert "3 working days" in read(name)

    def test_the_first_page_for_contributors_fits_on_a_screen(self):
        first, _, _ = read("CONTRIBUTING.md").partition("\n## ")
        assert len(first.splitlines()) <= 24 and "make dev" in first and "make test" in first

    def test_papers_of_all_methods_are_cited(self):
        titles = {entry["title"].lower() for entry in yaml.safe_load(read("CITATION.cff"))["references"]}
        for name in ("CPM3C", "M2DCU", "MKC", "IterSVM", "IterSVR", "IterLSSVM", "MMC", "GMMC"):
            reference = " ".join(getattr(widegap, name).__doc__.partition("References\n")[2].split())
            assert re.search(r'"([^"]+?),?"', reference)[1].lower() in titles, name

    def test_the_conda_recipe_needs_what_the_package_needs(self):
        needs = yaml.safe_load(read("tools/conda/recipe.yaml"))
        python = f"python {SETTINGS['project']['requires-python']}"
        packages = [re.sub("(?=>=)", " ", wish, count=1) for wish in SETTINGS["project"]["dependencies"]]
        assert needs["requirements"]["run"] == [python, *packages]
        assert needs["context"]["version"] == widegap.__version__
        assert needs["about"]["summary"] == SETTINGS["project"]["description"]


class TestWorkflows:
    @pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
    def test_rights_are_given_to_jobs_alone_and_actions_are_pinned(self, path):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {}
        for job in workflow["jobs"].values():
            assert "permissions" in job and "timeout-minutes" in job
        actions = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
        assert actions
        for action, comment in actions:
            assert re.search(r"@[0-9a-f]{40}$", action) and re.match(r" # v[\d.]+$", comment), action

    def test_one_action_has_one_hash(self):
        pins = {}
        for path in WORKFLOWS:
            for repository, pin in re.findall(r"uses: ([\w-]+/[\w-]+)\S*@(.+)", path.read_text(encoding="utf-8")):
                assert pins.setdefault(repository, pin) == pin

    def test_platforms_and_versions(self):
        matrix = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]["test"]["strategy"]["matrix"]
        assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14", "3.14t"]
        systems = {entry["os"].split("-")[0] for entry in matrix["include"]}
        assert systems == {"ubuntu", "macos", "windows"}
        assert any(entry["os"].endswith("-arm") for entry in matrix["include"])

    def test_only_the_publisher_has_an_identity(self):
        jobs = yaml.safe_load(read(".github/workflows/release.yml"))["jobs"]
        assert {name: job["permissions"] for name, job in jobs.items()} == {
            "build": {"contents": "read"},
            "publish": {"id-token": "write"},
        }
        assert "make release-check" in str(jobs["build"]) and jobs["publish"]["needs"] == "build"

    def test_makefile_has_every_target_that_is_called(self):
        targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
        called = {name for path in WORKFLOWS for name in re.findall(r"run: make ([\w-]+)", read(path))}
        assert called <= targets and {"dev", "constraints"} <= targets


class TestConstraints:
    GROUPS = ("dev", "docs", "browser", "hooks")

    def wishes(self):
        """Requirements of the package and of the groups, by name."""
        texts = SETTINGS["project"]["dependencies"] + [
            text for group in self.GROUPS for text in SETTINGS["dependency-groups"][group]
        ]
        found = {}
        for wish in map(Requirement, texts):
            found.setdefault(canonicalize_name(wish.name), []).append(wish)
        return found

    def pins(self):
        """Versions by name, and the names that pyproject.toml asked for when the file was made."""
        versions, direct, name = {}, set(), ""
        for line in read("constraints.txt").splitlines():
            if found := re.match(r"([a-z\d][\w.-]*)(?:\[.+\])?==([^\s;]+)", line):
                name = canonicalize_name(found[1])
                versions.setdefault(name, []).append(found[2])
            elif line.lstrip(" #").startswith(("widegap (pyproject.toml", "via widegap (pyproject.toml")):
                direct.add(name)
        return versions, direct

    def test_the_file_is_of_the_present_requirements(self):
        versions, direct = self.pins()
        wishes = self.wishes()
        assert direct == set(wishes), f"run make constraints: {sorted(direct ^ set(wishes))} differ"
        old = [
            f"{name} {version}"
            for name, found in wishes.items()
            for version in versions[name]
            if not all(wish.specifier.contains(version, prereleases=True) for wish in found)
        ]
        assert not old, f"run make constraints: {old} no longer fit pyproject.toml"

    def test_it_holds_versions_and_hashes_but_no_addresses(self):
        text = read("constraints.txt")
        assert "://" not in text and "--index" not in text and "--find-links" not in text
        entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
        assert len(entries) > 100 and all("--hash=sha256:" in entry for entry in entries)


class FakePip:
    """Answers of pip, one after the other; what it was asked for is kept."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, *arguments):
        self.asked.append(arguments)
        code, said = self.answers.pop(0)
        return subprocess.CompletedProcess(arguments, code, "", said)


class TestInstall:
    def installed(self, monkeypatch, *answers):
        pip = FakePip(*answers)
        monkeypatch.setattr(install, "_pip", pip)
        return install.install(["docs"]), pip.asked

    def test_exact_versions_first(self, monkeypatch):
        code, asked = self.installed(monkeypatch, (0, ""), (0, ""))
        assert code == 0
        assert asked[0][:2] == ("--constraint", "constraints.txt")
        assert {"numba>=0.61", "--group=dev", "--group=docs"} <= set(asked[0])
        assert asked[1] == ("--no-deps", "--no-build-isolation", "--editable", ".")

    def test_the_newest_where_those_cannot_be_had(self, monkeypatch, capsys):
        code, asked = self.installed(monkeypatch, (1, "No matching distribution found"), (0, ""), (0, ""))
        assert code == 0 and len(asked) == 3
        assert "--constraint" not in asked[1]
        assert "cannot be installed here" in capsys.readouterr().err

    def test_a_file_with_another_hash_ends_it(self, monkeypatch, capsys):
        code, asked = self.installed(monkeypatch, (1, "THESE PACKAGES DO NOT MATCH THE HASHES FROM"))
        assert code == 1 and len(asked) == 1
        assert "nothing was installed" in capsys.readouterr().err


class TestRelease:
    @pytest.fixture
    def tree(self, tmp_path):
        """A copy of what the check reads, ready for a release of this version."""
        names = ["pyproject.toml", "CHANGELOG.md", "CITATION.cff", "src/widegap/__init__.py", release_check.RECIPE]
        names += [str(path.relative_to(ROOT)) for path in (ROOT / release_check.MODELS).glob("release-*.widegap")]
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
        self.change(tmp_path / "pyproject.toml", r'(?m)^repository = ".*"', 'repository = "https://forge.test/a/b"')
        self.change(tmp_path / "CITATION.cff", r"(?m)^license:", 'repository-code: "https://forge.test/a/b"\nlicense:')
        return tmp_path

    def change(self, path, pattern, text):
        path.write_text(re.sub(pattern, text, path.read_text(encoding="utf-8")), encoding="utf-8")

    def test_a_tree_that_is_ready(self, tree):
        assert release_check.reasons(tree, f"v{widegap.__version__}") == []

    def test_a_placeholder_is_refused(self, capsys):
        address = release_check._repository(ROOT)
        refused = [reason for reason in release_check.reasons(ROOT, None) if "is a placeholder" in reason]
        assert len(refused) == is_placeholder(address)
        assert release_check.main([]) == bool(release_check.reasons(ROOT, None))
        assert is_placeholder("https://repository.invalid/widegap") and is_placeholder("") and is_placeholder("todo")
        assert not is_placeholder("https://forge.test/a/b")

    @pytest.mark.parametrize(
        ("file", "pattern", "text", "reason"),
        [
            ("CHANGELOG.md", rf"## \[{NOW}\]", "## [0.0.9]", rf"no section \[{NOW}\]"),
            ("CHANGELOG.md", r"\Z", "\n## [0.0.9] - 2026-01-01\n", "no model file of version 0.0.9"),
            ("CITATION.cff", f"version: {NOW}", "version: 0.0.9", f"not of version {NOW}"),
            (release_check.RECIPE, f'version: "{NOW}"', 'version: "0.0.9"', f"recipe.yaml is not of version {NOW}"),
            ("CITATION.cff", "forge.test", "forge.example", "lacks the line repository-code"),
            ("src/widegap/__init__.py", f'"{NOW}"', '"9.9.9"', f"The tag is v{NOW}, but the version is 9.9.9"),
            ("pyproject.toml", "https://forge.test", "https://repository.invalid", "is a placeholder; set it"),
        ],
    )
    def test_what_does_not_fit_is_named(self, tree, file, pattern, text, reason):
        self.change(tree / file, pattern, text)
        assert any(re.search(reason, found) for found in release_check.reasons(tree, f"v{NOW}"))

    def test_the_checklist_names_what_there_is(self):
        text, makefile = read("tools/release.md"), read("Makefile")
        named = re.findall(r"`([^`]+)`", text)
        targets = [name.split()[1] for name in named if name.startswith("make ")]
        assert {"release-check", "test", "dist"} <= set(targets)
        assert all(f"\n{target}:" in makefile for target in targets)
        files = [name for name in named if "/" in name and " " not in name]
        assert len(files) >= 8 and all((ROOT / name).exists() for name in files)
        assert "tools/release.md" in read("CONTRIBUTING.md")

    def test_links_of_the_readme_hold_without_the_files_beside_it(self):
        text = with_addresses(read("README.md"), "https://forge.test/a/b", "v1")
        targets = re.findall(r"\]\(([^)]+)\)", text)
        assert len(targets) >= 10 and all(target.startswith("https://") for target in targets)
        assert "![digits on the page of widegap explore](https://forge.test/a/b/raw/v1/docs/images/explore.png)" in text
        ours = [target for target in targets if target.startswith("https://forge.test")]
        for target in ours:
            assert (ROOT / re.sub(r"^https://forge.test/a/b/(?:raw|blob)/v1/", "", target)).is_file(), target

    def test_metadata_have_addresses_once_there_is_one(self, tmp_path):
        core = pytest.importorskip("hatchling.metadata.core")
        for name in ("pyproject.toml", "README.md", "LICENSE", "tools/package_metadata.py", "src/widegap/__init__.py"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
        plugins = pytest.importorskip("hatchling.plugin.manager").PluginManager()
        self.change(tmp_path / "pyproject.toml", r'(?m)^repository = ".*"', 'repository = "https://forge.test/a/b"')
        found = core.ProjectMetadata(str(tmp_path), plugins)
        assert found.core.urls == project_urls("https://forge.test/a/b")
        assert f"](https://forge.test/a/b/blob/v{NOW}/docs/" in found.core.readme
        assert found.core.authors_data["name"] == ["the widegap developers"]
        self.change(tmp_path / "pyproject.toml", "https://forge.test", "https://repository.invalid")
        found = core.ProjectMetadata(str(tmp_path), plugins)
        assert found.core.urls == {} and found.core.readme == read("README.md")
