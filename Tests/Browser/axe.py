"""axe-core, which finds much of what keeps people with a disability out of a page. `.ci/setup browser` gets it."""
import glob
import zipfile

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def load(browser, folder):
    """Has every page that is opened from now on bring axe with it, out of the Python package in `folder`."""
    packages = glob.glob(f"{folder}/axe_playwright_python-*.whl")
    if not packages:
        raise SystemExit("axe is missing. Run .ci/setup browser.")
    with zipfile.ZipFile(packages[0]) as package:
        source = package.read("axe_playwright_python/axe.min.js").decode()
    browser.tools("Page.addScriptToEvaluateOnNewDocument", source=source)


def violations(browser):
    """The rules that the page breaks, each with the elements and what to do."""
    found = browser.send("/execute/async", {"script": """
        const [tags, done] = arguments;
        axe.run(document, { runOnly: tags, resultTypes: ["violations"], preload: false }).then(
            ({ violations }) => done(violations.flatMap(({ id, nodes }) => nodes.map(
                ({ target, failureSummary }) => [id, target.join(" "), failureSummary]))),
            error => done([["axe", "html", String(error)]]));""", "args": [TAGS]})
    return [f"breaks {rule} at {element}: {' '.join(summary.split())}" for rule, element, summary in found]
