"""Links from an estimator in a notebook to its page of the documentation.

The site may be on a server of the team, or in the folder that ``make docs`` writes. The environment variable
``WIDEGAP_DOCS`` holds its address; without it there is no link, rather than a dead one.
"""

import os

VARIABLE = "WIDEGAP_DOCS"


class HasPage:
    """For estimators: scikit-learn's diagram shows a question mark that opens their page."""

    def _get_doc_link(self) -> str:
        site = os.environ.get(VARIABLE, "").rstrip("/")
        return f"{site}/generated/widegap.{type(self).__name__}.html" if site and self._is_public() else ""

    def _is_public(self) -> bool:
        return type(self).__module__.split(".")[0] == "widegap"
