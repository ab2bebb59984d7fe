import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { LocalProxy } from "../support/local-proxy.js";
import { manifest } from "../support/manifests.js";
import { RawSyncConnection } from "../support/raw-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const count = 1_000;

describe("a connection that uses many FeatureFlags", () => {
  it("gets all of a thousand with the default options, as from flagd-proxy", async () => {
    const directory = new TempDirectory();
    const names = Array.from({ length: count }, (_, index) => `flags-${index}`);
    directory.replace("flags.yaml", names.map((name) => manifest(name, 1)).join("---\n"));
    const proxy = await LocalProxy.start([`--source=dir:${directory.path}`]);
    const connection = await RawSyncConnection.open(proxy.port);
    try {
      const streams = names.map((name) => connection.subscribe(`core.openfeature.dev/default/${name}`));
      const isDecided = ({ versions, status, resetCode }: (typeof streams)[number]): boolean =>
        versions.length > 0 || (status ?? resetCode) !== undefined;
      await eventually(() => streams.every(isDecided), "flags, or the end of a stream");
      expect(streams.filter(({ versions }) => versions.length === 0)).to.deep.equal([]);
    } finally {
      connection.close();
      await proxy.stop();
      directory.remove();
    }
  });
});
