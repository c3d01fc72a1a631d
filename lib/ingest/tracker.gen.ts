/** Written by scripts/build-tracker.ts. */
export const tracker = {
  path: "/om.v2.js",
  integrity: "sha384-x9X22UEcOEjXKLokOmgU7p/oh1nHXbFISaKeVSkDHwJsc2FLP7BWyDmuExhQ+6Lx",
  gzipBytes: 2902,
};
