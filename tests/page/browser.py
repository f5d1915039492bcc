# SPDX-License-Identifier: GPL-3.0-or-later
#
# browser.py CHROMIUM GRADCUT SOURCES: pages of `gradcut report` in a browser, on a wide and a narrow screen, in both
# colour schemes, with and without scripts.  Writes its pages in the current folder.
import os
import subprocess
import sys

from chromium import Chromium

failures = []


def check(page, holds, what):
    if not holds:
        failures.append(page + ": " + what)


def report(command, *arguments):
    subprocess.run([command, "report", *arguments], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, GRADCUT_MACHINE="shipped"))


HOSTILE = r'''gcut 1
func @f[N in 4..](param %w: f32[N], input %x: f32[N]) -> (out loss: f32[]) {
  %h = tanh(%w) !1
  %y = mul(%h, %x) !2
  %loss = sum(%y)
  return %loss
}
loc !1 = "</script><img src=http://127.0.0.1/x onerror=alerted=1>.c":3 "<script>alerted=2</script>"
loc !2 = "\" onmouseover=\"alerted=3\" x=\"":4 "</title></svg><style>*{display:none}</style>"
'''

CONTRAST = '''(() => {
    const light = (c) => {
        const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map((x) => {
            x /= 255;
            return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const back = light(getComputedStyle(document.body).backgroundColor);
    let least = 100, what = "";
    for (const e of document.querySelectorAll("p, td, th, caption, a, small, dt, dd, summary, pre, h1, h2, svg text")) {
        const style = getComputedStyle(e), fore = light(e.closest("svg") ? style.fill : style.color);
        const ratio = (Math.max(fore, back) + 0.05) / (Math.min(fore, back) + 0.05);
        if (ratio < least) [least, what] = [ratio, e.tagName + "." + (e.getAttribute("class") || "") + " " + e.textContent.slice(0, 30)];
    }
    return [least, what];
})()'''

# Bytes of the first table with numbers, before and after a click on its heading.
SORTED = '''(() => {
    const table = document.querySelector("#lifetimes table.sort");
    const of = () => Array.from(table.tBodies[0].rows, (r) => Number(r.cells[0].textContent.replaceAll(",", "")));
    const button = table.tHead.rows[0].cells[0].querySelector("button");
    const before = of();
    button.click();
    const falling = of();
    button.click();
    const rising = of();
    const sorted = before.slice().sort((a, b) => a - b);
    return String(rising) === String(sorted) && String(falling) === String(sorted.reverse()) &&
        table.tHead.rows[0].cells[0].getAttribute("aria-sort") === "ascending";
})()'''

# Follows each link to a line of the graph; how many lead to something that is seen.
LINKS = '''(async () => {
    const links = Array.from(document.querySelectorAll("main a[href^='#v']")).slice(0, 20);
    let seen = 0;
    for (const a of links) {
        for (const d of document.querySelectorAll("details")) d.open = false;
        location.hash = "";
        await new Promise((done) => setTimeout(done, 20));
        a.click();
        await new Promise((done) => setTimeout(done, 60));
        const box = document.getElementById(a.hash.slice(1)).getBoundingClientRect();
        seen += box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
    }
    return [seen, links.length];
})()'''


def look(browser, page, path, width):
    browser.open(path, width)
    for entry in browser.named("Log.entryAdded"):
        check(page, False, "log: " + entry["entry"]["text"])
    for event in browser.named("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
        check(page, False, "console: " + str(event)[:200])
    for event in browser.named("Network.requestWillBeSent"):
        check(page, event["request"]["url"].startswith("file://"), "asks for " + event["request"]["url"])
    check(page, len(browser.named("Network.requestWillBeSent")) == 1, "more than one request")
    check(page, browser.value("document.documentElement.scrollWidth <= innerWidth"), "is wider than the screen")
    check(page, browser.value("typeof alerted === 'undefined'"), "runs a script of a name")
    check(page, browser.value("document.querySelectorAll('img, iframe, link, main script, main style:not(svg style)').length") == 0,
          "has elements of a name")
    check(page, browser.value("document.querySelectorAll('th button').length") > 10, "the script has not run")
    check(page, browser.value("Array.from(document.querySelectorAll('table')).every((t) => t.caption && t.caption.textContent)"),
          "a table has no caption")
    check(page, browser.value("Array.from(document.querySelectorAll('figure')).every((f) => f.getAttribute('aria-label'))"),
          "a picture has no name")
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        least, what = browser.value(CONTRAST)
        check(page, least >= 4.5, f"{scheme}: contrast of {least:.1f}, {what}")
    browser.call("Emulation.setEmulatedMedia", features=[])


def use(browser, page, path):
    browser.open(path)
    check(page, browser.value(SORTED), "a table is not sorted")
    seen, links = browser.value(LINKS)
    check(page, links > 0 and seen == links, f"{seen} of {links} links lead to what is seen")
    browser.value("document.querySelector('#memory figure').focus()")
    before = browser.value("document.querySelector('#memory output').textContent")
    for _ in range(3):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
        browser.call("Input.dispatchKeyEvent", type="keyUp", key="ArrowRight", code="ArrowRight")
    after = browser.value("document.querySelector('#memory output').textContent")
    check(page, before != after and " alive, " in after, "the arrow keys read nothing: " + after)


def without_scripts(browser, page, path):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(path)
    text = browser.value("document.body.innerText")
    check(page, "A training step peaks at " in text and "The largest is " in text, "has no summary without its script")
    check(page, browser.value("document.querySelectorAll('th button').length") == 0, "its script has run")
    check(page, browser.value("document.querySelectorAll('main table').length") > 5, "has no tables without its script")
    browser.value("document.querySelector('.graph summary').click()")
    check(page, browser.value("document.querySelector('.graph details').open"), "nothing opens without its script")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def main(chromium, command, sources):
    with open("hostile.gcut", "w") as f:
        f.write(HOSTILE)
    report(command, "hostile.gcut", "-o", "hostile.html")
    report(command, sources + "/tests/models/gpt2.gcut", "-o", "gpt2.html")
    report(command, sources + "/tests/models/resnet.gcut", "--no-frontier", "-o", "resnet.html")
    browser = Chromium(chromium)
    try:
        for name in ("hostile", "gpt2", "resnet"):
            for width in (1280, 390):
                look(browser, f"{name} at {width}", name + ".html", width)
        use(browser, "gpt2", "gpt2.html")
        use(browser, "resnet", "resnet.html")
        without_scripts(browser, "gpt2", "gpt2.html")
    finally:
        browser.close()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
