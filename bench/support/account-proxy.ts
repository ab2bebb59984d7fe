import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { startProxyInPod } from "@bunting/test/support/proxy-process.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";

/** The shipped proxy on an API server that is played; `stop` kills it. */
export async function startProxyWithAccount(
  api: FaultyApiServer,
  args: readonly string[],
): Promise<{ readonly sync: string; readonly pid: number; readonly stop: () => Promise<void> }> {
  const directory = new TempDirectory();
  const account = directory.file("account");
  mkdirSync(account);
  writeFileSync(path.join(account, "ca.crt"), api.ca);
  writeFileSync(path.join(account, "token"), "proxy");
  const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
  const { process, sync } = await startProxyInPod({ directory: account, environment }, args);
  return {
    sync,
    pid: process.child.pid ?? 0,
    stop: async () => {
      await process.stop("SIGKILL");
      directory.remove();
    },
  };
}
