"""A report in headless Chromium: it opens, folds, is searched and printed, and no script fails."""

import base64
import json
import os
import shutil
import subprocess

import pytest

from cli.test_report import mislabelled


class Browser:
    """Chromium that is told what to do through a pair of pipes, a message of JSON between NULs."""

    def __init__(self, profile):
        (theirs, self._out), (self._in, other) = os.pipe(), os.pipe()
        command = [
            "bash", "-c", f'exec "$0" "$@" 3<&{theirs} 4>&{other}', shutil.which("chromium"), "--headless",
            "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, pass_fds=(theirs, other), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(other)
        self._number, self._rest, self.errors, self._session = 0, b"", [], None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self(f"{domain}.enable")

    def __call__(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._wait(lambda found: found.get("id") == self._number)["result"]

    def open(self, path):
        self("Page.navigate", url=path.as_uri())
        self._wait(lambda found: found.get("method") == "Page.loadEventFired")

    def evaluate(self, expression):
        found = self("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _wait(self, wanted):
        while True:
            while b"\0" not in self._rest:
                part = os.read(self._in, 1 << 20)
                assert part, "the browser is gone"
                self._rest += part
            text, _, self._rest = self._rest.partition(b"\0")
            found = json.loads(text)
            if found.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(found)
            if wanted(found):
                return found

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)


@pytest.fixture
def browser(tmp_path):
    one = Browser(tmp_path / "profile")
    yield one
    one.close()


@pytest.fixture
def report(shell, folder, tmp_path):
    path = tmp_path / "page.html"
    shell.right("report", folder / "model.fastlin", mislabelled(tmp_path / "dev.tsv"), "-o", path)
    return path


@pytest.mark.program("chromium")
def test_a_report_opens_folds_is_searched_and_printed(report, browser):
    browser.open(report)
    entries = 'Array.from(document.querySelectorAll(".entry"))'
    n = browser.evaluate(f"{entries}.length")
    assert n > 2
    browser.evaluate('document.querySelector(".entry summary").click()')
    assert browser.evaluate('document.querySelector(".entry details").open') is True
    word = browser.evaluate(f'{entries}[0].querySelector("p").textContent')
    browser.evaluate('const box2 = document.getElementById("search")')
    browser.evaluate(f"box2.value = {json.dumps(word)}; box2.dispatchEvent(new Event('input'))")
    assert browser.evaluate(f"{entries}.filter(one => !one.hidden).length") == 1
    assert browser.evaluate('document.getElementById("found").textContent') == "1 found"
    browser.evaluate("box2.value = ''; box2.dispatchEvent(new Event('input'))")
    assert browser.evaluate(f"{entries}.filter(one => !one.hidden).length") == n
    assert base64.b64decode(browser("Page.printToPDF")["data"]).startswith(b"%PDF")
    assert browser.errors == []


@pytest.mark.program("chromium")
def test_a_script_that_slipped_in_would_not_run(report, browser):
    report.write_text(report.read_text().replace("</h1>", "</h1><script>window.ran = 1</script>"))
    browser.open(report)
    assert browser.evaluate("window.ran") is None
    assert browser.errors  # the policy has stopped it
