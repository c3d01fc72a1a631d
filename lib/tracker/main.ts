/** The tracker of a customer's site. docs/tracker.md says what it sends and when. */
import { beginConsent, consent } from "./consent.ts";
import { endpoint, site } from "./install.ts";
import { stamp, track } from "./track.ts";
import { readAddress } from "./visit.ts";

const commands = {
  event: (name: string, { label, value }: { label?: unknown; value?: number | string } = {}) => {
    track(String(name), label === undefined ? undefined : String(label), value);
  },
  consent: (scopes: string[]) => consent(scopes || []),
  stamp: () => stamp,
};

type Command = keyof typeof commands;
type Tracker = ((command: Command, ...args: unknown[]) => unknown) & typeof commands & { q?: [Command, ...unknown[]][] };

const host = window as { om?: Partial<Tracker> };

// A page that carries the snippet twice is counted once.
if (endpoint && site && !host.om?.stamp) {
  const early = host.om?.q || [];
  const om = ((command, ...args) => (commands[command] as ((...values: unknown[]) => unknown) | undefined)?.(...args)) as Tracker;
  host.om = Object.assign(om, commands);
  const begin = () => {
    readAddress();
    beginConsent();
    for (const call of early) om(...call);
  };
  // A page rendered ahead of a visit is not a visit yet.
  if ((document as { prerendering?: boolean }).prerendering) document.addEventListener("prerenderingchange", begin, { once: true });
  else begin();
}
