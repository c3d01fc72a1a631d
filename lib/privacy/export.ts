import { type ViewStore, viewsOfVisitor } from "#lib/oci/handout/page-views.ts";
import { type AskedPerson, namedPerson, type PersonDoor } from "./person.ts";

/** Everything that is stored of a person, as the text of one JSON file. Events come page by page, so that no visit is too long. */
export async function* exportPerson(door: PersonDoor, asked: AskedPerson, store?: ViewStore): AsyncGenerator<string> {
  const { person, preview } = await namedPerson(door, asked);
  const first = await door.export(person, null);
  const pageViews = [];
  for (const visitor of preview.visitors) pageViews.push(...(await viewsOfVisitor(door.siteId, visitor, store)));
  yield `${JSON.stringify({ askedBy: person.kind, ...first.person, pageViews }, null, 2).slice(0, -2)},\n  "events": [`;
  let separator = "\n    ";
  for (let page = first; ; page = await door.export(person, page.next)) {
    for (const event of page.events) {
      yield `${separator}${JSON.stringify(event)}`;
      separator = ",\n    ";
    }
    if (page.next === null) break;
  }
  yield "\n  ]\n}\n";
}

/** The same as a download. */
export async function exportResponse(door: PersonDoor, person: AskedPerson): Promise<Response> {
  const chunks = exportPerson(door, person);
  const first = await chunks.next(); // what can be refused is refused before the answer begins
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(first.value ?? "")),
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
  const headers = { "content-type": "application/json", "content-disposition": 'attachment; filename="person.json"' };
  return new Response(body, { headers });
}
