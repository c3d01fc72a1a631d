/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-kS7JrOF3eZdCxTYdmnR+3re4ZW8SPRR8F866JlHEU9XABvzIXQ2eJYN6Xv4gPnpq",
  gzipBytes: 2995,
};
