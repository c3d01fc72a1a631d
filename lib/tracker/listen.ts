import { leave } from "./allowed.ts";
import { firstOnPage, forgetPage, tidyPage } from "./page.ts";
import { flush, send } from "./send.ts";
import { load, save, stored, storeKey } from "./store.ts";
import { track, viewPage } from "./track.ts";

const hoverMs = 300;
/** Frameworks set the title shortly after they change the address. */
const titleMs = 100;

let hoverTimer: ReturnType<typeof setTimeout> | undefined;

/** Calls `found` for the tel: or WhatsApp link an event happened on, inside open shadow roots too. */
function onCallLink(event: Event, found: (action: string, number: string) => void): void {
  for (const { href } of event.composedPath() as HTMLAnchorElement[]) {
    // The browser has already written scheme and host in small letters.
    if (/^(tel:|whatsapp:|https?:..(wa\.(me|link)|(api|web)\.whatsapp\.com)\/)/.test(href))
      found(href[0] === "t" ? "phone_call" : "whatsapp", href.replace(/^.*?(tel:|me\/|phone=)|[;?&].*/g, ""));
  }
}

function onClick(event: MouseEvent): void {
  // The right button opens a menu, not a call.
  if (event.button < 2) onCallLink(event, track);
}

function onSubmit(event: Event): void {
  const form = event.target as Element;
  // A search is no lead. Attributes, because a field named "id" or "name" hides the form's own property.
  if (form.closest("[role=search],[data-om-ignore]") || form.querySelector("[type=search]")) return;
  track("form_submit", form.getAttribute("id") || form.getAttribute("name"));
}

function onPointerOver(event: PointerEvent): void {
  clearTimeout(hoverTimer);
  if (event.pointerType === "mouse")
    onCallLink(event, (_action, number) => {
      hoverTimer = setTimeout(() => firstOnPage("hover") && track("hover_intent", number), hoverMs);
    });
}

function onScroll(): void {
  viewPage();
  const percent = ((scrollY + innerHeight) / document.documentElement.scrollHeight) * 100;
  for (const depth of [50, 90]) if (percent >= depth && firstOnPage(depth)) track("scroll_depth", `${depth}%`, depth);
}

function viewSoon(): void {
  setTimeout(viewPage, titleMs);
}

/** Nothing is recorded while consent is missing: track() and send() see to that. */
export function listen(): void {
  // In the capture phase, so that a page that stops its events is still counted.
  const on = <Type extends keyof WindowEventMap>(type: Type, heard: (event: WindowEventMap[Type]) => void) =>
    addEventListener(type, heard, true);
  on("click", onClick);
  on("auxclick", onClick);
  on("submit", onSubmit);
  on("pointerover", onPointerOver);
  on("popstate", viewSoon);
  on("online", () => {
    load();
    // The network is back: failures no longer delay, but a pause that the server asked for does.
    if (stored.n) {
      stored.w = 0;
      save();
    }
    flush();
  });
  on("visibilitychange" as keyof WindowEventMap, flush);
  // Not in the capture phase: a box that scrolls inside the page is not the page.
  addEventListener("scroll", onScroll);
  on("pagehide", () => {
    viewPage();
    send();
  });
  on("pageshow", ({ persisted }) => {
    if (persisted) {
      // From the browser's cache, where a page gets no storage events.
      load();
      if (!stored.v) leave();
      forgetPage();
      viewPage();
    }
  });
  // Another tab withdrew consent: no visitor is stored any more.
  on("storage", ({ key, newValue }) => {
    if (key === storeKey && !/"v":/.test(newValue as string)) leave();
  });
  for (const method of ["pushState", "replaceState"] as const) {
    const original = history[method];
    history[method] = (...args) => {
      original.apply(history, args);
      if (method[0] === "r") tidyPage();
      viewSoon();
    };
  }
}
