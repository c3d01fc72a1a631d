import { spawn } from "node:child_process";
import { isRoot } from "./state-dir.ts";

/** Opens a page on a desktop; does nothing over SSH, as root or where there is no desktop. */
export function openBrowser(url: string): void {
  const isMac = process.platform === "darwin";
  const hasDesktop = isMac || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
  if (!hasDesktop || !process.stdout.isTTY || process.env.SSH_CONNECTION || process.env.CI || isRoot()) return;
  const opener = spawn(isMac ? "open" : "xdg-open", [url], { stdio: "ignore", detached: true });
  // A machine without an opener still has the address on its screen.
  opener.on("error", () => {});
  opener.unref();
}
