import { expect, test } from "vitest";
import { planStreamLead } from "#scripts/local/demo/story/others/lead-stream.ts";
import { html } from "#scripts/local/demo/story/pages/html.ts";
import en from "#scripts/local/demo/story/pages/messages/en.json";
import tr from "#scripts/local/demo/story/pages/messages/tr.json";
import { liveParts } from "#scripts/local/demo/story/pages/story-page.ts";

type Tree = string | Tree[] | { [key: string]: Tree };

/** Every text by its path. */
function textsOf(tree: Tree, path = ""): [string, string][] {
  if (typeof tree === "string") return [[path, tree]];
  return Object.entries(tree).flatMap(([key, value]) => textsOf(value, `${path}.${key}`));
}
const placesIn = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

// Guarantee: nobody meets an English sentence, or a name in braces, on the Turkish story.
test("the story has the same texts with the same values in both languages", () => {
  const shape = (tree: Tree) => textsOf(tree).map(([path, text]) => [path, placesIn(text)]);
  expect(shape(tr)).toEqual(shape(en));
});

// Guarantee: what a visitor or an operator typed cannot become part of the story's page.
test("a value in a page is text, whatever it contains", () => {
  expect(html`<p title="${'"><script>'}">${["<b>", html`<i>${"&"}</i>`]}</p>`.text).toBe(
    '<p title="&#34;&#62;&#60;script&#62;">&#60;b&#62;<i>&#38;</i></p>',
  );
});

// Guarantee: the demo that a colleague sees has the same visitors, and a restart does not send the same ones again.
test("the n-th visitor is always the same, and no two are", () => {
  const leads = Array.from({ length: 300 }, (_, n) => planStreamLead(n));
  expect(leads).toEqual(Array.from({ length: 300 }, (_, n) => planStreamLead(n)));
  expect(new Set(leads.map(({ visit }) => visit.gclid)).size).toBe(300);
  const share = (holds: (lead: (typeof leads)[number]) => boolean) => leads.filter(holds).length / leads.length;
  expect(share(({ sale }) => sale !== null)).toBeCloseTo(0.5, 1);
  for (const shop of [0, 1]) expect(share((lead) => lead.shop === shop)).toBeGreaterThan(0.3);
  expect(share(({ isSentTwice }) => isSentTwice)).toBeGreaterThan(0.05);
});

// Guarantee: what happened later stands above with a later time, wherever the shops are.
// Mutation: writing each line in its own shop's time puts 02:12 above 23:11.
test("the stream of two shops has one clock", () => {
  const happening = { kind: "lead", action: "phone_call" } as const;
  const parts = liveParts({
    locale: "en",
    theme: "light",
    way: "script",
    stops: [],
    shops: { script: "Akdere", api: "Harbour" },
    siteNames: new Map([
      ["istanbul", { name: "Akdere", currency: "TRY", timeZone: "Europe/Istanbul" }],
      ["london", { name: "Harbour", currency: "GBP", timeZone: "Europe/London" }],
    ]),
    timeZone: "Europe/Istanbul",
    isStreaming: true,
    happenings: [
      { ...happening, at: new Date("2026-11-17T23:12:00Z"), siteId: "istanbul" },
      { ...happening, at: new Date("2026-11-17T23:11:00Z"), siteId: "london" },
    ],
    troubles: {},
    baseUrl: "",
    mailUrl: "",
    users: [],
  });
  const times = [
    ...Object.values(parts)
      .join("")
      .matchAll(/<time>([\d:]+)<\/time>/g),
  ].map(([, time]) => time);
  expect(times).toEqual(["02:12:00", "02:11:00"]);
});
