"""A pytest plugin that keeps which test failed by an assertion, and stops at the first one that does."""

from typing import Any

import pytest


class Outcome:
    """Count the tests that pass, keep the first failed assertion and all other failures."""

    def __init__(self) -> None:
        self.passed = 0
        self.killed_by: str | None = None
        self.others: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Look at each report."""
        report = yield
        if report.passed and call.when == "call":
            self.passed += 1
        if report.failed:
            self._failed(item, call)
        return report

    def _failed(self, item: Any, call: Any) -> None:
        """Count only an assertion of the test itself: another error says that the patch broke the code, no more."""
        if call.when == "call" and isinstance(call.excinfo.value, AssertionError):
            self.killed_by = item.nodeid
            item.session.shouldstop = "an assertion failed"
        else:
            self.others.append(f"{item.nodeid}: {call.excinfo.type.__name__}")

    def pytest_collectreport(self, report: Any) -> None:
        """Keep what could not be collected."""
        if report.failed:
            self.others.append(f"{report.nodeid}: not collected")
