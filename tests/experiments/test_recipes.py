"""The tables as data: held against the paper's own text where it is at hand, and complete by themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from spdnorm import datasets, experiments, models, optim
from spdnorm.experiments import ConfigError, Recipe, RunConfig, Store, load_recipe, recipe, recipe_names
from spdnorm.experiments.recipe import Row
from spdnorm.experiments.run import run

#: Tables of the paper; the others are ours.
OURS = {"demo", "mamem_ablation", "mamem_adapted", "mamem_variants", "ssvep_exoskeleton"}
TABLES = [name for name in recipe_names() if name not in OURS]
NORMS = {"none", "spd", "spdm", "manifold", "lie", "gbw", "bw"}


def configs(recipe: Recipe, **options: object) -> list[RunConfig]:
    return [entry.config for entry in recipe.entries(**options)]  # type: ignore[arg-type]


def paper_table(source: str) -> str:
    """The body of a table of the paper by its label, from the paper's source beside the real data."""
    paper = Path(__file__).parents[3] / "shared" / "paper.tex"
    if not paper.is_file():
        pytest.skip(f"the paper's source is not at {paper}")
    tables = re.findall(r"\\begin\{table\*?\}(.*?)\\end\{table\*?\}", paper.read_text(), re.DOTALL)
    (found,) = (table for table in tables if rf"\label{{{source}}}" in table)
    return found[found.index(r"\midrule") :] if r"\midrule" in found else found


def pairs(text: str) -> list[tuple[float, float]]:
    # One number is typeset as \textbf{69.10 $\pm$ 0.8}3.
    text = text.replace("0.8}3", "0.83}")
    return sorted((float(a), float(b)) for a, b in re.findall(r"([\d.]+)\s*\$\\pm\$\s*([\d.]+)", text))


def test_variants_differ_and_share_their_first_row_with_the_table() -> None:
    variants = load_recipe("mamem_variants")
    by_row = {row.key: {c.hash for c in configs(variants, rows=(row.key,))} for row in variants.rows}
    assert by_row["gbwbn"] == {c.hash for c in configs(load_recipe("mamem_acc"), rows=("gbwbn",))}
    assert len(set().union(*by_row.values())) == sum(map(len, by_row.values()))


def test_what_is_not_adapted_is_the_paper_s_table() -> None:
    adapted, table = load_recipe("mamem_adapted"), load_recipe("mamem_acc")
    rows = tuple(row.key for row in adapted.rows)
    plain = {c.hash for c in configs(adapted, columns=("mamem",))}
    assert plain == {c.hash for c in configs(table, rows=rows)}
    others = {c.hash for c in configs(adapted, columns=("adapted", "domains"))}
    assert len(others) == 2 * len(plain)
    assert not others & plain


def test_sessions_of_the_exoskeleton_set_are_kept_apart_and_none_is_counted_twice(data_dir: Path) -> None:
    recipe, sessions = load_recipe("ssvep_exoskeleton"), datasets.load("ssvep-exoskeleton", data_dir)
    within = {c.data.where["session"] for c in configs(recipe, columns=("within",))}
    # One recording is in the set twice, as a session of two subjects.
    (copy,) = set(sessions.column("session").tolist()) - within
    same = [s for s, part in sessions.split_by("session").items() if (part.x == sessions.where(session=copy).x).all()]
    assert len(same) == 2
    subjects = set(sessions.column("subject").tolist())
    for column in ("across", "adapted", "domains"):
        found = configs(recipe, columns=(column,), rows=("gbwbn",))
        assert [c.data.where["subject"] for c in found] == sorted(subjects) * 5
    for column in recipe.columns:
        splits = {}
        for entry in recipe.entries(columns=(column.key,)):
            splits.setdefault((entry.replicate, entry.member), set()).add(entry.config.data.split.model_dump_json())
        assert all(len(found) == 1 for found in splits.values())


@pytest.mark.parametrize("name", TABLES)
def test_published_numbers_are_the_papers(name: str) -> None:
    recipe = load_recipe(name)
    text = paper_table(recipe.source)
    if recipe.layout == "conditions":
        counts = re.findall(r"([\d,]+)\s*\([\d.]+\\%\)", text)
        ours = [n for row in recipe.rows for by in row.paper_counts.values() for triple in by.values() for n in triple]
        assert sorted(ours) == sorted(int(count.replace(",", "")) for count in counts)
        return
    assert sorted(tuple(pair) for row in recipe.rows for pair in row.paper.values()) == pairs(text)
    seconds = sorted(value for row in recipe.rows for value in row.paper_seconds.values())
    if seconds:
        after = re.findall(r"\$\\pm\$\s*[\d.]+\}?\s*&\s*(?:\\textbf\{)?([\d.]+)\}?\s*(?:&|\\\\)", text)
        assert seconds == sorted(map(float, after))


def test_every_table_of_the_paper_is_there() -> None:
    assert set(TABLES) == {
        "mamem_acc",
        "combined_acc",
        "lambda_comparison",
        "combined_lambda_eigenvalue",
        "ntu_bimap_acc",
        "bwm_comparison",
        "ntu_theta_acc",
    }
    # As the paper's source calls two of them.
    assert load_recipe("tab:bwm_comparison") == load_recipe("bwm_comparison")
    assert len(load_recipe("mamem_acc").rows) == 13
    assert [row.key for row in load_recipe("combined_acc").rows] == [
        "rresnet",
        "spdbn",
        "spdmbn",
        "manifoldnorm",
        "liebn",
        "gbwbn",
        "gbwbn-0.5",
    ]


@pytest.mark.parametrize("name", recipe_names())
def test_every_run_names_what_exists(name: str) -> None:
    recipe = load_recipe(name)
    columns = tuple(column.key for column in recipe.columns)
    for config in [*configs(recipe, columns=columns), *configs(recipe, quick=True)]:
        datasets.info(config.data.name)
        assert config.model.name in models.names()
        assert config.model.norm in NORMS
        assert config.optim.name in optim.names()


def test_hyper_parameters_are_the_papers() -> None:
    spd_rows = ("spdnet", "spdbn", "spdmbn", "manifoldnorm", "liebn", "gbwbn")
    for config in configs(load_recipe("mamem_acc"), rows=spd_rows) + configs(load_recipe("lambda_comparison")):
        assert (config.optim.lr, config.train.epochs, config.train.batch_size) == (2.5e-3, 200, 30)
        # Sessions 1-3, 4 and 5 are the data set's own column.
        assert config.data.split.by == "column"
    for name in ("combined_acc", "ntu_bimap_acc", "bwm_comparison", "ntu_theta_acc"):
        for config in configs(load_recipe(name), columns=("hdm05", "ntu")):
            expected = (2.5e-3, 200, 30) if config.data.name == "hdm05" else (1e-2, 100, 256)
            assert (config.optim.lr, config.train.epochs, config.train.batch_size) == expected
            assert config.data.split.by == "half"
            assert config.model.options["hidden"] in ([30], [])
        folds = {config.data.split.fold for config in configs(load_recipe(name), columns=("hdm05",))}
        assert folds == set(range(10))
    lambdas = [c.model.options.get("epsilon", 1e-5) for c in configs(load_recipe("lambda_comparison"), replicates=1)]
    assert sorted(set(lambdas)) == [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]


def test_the_table_of_condition_numbers_has_the_papers_epochs_and_lambdas() -> None:
    recipe = load_recipe("combined_lambda_eigenvalue")
    found = {row.key: configs(recipe, rows=(row.key,)) for row in recipe.rows}
    assert all([config.model.norm for config in pair] == ["none", "gbw"] for pair in found.values())
    for key, pair in found.items():
        for config in pair:
            epochs = {"ntu": (1, 50, 100), "mamem": (1, 100, 200), "hdm05": (1, 100, 200)}.get(config.data.name)
            if epochs is None:
                continue
            expected = (1e-2, 256) if key == "ntu" else (2.5e-3, 30)
            assert (config.optim.lr, config.train.batch_size) == expected
            assert config.train.condition_epochs == epochs
            assert config.train.epochs == epochs[-1]
            assert {str(epoch) for epoch in epochs} == set(next(r for r in recipe.rows if r.key == key).paper_counts)
            if config.data.name == "mamem":
                assert config.model.options.get("epsilon", 1e-5) == float(key.removeprefix("mamem-"))


def test_what_a_row_is_called_is_what_it_trains() -> None:
    norms = {"spdnet": "none", "rresnet": "none", "spdbn": "spd", "spdmbn": "spdm", "manifoldnorm": "manifold"}
    norms |= {"liebn": "lie", "gbwbn": "gbw", "gbwbn-0.5": "gbw", "bwbn": "bw", "gbwbn-no-bimap": "gbw"}
    norms |= {"spdbn-no-bimap": "spd", **dict.fromkeys(("0.25", "0.5", "0.75", "1.0"), "gbw")}
    for name in ("mamem_acc", "combined_acc", "bwm_comparison", "ntu_bimap_acc", "ntu_theta_acc"):
        for entry in load_recipe(name).entries(replicates=1):
            model = entry.config.model
            if entry.row not in norms:
                assert model.name.replace("-", "") == entry.row.replace("-", "")
                continue
            assert model.norm == norms[entry.row]
            assert (model.options.get("hidden") == []) == entry.row.endswith("no-bimap")
            if model.norm == "gbw":
                power = entry.row if name == "ntu_theta_acc" else "0.5" if entry.row == "gbwbn-0.5" else "1"
                assert model.norm_options["theta"] == float(power)


def test_the_common_cell_of_two_tables_is_one_run() -> None:
    found = [
        {config.hash for config in configs(load_recipe(name), rows=(row,), columns=(column,))}
        for name, row, column in (("mamem_acc", "gbwbn", "mamem"), ("lambda_comparison", "1e-5", "gbwbn"))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", TABLES)
def test_the_split_is_the_same_for_every_method(name: str) -> None:
    seen: dict[tuple[str, int, int], set[str]] = {}
    for entry in load_recipe(name).entries():
        where = (entry.config.data.name, entry.replicate, entry.member)
        seen.setdefault(where, set()).add(entry.config.data.split.model_dump_json())
    assert all(len(splits) == 1 for splits in seen.values())


def test_later_parts_of_a_recipe_win() -> None:
    tree = load_recipe("demo").model_dump(mode="json")
    tree["columns"] = [{"key": "c", "label": "c", "set": {"train": {"epochs": 7, "batch_size": 11}}}]
    tree["rows"] = [Row(key="r", label="r", set={"train": {"epochs": 8}}).model_dump(mode="json")]
    tree["quick"] = {"set": {"optim": {"lr": 0.5}}}
    recipe = Recipe.model_validate(tree)
    (config, *_) = configs(recipe)
    assert (config.train.epochs, config.train.batch_size, config.optim.lr) == (8, 11, 0.01)
    (config, *_) = configs(recipe, quick=True, overrides={"train.epochs": 9})
    assert (config.train.epochs, config.optim.lr) == (9, 0.5)


def test_a_file_of_ones_own_is_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('include = ["demo"]\nname = "mine"\ntitle = "Mine"\n[base.train]\nepochs = 2\n')
    assert {config.train.epochs for config in configs(load_recipe(str(path)))} == {2}
    path.write_text('include = ["demo"]\nname = "mine"\ntitel = "Mine"\n')
    with pytest.raises(ConfigError, match=r"titel: Extra inputs"):
        load_recipe(str(path))
    path.write_text("name = ")
    with pytest.raises(ConfigError, match=r"mine\.toml"):
        load_recipe(str(path))
    with pytest.raises(ConfigError, match="there are bwm_comparison, combined_acc"):
        load_recipe("combined")


#: Names that mean something to Python, where a recipe may put a name or a value.
FOREIGN = ("os.system", "builtins.eval", "__import__('os').system('touch mark')", "$(touch mark)", "{os.mkdir('mark')}")
PLACES = (
    ("model.name", 'model = {{ name = "{0}" }}'),
    ("model.norm", 'model = {{ norm = "{0}" }}'),
    ("optim.name", 'optim = {{ name = "{0}" }}'),
    ("optim.schedule.name", 'optim = {{ schedule = {{ name = "{0}" }} }}'),
    ("data.name", 'data = {{ name = "{0}" }}'),
    ("data.name", 'data = {{ name = "moabb:{0}" }}'),
    ("data.covariance", 'data = {{ covariance = {{ estimator = "{0}" }} }}'),
    ("data.options", 'data = {{ options = {{ reader = "{0}" }} }}'),
    ("model.options", 'model = {{ options = {{ vectorize = "{0}" }} }}'),
    ("train.dtype", 'train = {{ dtype = "{0}" }}'),
)


def run_first(path: Path, store: Store) -> None:
    run(configs(load_recipe(str(path)), quick=True)[0], store=store)


@pytest.mark.parametrize("text", FOREIGN)
def test_a_recipe_is_data_and_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    for place, line in PLACES:
        path.write_text(f'include = ["demo"]\nname = "mine"\ntitle = "Mine"\n[quick.set]\n{line.format(text)}\n')
        with pytest.raises((ValueError, datasets.DatasetError, ImportError)):
            run_first(path, Store(tmp_path / "runs" / place / str(hash(line))))
    # Text that is shown is shown, whatever it says.
    path.write_text(f'include = ["demo"]\nname = "{text}"\ntitle = "{text}"\nnotes = "{text}"\n')
    assert load_recipe(str(path)).title == text
    assert not list(tmp_path.rglob("mark"))


@pytest.mark.parametrize("name", ["download", "alex_mi", "_init_dataset"])
def test_only_data_sets_of_moabb_are_called(name: str) -> None:
    """What else its module holds, functions among it, is no data set."""
    pytest.importorskip("moabb")
    with pytest.raises(datasets.DatasetError, match="MOABB has no data set"):
        datasets.load(f"moabb:{name}")


def test_the_experiments_evaluate_no_text() -> None:
    """No eval, exec or import of a computed name, and no shell, in all that reads configurations."""
    source = Path(experiments.__file__).parent
    for file in source.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("eval", "exec", "compile", "__import__", "os.system"), file
                assert called.rpartition(".")[2] not in ("import_module", "run_path", "run_module"), file
                assert not any(k.arg == "shell" for k in node.keywords), file


def test_includes_are_names_of_the_package_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    other.write_text('name = "other"\n')
    for name in (str(other.with_suffix("")), "../recipes/demo", "no_such"):
        path.write_text(f'include = ["{name}"]\nname = "mine"\ntitle = "Mine"\n')
        with pytest.raises(ConfigError, match="no recipe is named"):
            load_recipe(str(path))
    monkeypatch.setattr(recipe, "_packaged", lambda name: 'include = ["demo"]')
    path.write_text('include = ["demo"]')
    with pytest.raises(ConfigError, match=r"demo includes itself: .*mine\.toml -> demo -> demo"):
        load_recipe(str(path))
