// A drawing that is fitted into its frame, and can be zoomed and moved within it.

/** `svg` of W by H in a frame that it never leaves; `tools` are its buttons, `show` brings a rectangle into view. */
function zoomable(svg, W, H) {
  const smallest = Math.min(W, 240); // units of the drawing across the frame
  let view = {x: 0, y: 0, w: W, h: H};
  const frame = h("div", {class: "graph", style: `aspect-ratio:${W} / ${H};max-width:${Math.round(1.25 * W)}px`}, svg);
  svg.setAttribute("width", "100%");
  svg.setAttribute("height", "100%");
  function set(x, y, w) {
    w = Math.max(smallest, Math.min(W, w));
    const height = w * H / W;
    view = {x: Math.max(0, Math.min(W - w, x)), y: Math.max(0, Math.min(H - height, y)), w, h: height};
    svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].map(v => Number(v.toFixed(2))).join(" "));
    frame.classList.toggle("zoomed", w < W);
    frame.classList.toggle("far", w > 1500); // small letters are dust there
    out.disabled = whole.disabled = w >= W;
    into.disabled = w <= smallest;
  }
  /** About a point of the window, or the middle. */
  function zoom(factor, clientX, clientY) {
    const box = svg.getBoundingClientRect();
    const scale = Math.max(view.w / (box.width || 1), view.h / (box.height || 1));
    const fx = clientX === undefined ? 0 : clientX - box.left - box.width / 2, fy = clientY === undefined ? 0 : clientY - box.top - box.height / 2;
    const px = view.x + view.w / 2 + fx * scale, py = view.y + view.h / 2 + fy * scale;
    const w = Math.max(smallest, Math.min(W, view.w / factor)), by = w / view.w;
    set(px - (px - view.x) * by, py - (py - view.y) * by, w);
  }
  const fit = () => set(0, 0, W);
  const into = h("button", {type: "button", "aria-label": "Zoom in", onclick: () => zoom(1.5)}, "+");
  const out = h("button", {type: "button", "aria-label": "Zoom out", onclick: () => zoom(1 / 1.5)}, "\u2212");
  const whole = h("button", {type: "button", onclick: fit}, "Fit");
  frame.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls; a pinch arrives with ctrlKey
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
  }, {passive: false});
  frame.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {"+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": fit}[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  let held = null, moved = false;
  svg.addEventListener("pointerdown", event => {
    moved = false;
    held = event.button === 0 && view.w < W ? {x: event.clientX, y: event.clientY, view} : null;
  });
  addEventListener("pointermove", event => {
    if (!held) return;
    if (!event.buttons) { held = null; return; }
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    if (!moved && Math.hypot(dx, dy) < 5) return;
    moved = true;
    const box = svg.getBoundingClientRect(), scale = Math.max(view.w / (box.width || 1), view.h / (box.height || 1));
    set(held.view.x - dx * scale, held.view.y - dy * scale, held.view.w);
  });
  addEventListener("pointerup", () => { held = null; });
  // A drag that ends on a box is no click.
  svg.addEventListener("click", event => { if (moved) { event.stopPropagation(); moved = false; } }, true);
  fit();
  return {frame, tools: [into, out, whole], show(x, y, w, height) {
    if (x >= view.x && y >= view.y && x + w <= view.x + view.w && y + height <= view.y + view.h) return;
    set(x + w / 2 - view.w / 2, y + height / 2 - view.h / 2, view.w);
  }};
}
