"""Formulas as MathML, which every current browser shows by itself: the site needs no script and no font for them."""

from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

log = logging.getLogger(__name__)


def _mathml(latex: str, display: str, node: nodes.Node) -> str:
    try:
        return convert(latex, display=display)
    except Exception as error:  # the converter has many kinds: each is a mistake on the page
        log.warning("cannot convert the formula %r: %s", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"


def visit_inline(self, node):
    self.body.append(_mathml(node.astext(), "inline", node))
    raise nodes.SkipNode


def visit_block(self, node):
    names, number = "".join(f' id="{name}"' for name in node["ids"][:1]), ""
    if node.get("number") is not None:
        number = f'<span class="number">({get_node_equation_number(self, node)})</span>'
    self.body.append(f'<div class="formula"{names}>{_mathml(node.astext(), "block", node)}{number}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True}
