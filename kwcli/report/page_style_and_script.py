"""The page's style sheet and its only script: light or dark as the reader has it, from 390 px upwards, on paper too."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --back: #fbfcfd; --front: #1a2027; --dim: #59636e; --line: #dde2e8; --card: #ffffff;
  --head: #f1f4f7; --bad: #b3261e; --warn: #8a5a00; --good: #1f7a45; --focus: #2f6fd0; --tint: #fdeceb;
  --c0: #2f6fd0; --c1: #c9671c; --c2: #23804a; --c3: #8e44ad; --c4: #8f6d00; --c5: #c8384d; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12151a; --front: #e4e8ec; --dim: #98a2ad; --line: #2c333c; --card: #191d23; --head: #20262d;
    --bad: #ff8a80; --warn: #f0c060; --good: #6fd39a; --focus: #6ea8ff; --tint: #3a2022;
    --c0: #6ea8ff; --c1: #f2a15f; --c2: #66c98c; --c3: #cf92e6; --c4: #dcb94a; --c5: #ff7d8f; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 3.4rem; }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
body { margin: 0; background: var(--back); color: var(--front);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
header, main, footer { margin: 0 auto; padding: 0 1.5rem; max-width: 1440px; }
header { padding-top: 1.6rem; }
h1 { font-size: 1.7rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 0 0 .6rem; letter-spacing: -.005em; }
h3 { font-size: 1rem; margin: 1.1rem 0 .3rem; font-weight: 600; overflow-wrap: anywhere; }
p { margin: .4rem 0; }
a { color: var(--c0); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: .2rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: .5rem; top: .5rem; background: var(--card); padding: .4rem .8rem; z-index: 2; }
.dim { color: var(--dim); }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
nav { position: sticky; top: 0; z-index: 1; background: var(--back); border-bottom: 1px solid var(--line); }
nav ul { list-style: none; display: flex; gap: .1rem 1.1rem; margin: 0 auto; padding: .55rem 1.5rem; max-width: 1440px;
  overflow-x: auto; white-space: nowrap; font-size: .9rem; scrollbar-width: thin; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
section { margin: 1.4rem 0; padding: 1.1rem 1.25rem 1.2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .7rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.4rem, 1fr)); gap: .6rem; margin: 1.1rem 0;
  padding: 0; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .5rem .75rem; }
.tiles dt { color: var(--dim); font-size: .8rem; }
.tiles dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: .8rem 1.6rem; }
.chart { margin: .2rem 0; min-width: 0; }
figcaption { font-weight: 600; font-size: .95rem; }
.frame { display: grid; grid-template-columns: 64px minmax(0, 1fr); }
.numbers { grid-row: span 2; margin-top: -6px; }
.plot { width: 100%; display: block; overflow: hidden; cursor: crosshair; }
.clocks { width: 100%; overflow: visible; }
.days .m1, .days .m3 { display: none; }
svg text { fill: var(--dim); font-size: 11.5px; font-variant-numeric: tabular-nums; }
.numbers text { text-anchor: end; }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.dot { fill: none; stroke-width: 4.5; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.cursor { fill: var(--front); opacity: .13; }
.readout { min-height: 1.4em; font-size: .82rem; margin: .1rem 0 0; font-variant-numeric: tabular-nums; }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); }
.s3 { stroke: var(--c3); } .s4 { stroke: var(--c4); } .s5 { stroke: var(--c5); }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); }
.f3 { fill: var(--c3); } .f4 { fill: var(--c4); } .f5 { fill: var(--c5); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; margin: .1rem 0 .3rem; padding: 0;
  font-size: .84rem; }
.legend li { overflow-wrap: anywhere; }
.legend li::before { content: ""; display: inline-block; width: .7em; height: .7em; border-radius: .2em;
  margin-right: .4em; background: var(--dim); }
.legend .c0::before { background: var(--c0); } .legend .c1::before { background: var(--c1); }
.legend .c2::before { background: var(--c2); } .legend .c3::before { background: var(--c3); }
.legend .c4::before { background: var(--c4); } .legend .c5::before { background: var(--c5); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--dim); white-space: nowrap; vertical-align: bottom; }
th, td { padding: .28rem 1.1rem .28rem 0; border-bottom: 1px solid var(--line); }
tbody tr:last-child td, tbody tr:last-child th { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
td, tbody th { vertical-align: top; white-space: nowrap; }
tbody th { font-weight: 600; color: var(--front); }
tbody tr:hover { background: var(--head); }
.n { text-align: right; }
.name { white-space: normal; overflow-wrap: break-word; max-width: 26rem; }
td.name { min-width: 5rem; }
.bad { color: var(--bad); }
.findings { list-style: none; margin: 0; padding: 0; }
.findings > li { border-left: 3px solid var(--dim); padding: .1rem 0 .1rem .9rem; margin: .9rem 0; }
.findings > li.error { border-color: var(--bad); } .findings > li.warning { border-color: var(--warn); }
.findings h3 { margin: 0; } .findings > li.note { margin: .35rem 0; } .findings details { border: 0; padding: 0; }
.findings dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem .8rem; margin: .3rem 0 0;
  font-size: .9rem; }
.findings dt { color: var(--dim); } .findings dd { margin: 0; overflow-wrap: anywhere; }
.tag { display: inline-block; font-size: .74rem; font-weight: 600; border: 1px solid currentColor; border-radius: 1rem;
  padding: 0 .55rem; margin-right: .4rem; vertical-align: .08em; color: var(--dim); }
.tag.error, .tag.breaks { color: var(--bad); } .tag.warning, .tag.unknown { color: var(--warn); }
.tag.works { color: var(--good); }
.matrix th { vertical-align: bottom; } .matrix td { text-align: center; }
.matrix th, .matrix td { padding-right: .5rem; padding-left: .5rem; }
.matrix tbody th, .matrix thead th:first-child { position: sticky; left: 0; background: var(--card); padding-left: 0;
  text-align: left; white-space: normal; min-width: 10rem; max-width: 24rem; overflow-wrap: anywhere; }
.matrix tbody th .dim { font-weight: 400; font-size: .8rem; }
.matrix thead th { font-size: .78rem; white-space: normal; text-align: center; line-height: 1.25; }
.matrix td.old { background: var(--tint); color: var(--bad); font-weight: 600; }
details { border-top: 1px solid var(--line); padding: .45rem 0; }
details:first-of-type { border-top: 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary strong { font-variant-numeric: tabular-nums; }
.lanes { width: 100%; overflow: visible; margin: .4rem 0; }
.lanes text { font-size: 12px; fill: var(--front); } .lanes .when { fill: var(--dim); font-size: 11.5px; }
.lanes .lane { stroke: var(--line); } .lanes .waiting { opacity: .35; }
pre { margin: .4rem 0; padding: .7rem .9rem; background: var(--head); border-radius: .5rem; overflow: auto;
  max-height: 26rem; font: 12.5px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.bodies { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: .3rem 1rem; }
.bodies h4 { margin: .5rem 0 0; font-size: .85rem; color: var(--dim); font-weight: 600; }
.bodies > div { min-width: 0; }
label { font-weight: 600; font-size: .92rem; }
select { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--dim); border-radius: .4rem;
  padding: .3rem .5rem; max-width: 100%; margin: .2rem 0 .6rem; }
#ladder { width: 100%; display: block; overflow: visible; }
#ladder .life { stroke: var(--line); stroke-width: 2; } #ladder .arrow { stroke: var(--c0); stroke-width: 1.4; }
#ladder .head { fill: var(--c0); stroke: none; } #ladder .back { stroke-dasharray: 5 3; }
#ladder .wrong { stroke: var(--bad); } #ladder text.wrong { fill: var(--bad); stroke: none; }
#ladder text { font-size: 12px; fill: var(--front); } #ladder .when, #ladder .gap { fill: var(--dim); }
#ladder .end { font-weight: 600; }
footer { padding-top: .4rem; padding-bottom: 2rem; color: var(--dim); font-size: .85rem; }
@media (max-width: 1000px) { .k7, .k8, .k9, .k10, .k11 { display: none; } }
@media (max-width: 720px) { .k4, .k5, .k6 { display: none; } }
@media (max-width: 480px) {
  body { font-size: 14px; }
  header, main, footer { padding-left: .8rem; padding-right: .8rem; }
  nav ul { padding-left: .8rem; padding-right: .8rem; }
  section { padding: .9rem .8rem; }
  .matrix tbody th, .matrix thead th:first-child { min-width: 6.5rem; max-width: 8rem; }
  .k3, .m1, .m3 { display: none; }
  th, td { padding-right: .55rem; }
  thead th { white-space: normal; }
  .tiles { grid-template-columns: repeat(auto-fill, minmax(6.6rem, 1fr)); gap: .4rem; }
  .tiles dd { font-size: 1.05rem; }
}
@media print { nav, .readout, select, .ladder-pick { display: none; } section { break-inside: avoid-page; border: 0;
  padding: 0; } .k3, .k4, .k5, .k6, .k7 { display: table-cell; } }
"""

SCRIPT: Final = """
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.querySelectorAll("figure.chart").forEach((figure, number) => {
    const said = data.charts[number], plot = figure.querySelector(".plot");
    const cursor = figure.querySelector(".cursor"), readout = figure.querySelector(".readout");
    const width = plot.viewBox.baseVal.width / said.length;
    let at = -1;
    const show = (wanted) => {
      at = Math.max(0, Math.min(said.length - 1, wanted));
      cursor.setAttribute("x", at * width);
      cursor.setAttribute("visibility", "visible");
      readout.textContent = said[at];
    };
    const hide = () => { cursor.setAttribute("visibility", "hidden"); readout.textContent = ""; };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      show(Math.floor((event.clientX - box.left) / box.width * said.length));
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: said.length - 1 }[event.key];
      if (step !== undefined) { show(step); event.preventDefault(); }
    });
  });
  const pick = document.getElementById("connection"), picture = document.getElementById("ladder");
  if (!pick) return;
  const steps = document.getElementById("ladder-steps"), SVG = "http://www.w3.org/2000/svg";
  const put = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    picture.append(made);
    return made;
  };
  const draw = () => {
    const ladder = data.ladders[Number(pick.value)];
    if (!ladder) return;
    const width = picture.getBoundingClientRect().width, narrow = width < 600;
    const left = narrow ? 10 : 110, right = width - (narrow ? 10 : 24), middle = (left + right) / 2;
    const most = Math.floor((right - left - 20) / 6.6);
    const fit = (text) => text.length > most ? text.slice(0, most - 1) + "…" : text;
    picture.replaceChildren();
    steps.replaceChildren();
    const lives = [left, right].map((x) => put("line", { class: "life", x1: x, x2: x, y1: 24 }));
    put("text", { class: "end", x: left, y: 14, "text-anchor": narrow ? "start" : "middle" }, ladder.client);
    put("text", { class: "end", x: right, y: 14, "text-anchor": "end" }, ladder.broker);
    let y = 30;
    const arrow = (from, to, kind, wrong) => {
      const sign = to > from ? -1 : 1;
      put("line", { class: "arrow " + kind + (wrong ? " wrong" : ""), x1: from, x2: to + sign * 8, y1: y, y2: y });
      const head = put("path", { class: "head", d: `M${to} ${y}l${sign * 9} -4v8z` });
      if (wrong) head.setAttribute("fill", "currentColor");
      if (wrong) head.setAttribute("class", "head bad");
    };
    for (const [time, asked, answered, wrong, left_out] of ladder.steps) {
      if (left_out) {
        y += 22;
        put("text", { class: "gap", x: middle, y, "text-anchor": "middle" }, fit(left_out));
      }
      y += 22;
      if (!narrow) put("text", { class: "when", x: left - 10, y: y + 9, "text-anchor": "end" }, time);
      put("text", { x: middle, y, "text-anchor": "middle" }, fit((narrow ? time + " " : "") + asked));
      y += 6;
      arrow(left, right, "", false);
      if (answered) {
        y += 18;
        put("text", { class: wrong ? "wrong" : "", x: middle, y, "text-anchor": "middle" }, fit(answered));
        y += 6;
        if (wrong !== 2) arrow(right, left, "back", wrong);
      }
      const item = document.createElement("li");
      item.textContent = [left_out, time, asked, answered].filter(Boolean).join("; ");
      steps.append(item);
    }
    if (ladder.more) {
      y += 24;
      put("text", { class: "gap", x: middle, y, "text-anchor": "middle" }, fit(ladder.more));
    }
    lives.forEach((line) => line.setAttribute("y2", y + 12));
    picture.setAttribute("height", y + 18);
  };
  pick.addEventListener("change", draw);
  let waiting = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
  draw();
})();
"""
