# SPDX-License-Identifier: Apache-2.0
"""What a screen reader is told, from the browser's accessibility tree, and what eyes can read."""

CONTROLS = {"button", "link", "textbox", "checkbox", "combobox", "spinbutton", "progressbar", "image", "img",
            "DisclosureTriangle", "dialog", "listbox"}
LANDMARKS = {"banner", "main", "navigation", "region", "contentinfo", "complementary"}


def _value(node: dict, key: str) -> str:
    return str(node.get(key, {}).get("value", ""))


def controls_without_names(tree: list[dict]) -> list[str]:
    return [_value(node, "role") for node in tree
            if not node.get("ignored") and _value(node, "role") in CONTROLS and not _value(node, "name").strip()]


def landmarks(tree: list[dict]) -> list[tuple[str, str]]:
    return [(_value(node, "role"), _value(node, "name")) for node in tree
            if not node.get("ignored") and _value(node, "role") in LANDMARKS]


# Every text on the screen against what it stands on, by the formula of WCAG 2.2, section 1.4.3.
CONTRAST = """
const parse = (text) => text.match(/[0-9.]+/g).map(Number);
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = (element) => {
  for (; element; element = element.parentElement) {
    const colour = parse(getComputedStyle(element).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const result = { checked: 0, faults: [] };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !element.checkVisibility() || element.disabled || ["SCRIPT", "NOSCRIPT"].includes(element.tagName)) continue;
  const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  ++result.checked;
  if (contrast < 4.5) result.faults.push(`${text}: ${contrast.toFixed(2)}`);
}
return result;
"""
