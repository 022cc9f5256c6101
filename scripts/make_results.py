"""Publish tables: docs/results/NAME.md and NAME.csv from a results folder.

python scripts/make_results.py --results runs mamem_acc    # tables that were run there; all if none is named
python scripts/make_results.py --results runs --against gbwbn mamem_acc
"""

from __future__ import annotations

import argparse
from pathlib import Path

from spdnorm.experiments import Store, Table, load_tables
from spdnorm.experiments.report import EXPLANATION, POOLED, against, facts, layout, pooled, to_csv, to_markdown

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "results"


def page(table: Table, reference: str | None, *, pools: bool = False) -> str:
    """The table, what has to be said with it, paired differences from a row, and pools of its networks."""
    parts = [to_markdown(layout(table), title=table.recipe.title, facts=facts(table)).replace("## ", "# ", 1)]
    compared = None if reference is None else against(table, reference)
    if compared is not None:
        parts.append(to_markdown(compared, title="Paired differences", facts=[EXPLANATION]))
    pool = pooled(table) if pools else None
    if pool is not None:
        parts.append(to_markdown(pool, title="Pooled over replicates", facts=[POOLED]))
    parts.append(
        f"Every run: [{table.name}.csv]({table.name}.csv). `spdnorm reproduce {table.recipe.name}` runs the table, "
        "`python scripts/make_results.py` writes this page.\n"
    )
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--results", type=Path, default=Path("runs"))
    parser.add_argument("--against", help="a row to compare with every other one")
    parser.add_argument("--pooled", action="store_true", help="pool the networks of each row; needs data and weights")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for table in load_tables(Store(options.results), options.names):
        reference = options.against if options.against in {row.key for row in table.recipe.rows} else None
        (FOLDER / f"{table.name}.md").write_text(page(table, reference, pools=options.pooled), encoding="utf-8")
        (FOLDER / f"{table.name}.csv").write_text(to_csv(table), encoding="utf-8")
        print(f"wrote {(FOLDER / table.name).relative_to(ROOT)}.md and .csv")


if __name__ == "__main__":
    main()
