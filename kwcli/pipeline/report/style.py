"""The page's style sheet and its own script: light and dark as the reader has it, from 390 px upwards."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --back: #ffffff; --front: #1c2128; --dim: #5c6670; --line: #dfe3e8; --card: #f5f7f9;
  --bad: #b3261e; --c0: #2f6fd0; --c1: #d9772b; --c2: #2f8f55; --c3: #9a4fb5; --c4: #a88210; --c5: #c8384d; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181d; --front: #e4e8ec; --dim: #98a2ad; --line: #313841; --card: #1e232a;
    --bad: #ff8a80; --c0: #6ea8ff; --c1: #f2a15f; --c2: #66c98c; --c3: #cf92e6; --c4: #dcb94a; --c5: #ff7d8f; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 1400px; background: var(--back); color: var(--front);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: .95rem; margin: .8rem 0 0; font-weight: 600; }
p { margin: .4rem 0; }
a { color: var(--c0); }
.dim, caption { color: var(--dim); }
nav { margin: .8rem 0; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 0; padding: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .6rem; margin: 1rem 0;
  padding: 0; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .7rem; }
.tiles dt { color: var(--dim); font-size: .8rem; }
.tiles dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: .4rem 1.2rem; }
.charts > div { min-width: 0; }
.chart { width: 100%; min-height: 200px; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0; padding: 0; font-size: .85rem; }
.legend li { overflow-wrap: anywhere; }
.legend li::before { content: ""; display: inline-block; width: .7em; height: .7em; border-radius: .15em;
  margin-right: .4em; background: var(--dim); }
.legend .c0::before { background: var(--c0); } .legend .c1::before { background: var(--c1); }
.legend .c2::before { background: var(--c2); } .legend .c3::before { background: var(--c3); }
.legend .c4::before { background: var(--c4); } .legend .c5::before { background: var(--c5); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--dim); white-space: nowrap; vertical-align: bottom; }
th, td { padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
td { vertical-align: top; white-space: nowrap; }
.n { text-align: right; }
td.name { white-space: normal; overflow-wrap: break-word; max-width: 24rem; }
.bad { color: var(--bad); }
footer { margin: 2.5rem 0 1rem; color: var(--dim); font-size: .85rem; }
@media (max-width: 1000px) { .k7, .k8, .k9, .k10, .k11 { display: none; } }
@media (max-width: 720px) { .k4, .k5, .k6 { display: none; } }
@media (max-width: 480px) {
  body { padding: .7rem; font-size: 14px; }
  .k3 { display: none; }
  th, td { padding-right: .55rem; }
  th { white-space: normal; }
  .tiles { grid-template-columns: repeat(auto-fill, minmax(6.6rem, 1fr)); gap: .4rem; }
  .tiles dd { font-size: 1.05rem; }
}
"""

SCRIPT: Final = """
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = (more) => Object.assign({ gridcolor: color("--line"), linecolor: color("--line"), zeroline: false,
    fixedrange: true, automargin: true, ticks: "outside",
    tickcolor: "rgba(0,0,0,0)", ticklen: 4, tickangle: 0, ticklabeloverflow: "allow" }, more);
  const draw = () => charts.forEach((chart, number) => {
    const place = document.getElementById("chart-" + number);
    const traces = chart.data.map((trace) => {
      const its = color("--c" + trace.meta.color);
      return Object.assign({}, trace, {
        line: Object.assign({ color: its }, trace.line), marker: Object.assign({ color: its }, trace.marker) });
    });
    const marks = { nticks: Math.max(3, Math.floor(place.clientWidth / 100)) };
    const layout = Object.assign({ height: 230, hovermode: "x unified" }, chart.layout, {
      showlegend: false, autosize: true, margin: { l: 24, r: 24, t: 10, b: 10 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: color("--front"), family: getComputedStyle(document.body).fontFamily, size: 12 },
      hoverlabel: { bgcolor: color("--card"), bordercolor: color("--line"), font: { color: color("--front") } },
      xaxis: axis(Object.assign(marks, chart.layout.xaxis)), yaxis: axis(chart.layout.yaxis) });
    Plotly.react(place, traces, layout, { responsive: true, displayModeBar: false });
  });
  draw();
  dark.addEventListener("change", draw);
})();
"""
