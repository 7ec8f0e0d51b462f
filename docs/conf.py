"""The documentation site: `make docs` builds it into target/docs. Warnings are errors."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "lazyglm"
author = "the lazyglm authors"
copyright = author
version = release = "0.1.0"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "mathml",  # formulas, without scripts
    "program",  # what the program prints
    "records",  # the age of a measurement
    "estimators",  # parameters that scikit-learn describes; Spark without Spark
    "repository",  # links to files of the repository
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}  # the gallery and the Python reference are generated as .rst
exclude_patterns = ["gallery", "conftest.py"]  # sphinx-gallery turns it into examples/
root_doc = "index"
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
suppress_warnings = ["config.cache"]

autosummary_generate = True
templates_path = ["_templates"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": "plot_",
    "download_all_examples": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "reset_modules": ("matplotlib",),
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "lazyglm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the system of the reader; without it the theme reports an error at the first visit
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}

# The program whose help is shown: the one that make has just built.
lazyglm_program = os.environ.get("LAZYGLM", str(HERE.parent / "target/debug/lazyglm"))


def setup(app):
    """Leaves scikit-learn's own methods for metadata routing out of the reference."""

    def skip(app, what, name, thing, skipped, options):
        return True if name.endswith(("_request", "metadata_routing")) else None

    app.connect("autodoc-skip-member", skip)
