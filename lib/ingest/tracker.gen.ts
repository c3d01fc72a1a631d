/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-dSdIxPIdBP3jfC9r0nYPX+g8sy0sCBUSUqCRaNnWqw5EwQA2XPbgWh+JXxa7KXmQ",
  gzipBytes: 2987,
};
