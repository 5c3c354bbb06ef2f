// The contrast of text, measured in the page (WCAG 2.2, relative luminance and criterion 1.4.3).

/**
 * Runs inside the page, hence one function. Returns the luminance of the page's background (0 to 1) and
 * the visible texts whose contrast is below 4.5, with it.
 */
export function faintTexts() {
  const AA = 4.5;
  // A canvas reads every color notation that CSS knows; it answers in sRGB.
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  function paint(colors) {
    pen.clearRect(0, 0, 1, 1);
    for (const color of colors) {
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }

  function luminance(rgb) {
    const [r, g, b] = rgb.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  /** The backgrounds behind an element, the farthest first. */
  function behind(element) {
    const colors = ["Canvas"];
    const line = [];
    for (let at = element; at; at = at.parentElement) line.unshift(getComputedStyle(at).backgroundColor);
    return colors.concat(line);
  }

  function contrast(element) {
    const ground = behind(element);
    const text = paint([...ground, getComputedStyle(element).color]);
    const [high, low] = [luminance(text), luminance(paint(ground))].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  }

  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const ratio = contrast(element);
    if (ratio < AA) faint.push(`${ratio.toFixed(2)} ${text}`);
  }
  return { background: luminance(paint(behind(document.body))), faint };
}
