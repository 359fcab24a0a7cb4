# SPDX-License-Identifier: Apache-2.0
"""The report's page: what was told, and pictures of what was seen. One file, which loads nothing."""
import dataclasses
import html
import math
import xml.etree.ElementTree as xml

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 260, 50, 130, 30, 40
COLOURS = ("#4269d0", "#ff725c", "#3ca951", "#a463f2", "#9c6b4e", "#ff8ab7", "#38b2c0", "#97831f")
STYLE = "body{font:15px sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{overflow-x:auto}" \
        "svg{width:100%;height:auto}svg text{font:11px sans-serif}td,th{padding:0 .6rem;text-align:right}"


@dataclasses.dataclass
class Chart:
    """Steps: each point's value holds until the next."""
    title: str
    x_label: str
    y_label: str
    lines: dict  # {name: [(x, y), ...]}
    marks: list = dataclasses.field(default_factory=list)  # (x, what happened there)


def round_step(most):
    """1, 2 or 5 times a power of ten: about five of it make the most."""
    power = 10 ** math.floor(math.log10(most / 5))
    return next(step * power for step in (1, 2, 5, 10) if most / 5 <= step * power)


def svg(chart):
    points = [point for line in chart.lines.values() for point in line]
    x_most = max([x for x, _ in points], default=0) or 1
    y_most = max([y for _, y in points], default=0) or 1
    root = xml.Element("svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img")
    xml.SubElement(root, "title").text = chart.title

    def x_of(x):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * x / x_most, 1)

    def y_of(y):
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / y_most, 1)

    def text(x, y, words, anchor="middle", **more):
        xml.SubElement(root, "text", {"x": str(x), "y": str(y), "text-anchor": anchor, **more}).text = words

    def stroke(path, colour, width="1", **more):
        xml.SubElement(root, "path", {"d": path, "stroke": colour, "stroke-width": width, "fill": "none", **more})

    text(LEFT, 14, chart.title, "start", style="font-weight:bold")
    text(LEFT, TOP - 4, chart.y_label, "start")
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, chart.x_label)
    for most, is_x in ((x_most, True), (y_most, False)):
        step = round_step(most)
        for tick in range(int(most / step) + 1):
            at = tick * step
            if is_x:
                text(x_of(at), HEIGHT - BOTTOM + 14, f"{at:g}")
            else:
                stroke(f"M{LEFT} {y_of(at)}H{WIDTH - RIGHT}", "#ddd")
                text(LEFT - 4, y_of(at) + 4, f"{at:g}", "end")
    for number, (x, what) in enumerate(chart.marks, 1):
        stroke(f"M{x_of(x)} {TOP}V{HEIGHT - BOTTOM}", "#888", **{"stroke-dasharray": "3 3"})
        text(x_of(x) + 2, TOP + 10, str(number), "start")
    for place, (name, line) in enumerate(chart.lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        steps = "".join(f"H{x_of(x)}V{y_of(y)}" for x, y in line[1:])
        if line:
            stroke(f"M{x_of(line[0][0])} {y_of(line[0][1])}{steps}", colour, "1.5")
        text(WIDTH - RIGHT + 10, TOP + 14 * (place + 1), name, "start", fill=colour)
    notes = "".join(f"<li>{html.escape(what)} ({x:.1f} s)</li>" for x, what in chart.marks)
    return xml.tostring(root, encoding="unicode") + (f"<ol>{notes}</ol>" if notes else "")


def charts_of(report):
    charts = []
    if load := report.get("load"):
        seen = load["seen"]
        lines = {f"engine {name}": [(when, held.get(name, 0)) for when, held in seen["samples"]]
                 for name in seen["engines"]}
        charts.append(Chart("Requests of each engine", "seconds", "requests", lines, seen["marks"]))
    if measured := report.get("measured"):
        for kind, words in (("kv", "KV"), ("tokens", "tokens")):
            gaps = list(enumerate(measured[kind]["gaps_ms"], 2))
            charts.append(Chart(f"From one token to the next, of an answer that moves by {words}", "position",
                                "milliseconds", {f"{measured[kind]['moves']} moves": gaps}))
    if trace := report.get("trace"):
        for policy, of in trace["policies"].items():
            lines = {of_what: of[of_what]["in_use"] for of_what in ("live", "simulated")}
            charts.append(Chart(f"Engines in use under the trace, --policy {policy}", "seconds", "engines", lines))
    return charts


def moves_table(load):
    rows = "".join(f"<tr><td>{when:.2f}<td>{html.escape(name)}<td>{before}<td>{after}<td>{tokens}<td>{html.escape(why)}"
                   for when, name, before, after, tokens, why in load["seen"]["moved"])
    return f"<h2>What moved</h2><table><tr><th>second<th>request<th>from<th>to<th>at tokens<th>why{rows}</table>"


def page(report, words):
    body = "".join(svg(chart) for chart in charts_of(report))
    if load := report.get("load"):
        body += moves_table(load)
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A fleet</title><style>{STYLE}</style>'
            f"<h1>A fleet of engines behind aqua-router</h1><pre>{html.escape(words)}</pre>{body}</html>\n")
