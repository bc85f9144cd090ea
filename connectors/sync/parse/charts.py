"""Charts of Office documents, as tables of their numbers."""

from __future__ import annotations

from lxml import etree

from connectors.sync.parse.outline import Outline
from connectors.sync.parse.theme import A

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def write_chart(chart: etree._Element, outline: Outline) -> bool:
    """Write a chart part: a column a series, a row a point, by the values it last had. False where it has none."""
    title = chart.find(f"{C}chart/{C}title")
    series = list(chart.iter(C + "ser"))
    names: list[str] = []
    columns: list[list[str]] = []
    labels: list[str] = []
    for each in series:
        name = each.find(C + "tx")
        names.append("" if name is None else " ".join(v.text or "" for v in name.iter(C + "v")))
        category = each.find(C + "cat")
        if category is None:
            category = each.find(C + "xVal")
        values = each.find(C + "val")
        if values is None:
            values = each.find(C + "yVal")
        labels = labels or _points(category)
        columns.append(_points(values))
    height = max([len(labels), *(len(column) for column in columns)], default=0)
    rows = [["", *names]]
    rows += [
        [labels[y] if y < len(labels) else "", *(c[y] if y < len(c) else "" for c in columns)] for y in range(height)
    ]
    told = "" if title is None else " ".join(t.text or "" for t in title.iter(A + "t"))
    if height:
        outline.table(rows, 1, told)
    else:
        outline.text(told)
    return height > 0


def _points(data: etree._Element | None) -> list[str]:
    return [] if data is None else [v.text or "" for point in data.iter(C + "pt") for v in point.iter(C + "v")]
