/** The tracker of a customer's site. docs/tracker.md says what it sends and when. */
import { consent, followConsentMode } from "./consent.ts";
import { consentRequired, refused, site } from "./install.ts";
import { listen } from "./listen.ts";
import { flush } from "./send.ts";
import { load, stored } from "./store.ts";
import { stamp, track } from "./track.ts";
import { readAddress } from "./visit.ts";

const commands = {
  event: (name: string, options?: { label?: string; value?: number }) => track(name, options?.label, options?.value),
  consent: (scopes?: string | string[]) => consent(([] as string[]).concat(scopes || [])),
  stamp: () => stamp,
};

type Command = keyof typeof commands;
type Tracker = ((command: Command, ...args: unknown[]) => unknown) & typeof commands & { q?: [Command, ...unknown[]][] };

type Host = { om?: Partial<Tracker> };

function begin(): void {
  const early = (window as Host).om?.q || [];
  const om = (command: Command, ...args: unknown[]) => (commands[command] as (...values: unknown[]) => unknown)?.(...args);
  (window as Host).om = Object.assign(om, commands);
  // A choice that an earlier page could not deliver, whatever this page may do.
  load();
  if (stored.c?.[0]) flush();
  if (refused) {
    // Also erases what an earlier visit stored.
    consent([]);
    return;
  }
  readAddress();
  listen();
  if (consentRequired) followConsentMode();
  else consent();
  for (const call of early) om(...call);
}

// A page that carries the snippet twice is counted once, and one that is rendered ahead of a visit not before the visit.
if (site && !(window as Host).om?.stamp) {
  if ((document as { prerendering?: boolean }).prerendering) document.addEventListener("prerenderingchange", begin);
  else begin();
}
