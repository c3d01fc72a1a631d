/** npm run script:build: writes GoogleAdsScript.js from its parts. */
import { writeFileSync } from "node:fs";
import { renderScript } from "./google-ads-oci/render-script.ts";

writeFileSync("scripts/google-ads-oci/GoogleAdsScript.js", renderScript());
