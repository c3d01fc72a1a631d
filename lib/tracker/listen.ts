import { active, consent } from "./consent.ts";
import { flush, flushLeaving, flushOnline } from "./send.ts";
import { storeKey } from "./store.ts";
import { track } from "./track.ts";
import { firstOnPage, forgetPage, tidyPage, viewPage } from "./view.ts";

const callHref = /^(tel:|whatsapp:|https?:\/\/(wa\.(me|link)|(api|web)\.whatsapp\.com)\/)/i;
const callNumber = /(?:^tel:|\.me\/|phone=)((?:[+\d(]|%2B)[^;?&]*)/i;
const hoverMs = 300;
/** Frameworks set the title shortly after they change the address. */
const titleMs = 100;

let listening = false;
let hoverTimer: ReturnType<typeof setTimeout> | undefined;

export function startPage(): void {
  if (!listening) listen();
  listening = true;
  viewPage();
}

/** The tel: or WhatsApp link an event happened on, inside open shadow roots too. */
function callLink(event: Event): { link: Element; action: string; number: string | undefined } | undefined {
  for (const target of event.composedPath()) {
    const link = target as HTMLAnchorElement;
    if (callHref.test(link.href))
      return {
        link,
        action: /^t/i.test(link.href) ? "phone_call" : "whatsapp",
        number: callNumber
          .exec(link.href)?.[1]
          ?.replace(/%2B/i, "+")
          .replace(/%..|[^+\d]/g, ""),
      };
  }
  return undefined;
}

/** For the page's own scripts, whose listeners run after ours. */
function setStamp(element: Element, eid: string | undefined): void {
  if (eid) element.setAttribute("data-om-stamp", eid);
}

function onClick(event: Event): void {
  const call = callLink(event);
  // The right button opens a menu, not a call.
  if (call && (event as MouseEvent).button < 2) setStamp(call.link, track(call.action, call.number));
}

function onSubmit(event: Event): void {
  const form = event.target as Element;
  // A search is no lead. Attributes, because a field named "id" or "name" hides the form's own property.
  if (!form.closest("search,[role=search],[data-om-ignore]") && !form.querySelector("[type=search]"))
    setStamp(form, track("form_submit", form.getAttribute("id") || form.getAttribute("name") || undefined));
}

function onPointerOver(event: Event): void {
  clearTimeout(hoverTimer);
  const call = (event as PointerEvent).pointerType === "mouse" && callLink(event);
  if (call) hoverTimer = setTimeout(() => firstOnPage("hover") && track("hover_intent", call.number), hoverMs);
}

function onScroll(): void {
  viewPage();
  const percent = ((scrollY + innerHeight) / document.documentElement.scrollHeight) * 100;
  for (const depth of [50, 90]) if (active && percent >= depth && firstOnPage(depth)) track("scroll_depth", `${depth}%`, depth);
}

function listen(): void {
  // In the capture phase, so that a page that stops its events is still counted.
  const onDocument = (type: string, heard: (event: Event) => void) => document.addEventListener(type, heard, true);
  onDocument("click", onClick);
  onDocument("auxclick", onClick);
  onDocument("submit", onSubmit);
  onDocument("pointerover", onPointerOver);
  onDocument("visibilitychange", () => document.hidden && flush());
  addEventListener("scroll", onScroll, { passive: true });
  addEventListener("online", flushOnline);
  addEventListener("pagehide", () => {
    viewPage();
    flushLeaving();
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      forgetPage();
      viewPage();
    }
  });
  // Another tab withdrew consent.
  addEventListener("storage", (event) => {
    if (event.key === storeKey && !event.newValue) consent([]);
  });

  const viewSoon = () => setTimeout(viewPage, titleMs);
  addEventListener("popstate", viewSoon);
  for (const method of ["pushState", "replaceState"] as const) {
    const original = history[method];
    history[method] = function (...args) {
      original.apply(this, args);
      if (method === "replaceState") tidyPage();
      viewSoon();
    };
  }
}
