import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { eventually } from "@bunting/test/support/event-queue.js";
import { manifest, versionOf } from "@bunting/test/support/manifests.js";
import { binaries, ServiceProcess } from "@bunting/test/support/service-process.js";
import { StockSyncClient } from "@bunting/test/support/stock-sync-client.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";

const lost =
  "the flag directory can't be read; flags read before are still served, and it is read again as soon as it can be";

/** Mounts need root, and a mount namespace of their own. */
const canMount = spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
const otherFileSystem = "/dev/shm";

describe("an unmounted volume", () => {
  let directory: TempDirectory;
  let proxy: ServiceProcess;
  let client: StockSyncClient;
  let messages: { readonly size: number; nextEvent(): Promise<{ readonly text: string }> };
  let other: string | undefined;
  beforeEach(() => {
    other = undefined;
    directory = new TempDirectory();
    mkdirSync(directory.file("flags"));
    mkdirSync(directory.file("volume"));
    directory.replace("volume/flags.yaml", manifest("flags", 1));
  });
  afterEach(async () => {
    client.close();
    await proxy.stop("SIGKILL");
    directory.remove();
    if (other !== undefined) rmSync(other, { recursive: true });
  });

  /** A proxy that would send an empty document at once if its FeatureFlag were deleted; `wrapper` is what starts it. */
  async function start(root: string, wrapper: readonly string[] = []): Promise<void> {
    const deletion = ["--deletion-grace=0", "--deletion-policy=empty", "--drain-delay=0", "--drain-window=0"];
    const ports = ["--host", "127.0.0.1", "--port", "0", "--management-port", "0"];
    const args = ["start", "--source", `dir:${root}`, ...ports, ...deletion];
    proxy = new ServiceProcess(binaries.proxy, { args, wrapper });
    let line = await proxy.nextLog("listening");
    while (line["service"] !== "sync") line = await proxy.nextLog("listening");
    client = new StockSyncClient(`127.0.0.1:${line["port"] as number}`);
    messages = client.subscribe({ selector: "default/flags" }).messages;
    expect(versionOf((await messages.nextEvent()).text)).to.equal(1);
  }

  /** Changes nothing, but makes an event where an unmount makes none. */
  const nudge = (): void => chmodSync(directory.file("flags"), 0o755);

  async function expectNoDeletion(): Promise<void> {
    const isNoticed = (): boolean =>
      proxy.logs.some(({ msg }) => msg === lost || msg === "a flag file is gone");
    await eventually(isNoticed, "the proxy notices");
    expect(proxy.output).to.contain(lost).and.contain("as when a volume was unmounted: mount it again");
    expect(versionOf(await client.fetchAll("default/flags"))).to.equal(1);
    expect(messages.size, "messages after the first").to.equal(0);
  }

  for (const [name, mount] of [
    ["a file system of its own", 'mount -t tmpfs none "$1" && cp "$0"/* "$1"'],
    ["a directory of the same file system that is mounted elsewhere", 'mount --bind "$0" "$1"'],
  ] as const) {
    it(`keeps its flags until it is back: ${name}`, async function () {
      if (!canMount) this.skip();
      const [volume, root] = [directory.file("volume"), directory.file("flags")];
      await start(root, ["unshare", "-m", "sh", "-c", `${mount} && shift && exec "$@"`, volume, root]);
      const inside = (...command: string[]): unknown =>
        execFileSync("nsenter", ["-t", String(proxy.pid), "-m", ...command]);
      inside("umount", root);
      nudge();
      await expectNoDeletion();
      directory.replace("volume/flags.yaml", manifest("flags", 2));
      inside("sh", "-c", mount, volume, root);
      nudge();
      expect(versionOf((await messages.nextEvent()).text)).to.equal(2);
    });
  }

  it("keeps its flags where a link leads to an empty directory in another file system, too", async function () {
    try {
      if (statSync(otherFileSystem).dev !== statSync(directory.path).dev)
        other = mkdtempSync(`${otherFileSystem}/bunting-test-`);
    } catch {
      // There is none, or it is not ours to write to.
    }
    symlinkSync("volume", directory.file("root"));
    await start(directory.file("root"));
    if (other === undefined) this.skip();
    symlinkSync(other, directory.file("next"));
    renameSync(directory.file("next"), directory.file("root"));
    await expectNoDeletion();
    directory.replace("volume/flags.yaml", manifest("flags", 2));
    cpSync(directory.file("volume/flags.yaml"), `${other}/flags.yaml`);
    expect(versionOf((await messages.nextEvent()).text)).to.equal(2);
  });

  it("is no empty directory of the same file system: that deletes the flags", async () => {
    await start(directory.file("volume"));
    renameSync(directory.file("volume"), directory.file("former"));
    renameSync(directory.file("flags"), directory.file("volume"));
    expect(JSON.parse((await messages.nextEvent()).text)).to.deep.equal({ flags: {} });
  });
});
