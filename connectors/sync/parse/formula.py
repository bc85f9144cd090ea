"""Formulas of Office documents as a line of text."""

from __future__ import annotations

from lxml import etree

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def formula(element: etree._Element) -> str:
    """A formula in a line: fractions with a slash, powers with ^, indices with _."""
    told: list[str] = []
    for child in element:
        name = etree.QName(child).localname
        inside = {etree.QName(part).localname: formula(part) for part in child}
        match name:
            case "t":
                told.append(child.text or "")
            case "f":
                told.append(f"({inside.get('num', '')})/({inside.get('den', '')})")
            case "sSup":
                told.append(f"{inside.get('e', '')}^{{{inside.get('sup', '')}}}")
            case "sSub":
                told.append(f"{inside.get('e', '')}_{{{inside.get('sub', '')}}}")
            case "sSubSup":
                told.append(f"{inside.get('e', '')}_{{{inside.get('sub', '')}}}^{{{inside.get('sup', '')}}}")
            case "d":
                told.append(f"{_sign(child, 'begChr', '(')}{formula(child)}{_sign(child, 'endChr', ')')}")
            case "nary":
                sign = _sign(child, "chr", "∫")
                told.append(f"{sign}_{{{inside.get('sub', '')}}}^{{{inside.get('sup', '')}}} {inside.get('e', '')}")
            case "rad":
                told.append(f"√({inside.get('e', '')})")
            case _:
                told.append(formula(child))
    return "".join(told)


def _sign(element: etree._Element, name: str, usual: str) -> str:
    """A bracket or operator that a formula's properties name."""
    sign = next(element.iter(M + name), None)
    return usual if sign is None else sign.get(M + "val", "")
