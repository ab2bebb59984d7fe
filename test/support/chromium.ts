import { existsSync } from "node:fs";
import path from "node:path";
import { chromium, type Browser } from "playwright-core";

/** Debian's, which `apt-get install chromium` brings. */
const executablePath = (process.env["PATH"] ?? "")
  .split(path.delimiter)
  .map((folder) => path.join(folder, "chromium"))
  .find((file) => existsSync(file));

/** Undefined, after a line that says so, if there is no Chromium here. */
export async function startChromium(): Promise<Browser | undefined> {
  if (executablePath !== undefined)
    return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  console.log("    skipped: there is no chromium here; 'apt-get install chromium' brings it");
  return undefined;
}
