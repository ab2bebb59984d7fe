import { syncV1 } from "@bunting/protocol";
import { encodeHello, encodeSubscribe } from "@bunting/sync-client/messages";
import { expect } from "chai";
import { dataFrame } from "../../bench/load/http2-frames.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { portOf, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { scaled } from "../support/scale.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer, prefixed } from "./support/hostile-peer.js";
import { mebibyte } from "./support/vitals.js";

const limitBytes = 256 * mebibyte;
const documentBytes = 4_000_000;
/** Far more than fit. */
const versions = scaled(70, 55);
const big = "x".repeat(documentBytes);

function documentOf(version: number): string {
  const flag = (value: string): string =>
    `{"state":"ENABLED","variants":{"is":"${value}"},"defaultVariant":"is"}`;
  return `{"flags":{"a":${flag(`version ${version}`)},"big":${flag(big)}}}`;
}

const requests = {
  "flagd.sync.v1": {
    path: "/flagd.sync.v1.FlagSyncService/SyncFlags",
    message: syncV1.SyncFlagsRequest.encode({ providerId: "", selector: "default/flags" }).finish(),
    more: Buffer.alloc(0),
  },
  "bunting.sync.v1": {
    path: "/bunting.sync.v1.SyncService/Sync",
    message: encodeHello({ agent: "bunting-agent/1", providerId: "" }),
    more: prefixed(encodeSubscribe("default/flags", undefined)),
  },
};

describe("a proxy in a container of 256 MiB with subscribers that read nothing", function () {
  // Some 220 MB are written, read and sent, once for each protocol.
  this.timeout(300_000);
  let group: MemoryCgroup;
  let directory: TempDirectory;
  let proxy: ProxyProcess;

  before(function () {
    if (!MemoryCgroup.isAvailable) this.skip();
  });
  beforeEach(async () => {
    directory = new TempDirectory();
    group = new MemoryCgroup(limitBytes);
    directory.replace("flags.json", documentOf(0));
    proxy = await startProxyOn(`dir:${directory.path}`, [], {}, group.wrapper);
  });
  afterEach(async () => {
    await proxy.process.stop("SIGKILL");
    directory.remove();
    await group.remove();
  });

  for (const [protocol, { path, message, more }] of Object.entries(requests))
    it(`is not filled by them, each of another version of the flags (${protocol})`, async () => {
      const client = new StockSyncClient(proxy.sync, { "grpc.max_receive_message_length": -1 });
      // It reads each version once, and shows that the proxy has it.
      const reader = client.subscribe({ selector: "default/flags" });
      const peers: HostilePeer[] = [];
      try {
        for (let version = 1; version <= versions; version++) {
          directory.replace("flags.json", documentOf(version));
          await reader.messages.nextMatching(
            ({ text }) => text.includes(`version ${version}"`),
            `version ${version}`,
          );
          const peer = await HostilePeer.connect(portOf(proxy), { windowBytes: 0 });
          peers.push(peer);
          const streamId = await peer.request(path, { message, endsStream: more.length === 0 });
          if (more.length > 0) await peer.send(dataFrame(streamId, more, false));
        }
        expect(group.kills, "killed for its memory").to.equal(0);
        expect(
          peers.some(({ isClosed }) => isClosed),
          "some are ended",
        ).to.equal(true);
      } finally {
        for (const peer of peers) peer.destroy();
        client.close();
      }
    });
});
