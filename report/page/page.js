"use strict";
// The page is whole without this script.  It sorts tables, opens what a link leads to, and reads out the picture of memory.

const units = {
    ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12,
    bytes: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776
};

// "12,582,912", "1.23 us", "44.0%", "k17": the number, with its unit; a text otherwise.
function keyOf(text) {
    const m = /^k?(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([A-Za-z]*)/.exec(text);
    if (!m) return text;
    return Number(m[1].replaceAll(",", "")) * (units[m[2]] || 1);
}

function sortBy(table, column, heading) {
    const falling = heading.getAttribute("aria-sort") !== "descending";
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row, i) => ({ row, i, key: keyOf(row.cells[column].textContent.trim()) }));
    rows.sort((a, b) => {
        const words = typeof a.key === "string" || typeof b.key === "string";
        const order = words ? String(b.key).localeCompare(String(a.key)) : a.key - b.key;
        return (falling ? -order : order) || a.i - b.i;
    });
    for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    body.append(...rows.map((r) => r.row));
}

for (const table of document.querySelectorAll("table.sort")) {
    Array.from(table.tHead.rows[0].cells).forEach((th, column) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = th.textContent;
        th.replaceChildren(button);
        button.addEventListener("click", () => sortBy(table, column, th));
    });
}

function reveal() {
    const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!at) return;
    for (let d = at.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    at.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", reveal);
if (location.hash.startsWith("#v")) reveal();

addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details.more")) d.open = true;
});

for (const figure of document.querySelectorAll("figure")) {
    const bars = Array.from(figure.querySelectorAll(".at"));
    if (!bars.length) continue;
    const says = document.createElement("output");
    says.textContent = "Point at the picture, or focus it and press the arrow keys, to read what is alive.";
    figure.after(says);
    let on = -1;
    const choose = (i) => {
        if (on >= 0) bars[on].classList.remove("on");
        on = Math.max(0, Math.min(i, bars.length - 1));
        bars[on].classList.add("on");
        says.textContent = bars[on].textContent;
    };
    figure.addEventListener("pointermove", (e) => {
        const i = bars.indexOf(e.target);
        if (i >= 0 && i !== on) choose(i);
    });
    figure.addEventListener("keydown", (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (!step) return;
        e.preventDefault();
        choose(on + step);
    });
}
