import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { encodeDocument, type FlagDocument } from "@bunting/protocol";
import { freePort } from "@bunting/test/support/free-port.js";
import { proxyBinary } from "./binaries.js";
import { ChildProcess } from "./child-process.js";
import { untilReady } from "./wait.js";

/** Creates a watched folder, and returns a function that renames a document into it. */
export function watchedFile(folder: string): (document: FlagDocument) => void {
  mkdirSync(path.join(folder, "watched"));
  return (document) => {
    const waiting = path.join(folder, "bench.json");
    writeFileSync(waiting, encodeDocument(document));
    renameSync(waiting, path.join(folder, "watched", "bench.json"));
  };
}

/** Starts the shipped proxy on a watched folder, and waits until it is ready. */
export async function startProxy(
  folder: string,
  core: number | undefined,
  more: readonly string[] = [],
): Promise<{ process: ChildProcess; port: number }> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const args = [
    "start",
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    "--management-port",
    String(managementPort),
  ];
  const process = new ChildProcess({
    name: "bunting-proxy",
    ...proxyBinary(),
    hasChannel: false,
    args: [...args, "--source", `dir:${folder}`, ...more],
    core,
  });
  await untilReady(`http://127.0.0.1:${managementPort}/readyz`, () => process.assertRuns());
  return { process, port };
}
