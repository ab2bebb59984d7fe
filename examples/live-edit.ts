import { readFile, rename, writeFile } from "node:fs/promises";
import { ProviderEvents } from "@openfeature/server-sdk";
import type { Way } from "./providers.js";

const flag = "new-welcome";

/** Flips the default of `new-welcome` as editors save a file: a new one is moved over the old one. */
export async function flipWelcome(
  file: string,
): Promise<{ readonly expected: boolean; readonly atMs: number }> {
  const text = await readFile(file, "utf8");
  const isOn = /new-welcome:[^]*?defaultVariant: "on"/.test(text.slice(0, text.indexOf("banner:")));
  const edited = text.replace(
    /(new-welcome:[^]*?defaultVariant: )"(?:on|off)"/,
    `$1"${isOn ? "off" : "on"}"`,
  );
  const next = `${file}.next`;
  await writeFile(next, edited);
  const atMs = performance.now();
  await rename(next, file);
  return { expected: !isOn, atMs };
}

/** Resolves with the time at which the way first answers `expected`: on its change event, or by polling where it has no such event. */
export async function arrival(way: Way, expected: boolean, withinMs: number): Promise<number> {
  const isThere = async (): Promise<boolean> =>
    (await way.client.getBooleanValue(flag, !expected)) === expected;
  const deadline = AbortSignal.timeout(withinMs);
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      way.client.removeHandler(ProviderEvents.ConfigurationChanged, look);
      resolve(performance.now());
    };
    const look = (): void => {
      void isThere().then((there) => {
        if (there) finish();
        else if (!way.announcesChanges && !deadline.aborted) setTimeout(look, 1);
      });
    };
    deadline.addEventListener("abort", () =>
      reject(new Error(`the edit did not arrive at ${way.name} within ${withinMs} ms`)),
    );
    if (way.announcesChanges) way.client.addHandler(ProviderEvents.ConfigurationChanged, look);
    look();
  });
}
