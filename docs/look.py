"""Opens the built site in a headless Chromium: `python3 docs/look.py target/docs [--shots FOLDER] [--record FILE]`.

Every page must load without an error in the browser's console, show its formulas, and fit into the width of a phone. The search must find a
word, and the reference of the Rust library must open. With `--shots`, pictures of some pages are kept: light, dark, and as wide as a phone.
`chromium` and `chromedriver` are needed (Debian: chromium-driver). Without them there is nothing to look with, and the script says so.
"""

import argparse
import base64
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (400, "light")}
SHOWN = [
    "index.html", "tutorials/python.html", "maths/objective.html", "reference/program.html", "speed.html",
    "reference/generated/lazyglm.AutoClassifier.html", "examples/index.html",
]
WITHOUT_FORMULAS = ("maths/index.html", "maths/references.html")
RUST = "rust/lazyglm/index.html"
PORT = re.compile(r"successfully on port (\d+)")

# How far a page goes beyond the window, in pixels; a table or a block of code may scroll within the page.
TOO_WIDE = """
const width = document.documentElement.clientWidth;
const scrolls = (e) => e.tagName != "ARTICLE" && e.tagName != "BODY" && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
let beyond = document.documentElement.scrollWidth - width;
for (const e of document.querySelectorAll("article code, article a, article p, article img")) {
    const right = e.getBoundingClientRect().right - width;
    if (right > beyond && !scrolls(e.parentElement)) beyond = right;
}
return Math.round(beyond);
"""


class Browser:
    """One Chromium, led by chromedriver through its own protocol: HTTP with JSON."""

    def __init__(self, browser: str, driver: str):
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        port = next((found[1] for line in self.process.stdout if (found := PORT.search(line))), None)
        if port is None:
            raise SystemExit(f"docs/look.py: chromedriver did not start")
        self.at = f"http://127.0.0.1:{port}"
        self.web = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the pages are on this machine
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"]
        options = {"binary": browser, "args": flags}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        begun = self.ask("/session", {"capabilities": wanted})
        self.version = begun["capabilities"]["browserVersion"]
        self.at += f"/session/{begun['sessionId']}"

    def ask(self, path: str, words: dict) -> object:
        request = urllib.request.Request(self.at + path, json.dumps(words).encode(), {"Content-Type": "application/json"})
        with self.web.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> list[str]:
        """Opens a page, and returns the errors of its console."""
        self.ask("/url", {"url": url})
        said = self.ask("/se/log", {"type": "browser"})
        return [entry["message"] for entry in said if entry["level"] == "SEVERE"]

    def run(self, script: str) -> object:
        return self.ask("/execute/sync", {"script": script, "args": []})

    def tell(self, command: str, **words: object) -> dict:
        return self.ask("/goog/cdp/execute", {"cmd": command, "params": words})

    def look(self, width: int, theme: str) -> None:
        """Sets the width of the window, and whether the system prefers a dark theme."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=1600, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def picture(self) -> bytes:
        return base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        end = urllib.request.Request(self.at, method="DELETE")  # chromedriver alone would leave Chromium running
        with self.web.open(end, timeout=30):
            pass
        self.process.terminate()
        self.process.wait(30)


def serve(folder: Path) -> str:
    """Serves a folder on this machine until the script ends."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def look_at_pages(browser: Browser, at: str, site: Path) -> tuple[list[str], list[str]]:
    """Opens all pages but those of the Rust reference, of which the first one stands for all; the pages, and what is wrong."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages, wrong = [page for page in found if not page.startswith(("_static", "rust/"))], []
    for page in [*pages, RUST]:
        browser.look(*WIDTHS["light"])
        wrong += [f"{page}: {said}" for said in browser.open(f"{at}/{page}")]
        has_formulas = page.startswith("maths/") and page not in WITHOUT_FORMULAS
        if has_formulas and not browser.run("return document.querySelectorAll('math').length"):
            wrong.append(f"{page}: there is no formula")
        browser.look(*WIDTHS["phone"])
        if page != RUST and (beyond := browser.run(TOO_WIDE)) > 1:
            wrong.append(f"{page}: {beyond} pixels wider than a phone")
    return [*pages, RUST], wrong


def search(browser: Browser, at: str, word: str) -> int:
    """The number of pages that the search finds."""
    browser.open(f"{at}/search.html?q={word}")
    count, last = 0, -1
    for _ in range(50):  # the list grows while it is shown
        count = browser.run("return document.querySelectorAll('#search-results ul.search > li').length")
        if 0 < count == last:
            break
        last = count
        time.sleep(1)
    return count


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("site", type=Path)
    words.add_argument("--shots", type=Path)
    words.add_argument("--record", type=Path)
    args = words.parse_args()
    browser, driver = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if browser is None or driver is None:
        print("docs/look.py: skipped, nobody looked at the site: chromium and chromedriver are not installed (apt install chromium chromium-driver)")
        return 0
    at, led = serve(args.site), Browser(browser, driver)
    try:
        pages, wrong = look_at_pages(led, at, args.site)
        if (hits := search(led, at, "elastic")) < 5:
            wrong.append(f"search.html: the search for 'elastic' finds {hits} pages")
        for page in SHOWN if args.shots else []:
            for name, (width, theme) in WIDTHS.items():
                led.look(width, theme)
                led.open(f"{at}/{page}")
                args.shots.mkdir(parents=True, exist_ok=True)
                (args.shots / f"{page.replace('/', '-').removesuffix('.html')}-{name}.png").write_bytes(led.picture())
    finally:
        led.close()
    said = [f"Chromium {led.version}: {len(pages)} pages opened, {len(wrong)} errors; the search for 'elastic' finds {hits} pages", *wrong]
    print(*said, sep="\n")
    if args.record:
        args.record.parent.mkdir(parents=True, exist_ok=True)
        how = "The site in a headless browser, as `make docs-look RECORD=FILE` prints it. "
        how += "Each page: no error in the console, formulas shown, no wider than a phone.\n"
        how += "Seen as pictures, too (light, dark, phone): " + ", ".join(SHOWN) + "." if args.shots else ""
        args.record.write_text("\n".join([how, *said, "", *pages]) + "\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
