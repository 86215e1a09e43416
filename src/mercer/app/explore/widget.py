"""The explorer as a widget of a notebook: the same page, whose requests are the widget's messages."""

from __future__ import annotations

import warnings
from importlib import resources
from typing import Any

from .desk import in_words
from .packing import packed
from .session import Session


def widget(session: Session) -> Any:
    """Return a widget that shows a session; ``pip install 'mercer[notebook]'``."""
    try:
        from anywidget import AnyWidget
        from traitlets import Unicode
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The explorer in a notebook needs {error.name}: pip install 'mercer[notebook]'", name=error.name
        ) from None
    files = resources.files(__package__)

    class ExplorerWidget(AnyWidget):
        """The page in a cell."""

        _esm = files.joinpath("explorer.js").read_text(encoding="utf-8")
        _css = files.joinpath("explorer.css").read_text(encoding="utf-8")
        markup = Unicode(markup()).tag(sync=True)

    found = ExplorerWidget()
    found.on_msg(lambda _, message, buffers: found.send(*answer(session, message)))
    return found


def markup() -> str:
    """Return the part of the page that the module brings to life, for documents that are not ours."""
    page = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return page.partition('<div id="explorer">')[2].partition("</div>\n<noscript>")[0]


def answer(session: Session, message: Any) -> tuple[dict[str, Any], list[bytes]]:
    """Return the answer to one message of the page: a header, and the packed answer or none."""
    number, kind = message.get("id"), message.get("kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of a fit are in its answer
        try:
            return {"id": number}, [packed(*session.answer(kind, message.get("body")))]
        except KeyboardInterrupt:
            return {"id": number, "error": "The computation was interrupted. Move a control to start it again."}, []
        except Exception as error:
            return {"id": number, "error": in_words(error)[1]}, []
