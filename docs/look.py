"""Opens the built site in a headless Chromium: `python3 docs/look.py target/docs [--shots FOLDER]`.

Every page must load without an error in the browser's console, formulas must be there, and the search must find a word. With `--shots`,
pictures of some pages are kept: light, dark, and as wide as a phone. Without a Chromium there is nothing to look with, and the script says so.
"""

import argparse
import functools
import http.server
import shutil
import subprocess
import sys
import threading
from pathlib import Path

SIZES = {"light": ["--window-size=1280,1600"], "dark": ["--window-size=1280,1600", "--force-dark-mode"], "phone": ["--window-size=400,1600"]}
SHOWN = ["index.html", "tutorials/python.html", "maths/index.html", "reference/generated/lazyglm.AutoClassifier.html", "examples/index.html"]


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def opened(browser: str, url: str, *flags: str) -> tuple[str, str]:
    """The page as the browser has built it, and what its console said."""
    call = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=8000", *flags, url]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def serve(folder: Path) -> str:
    """Serves a folder on this machine until the script ends."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("site", type=Path)
    words.add_argument("--shots", type=Path)
    args = words.parse_args()
    browser = chromium()
    if browser is None:
        print("skipped: there is no chromium on this machine")
        return 0
    at, wrong = serve(args.site), []
    pages = sorted(path.relative_to(args.site).as_posix() for path in args.site.rglob("*.html") if "_static" not in path.parts)
    for page in pages:
        dom, said = opened(browser, f"{at}/{page}", "--dump-dom")
        if "</html>" not in dom or "error" in said.lower():
            wrong.append(f"{page}: {said or 'no page'}")
    dom, _ = opened(browser, f"{at}/search.html?q=elastic", "--dump-dom")
    if "search-summary" not in dom or dom.count("<li") < 5:
        wrong.append("search.html: the search for 'elastic' finds nothing")
    for page in SHOWN if args.shots else []:
        for name, flags in SIZES.items():
            args.shots.mkdir(parents=True, exist_ok=True)
            picture = args.shots / f"{page.replace('/', '-').removesuffix('.html')}-{name}.png"
            opened(browser, f"{at}/{page}", f"--screenshot={picture}", *flags)
    print(f"{len(pages)} pages opened, {len(wrong)} with errors", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
