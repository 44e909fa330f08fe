"""Formulas as MathML, which browsers draw by themselves."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

SIZED_NORM = re.compile(r"\\[bB]ig[lr]?\\\|")  # not known to the converter; the browser sizes bars by itself


def formula(node, display="inline"):
    """The MathML of a formula."""
    return convert(SIZED_NORM.sub(r"\\Vert ", node.astext()), display=display)


def _visit_inline(writer, node):
    writer.body.append(formula(node))
    raise SkipNode


def _visit_block(writer, node):
    writer.body.append(f'<div class="formula">{formula(node, "block")}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
