"""Configuration of the documentation: `make docs`, or sphinx-build -W -b html docs docs/_build/html."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

# The examples are small: one thread each, no window, no download.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import spdnorm  # noqa: E402

project = "spdnorm"
author = "The spdnorm developers"
copyright = f"2026, {author}"
version = release = spdnorm.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "mathml",
    "generated_pages",
    "paper_equations",
    "plain_docstrings",
]
exclude_patterns = [
    "_build",
    "results/*.json",
    "auto_examples/*.ipynb",
    "auto_examples/*.py",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]  # the sorting function of the gallery cannot be pickled

# Mathematics is turned into MathML when the site is built: nothing is loaded from anywhere when it is read.
html_math_renderer = "mathml"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    # The operators of a metric are inherited from ours; what comes from these is theirs to document.
    "inherited-members": "Module,Optimizer,Manifold,BaseEstimator,ClassifierMixin,TransformerMixin,"
    "BaseModel,Exception,tuple",
    "exclude-members": "get_metadata_routing,set_fit_request,set_partial_fit_request,set_score_request,score,"
    "set_transform_request,set_output,model_config,training",
}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 0,
}

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "spdnorm"
html_static_path = ["_static"]
html_css_files = ["spdnorm.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "changelog": [], "faq": [], "numerics": [], "reproducibility": []}
