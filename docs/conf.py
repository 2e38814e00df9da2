"""The site: the pages of this folder, a page for each public class and function, and the gallery of `examples`.

make docs          everything, with the examples run
make docs-pages    without the gallery
"""

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT / "tests"), str(ROOT / "bench")]

from site_pages import escaped, relinked, write_generated_pages  # noqa: E402

from fastlin.version import __version__  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = next((url for name, url in PROJECT.get("urls", {}).items() if name in ("Source", "Repository")), None)

project = "fastlin"
author = "fastlin developers"
version = release = __version__
extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
exclude_patterns = ["_static", "**sg_execution_times.rst"]
default_role = "py:obj"  # `Perceptron` in a docstring is a link where there is such a page
smartquotes = False  # quotes are code here
toc_object_entries = False
add_module_names = False
python_use_unqualified_type_names = True
html_theme = "pydata_sphinx_theme"
html_title = "fastlin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "fastlin"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "install": [], "_generated/gallery*/**": []}
copyright = f"{author}, {PROJECT['license']}"  # noqa: A001 - Sphinx's name

autodoc_typehints = "none"  # the docstrings say what they are
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_heading_anchors = 4


def _with_gallery(app):
    """The examples are run where the build has the tag `gallery`; else one page says where they are."""
    with_gallery = app.tags.has("gallery")
    app.config.exclude_patterns.append("_generated/no-gallery" if with_gallery else "_generated/gallery")
    write_generated_pages(DOCS, with_gallery, REPOSITORY)


def _relink(app, docname, source):  # noqa: ARG001 - Sphinx's signature
    """Links that work on a forge lead to pages of the site."""
    if not docname.startswith("_generated") and (DOCS / f"{docname}.md").exists():
        place = docname.rpartition("/")[0]
        text = source[0].replace("\n\n```\n", "\n```\n")  # the blank line that ends a doctest
        source[0] = relinked(text, f"docs/{place}".rstrip("/"), place, REPOSITORY)


def _as_text(app, what, name, obj, options, lines):  # noqa: ARG001 - Sphinx's signature
    """Docstrings are text: |x| is no substitution and coef_ no target, but in examples, where they are code."""
    lines[:] = escaped(lines)


def setup(app):
    if app.tags.has("gallery"):
        app.setup_extension("sphinx_gallery.gen_gallery")
        app.config.sphinx_gallery_conf = GALLERY
    app.connect("builder-inited", _with_gallery, priority=100)
    app.connect("source-read", _relink)
    app.connect("autodoc-process-docstring", _as_text, priority=100)  # before numpydoc


GALLERY = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "_generated/gallery",
    "filename_pattern": r"\.py",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "reset_modules": (),
    "capture_repr": ("__repr__",),
}
