import { expectTypeOf, test } from "vitest";
import type { Database } from "#lib/db/types.gen.ts";
import type { SiteId, SiteUuid } from "#lib/site.ts";

type Functions = Database["public"]["Functions"];

// Guarantee: neither of a site's two ids compiles where the other one belongs, nor does text that nobody checked.
// `npm run check` compiles this file; the test runner alone does not look at types.
test("a site's two ids are two types, also at the database's functions", () => {
  expectTypeOf<SiteUuid>().not.toExtend<SiteId>();
  expectTypeOf<SiteId>().not.toExtend<SiteUuid>();
  expectTypeOf<string>().not.toExtend<SiteUuid>();
  expectTypeOf<Functions["admit_events"]["Args"]["p_site_id"]>().toEqualTypeOf<SiteUuid>();
  expectTypeOf<Functions["get_site"]["Args"]["p_public_id"]>().toEqualTypeOf<SiteId>();
});
