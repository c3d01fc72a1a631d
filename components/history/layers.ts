/**
 * On a phone, Back closes what covers the page before it leaves the page. Each open sheet, drawer or question is a layer, and the
 * history has one entry for each, so that Back and the close button go the same way. A desk has no such entries.
 *
 * Opening, closing and Back come in any order and within one tick; so nothing here reacts to a single event. The number of open layers
 * is compared with the number that the present entry carries, and the difference is made up.
 */

interface Layer {
  close: () => void;
}

const layers: Layer[] = [];
/** We asked the browser to go back and it has not yet. */
let isGoing = false;

export const isPhone = () => window.matchMedia("(max-width: 720px)").matches;

/** How many layers the present entry of the history stands for. */
export const layerDepth = (): number => Number(window.history.state?.layers ?? 0);

/** For an address that changes under an open layer: the entry stays the layer's. */
export const sameLayer = () => ({ layers: layerDepth() });

/** An entry for a layer that has an address of its own; the layer itself opens right after it. */
export const pushLayer = (address: string | URL) => window.history.pushState({ layers: layerDepth() + 1 }, "", address);

function settle(): void {
  if (isGoing) return;
  while (layerDepth() < layers.length) pushLayer(window.location.href);
  const over = layerDepth() - layers.length;
  if (over === 0) return;
  isGoing = true;
  window.history.go(-over);
}

function follow(): void {
  const isOurs = isGoing;
  isGoing = false;
  for (const layer of layers.slice(layerDepth()).reverse()) layer.close();
  // A layer that must not close now, such as a question whose answer is under way, gets its entry back. An entry without its layer, reached by
  // Forward or by another page's Back, is left: the page there may open it again.
  setTimeout(() => (isOurs || layerDepth() < layers.length) && settle());
}

/** Opens a layer; the answer closes it. */
export function openLayer(close: () => void): () => void {
  const layer = { close };
  if (layers.length === 0) window.addEventListener("popstate", follow);
  layers.push(layer);
  setTimeout(settle);
  return () => {
    layers.splice(layers.indexOf(layer), 1);
    setTimeout(settle);
  };
}

/** Goes somewhere else after a layer that closes now has given its entry back: the browser cannot do both at once. */
export function afterLayers(go: () => void): void {
  if (layers.length === 0) go();
  else window.addEventListener("popstate", () => setTimeout(go), { once: true });
}
