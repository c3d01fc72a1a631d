import { expect, test } from "vitest";
import { type Descriptor, walkDescriptors } from "#scripts/google-fields/walk-descriptors.ts";

const nested = (path: string, inside: Record<string, Descriptor>): Descriptor =>
  path.split(".").reduceRight<Descriptor>((child, name) => ({ nested: { [name]: child } }), { nested: inside });
const definitions = nested("google.ads.googleads.v25", {
  services: {
    nested: {
      Row: {
        oneofs: { _order_id: { oneof: ["order_id"] }, click: { oneof: ["gclid", "wbraid"] } },
        fields: {
          order_id: { type: "string" },
          gclid: { type: "string" },
          wbraid: { type: "string" },
          google_analytics_4_id: { type: "int64" },
          parts: { type: "Part", rule: "repeated" },
          kind: { type: "google.ads.googleads.v25.enums.KindEnum.Kind" },
          made_at: { type: "google.protobuf.Timestamp" },
        },
        nested: { Part: { fields: { row: { type: "Row" }, big: { type: "Missing" } } } },
      },
    },
  },
  enums: { nested: { KindEnum: { fields: {}, nested: { Kind: { values: { UNKNOWN: 0, SALE: 1 } } } } } },
});
const roots = ["google.ads.googleads.v25.services.Row"];

// Guarantee: the table has the names and types that REST has, not those of the proto files.
test("names, types, enums and groups of a message and of all that it holds", () => {
  const only = { "googleads.services.Row.Part": ["row"] };
  expect(walkDescriptors(definitions, { roots, only })).toEqual({
    messages: {
      "googleads.services.Row": {
        orderId: "string",
        gclid: "string",
        wbraid: "string",
        googleAnalytics4Id: "int64",
        parts: "googleads.services.Row.Part[]",
        kind: "googleads.enums.Kind",
        madeAt: "timestamp",
      },
      "googleads.services.Row.Part": { row: "googleads.services.Row" },
    },
    oneofs: { "googleads.services.Row": [["gclid", "wbraid"]] },
    enums: { "googleads.enums.Kind": ["UNKNOWN", "SALE"] },
  });
});

test("a type, a root or a wanted field that is not defined stops the extraction", () => {
  expect(() => walkDescriptors(definitions, { roots, only: {} })).toThrow("uses Missing, which is not defined");
  expect(() => walkDescriptors(definitions, { roots: ["google.Nothing"], only: {} })).toThrow("have no google.Nothing");
  const only = { "googleads.services.Row": ["orderId", "gone"] };
  expect(() => walkDescriptors(definitions, { roots, only })).toThrow("has no gone");
});
