"""Formulas as MathML, which browsers draw by themselves."""

from latex2mathml.converter import convert


def _visit_inline(writer, node):
    writer.body.append(convert(node.astext()))
    raise _skip()


def _visit_block(writer, node):
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
