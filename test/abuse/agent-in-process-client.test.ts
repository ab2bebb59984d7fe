import { Client, credentials } from "@grpc/grpc-js";
import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { EventQueue, eventually } from "../support/event-queue.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { scaled } from "../support/scale.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer } from "./support/hostile-peer.js";
import { mebibyte } from "./support/vitals.js";

const limitBytes = 64 * mebibyte;
/** With one client it takes 33.5 MiB, without 31.5, and with texts of the set on the heap and copies beside it that nobody counts 43.7 (Node 24); on a busy machine it has taken 43.9. */
const mostMebibytes = 50;
const flagsOfOneMegabyte = 3_600;
const edits = scaled(6_000, 150);

/** A megabyte of flags as people write them, with a character beyond Latin-1; the version is in the first. */
const [head, rest] = splitDocument();
const documentOf = (version: number): string => head + String(version) + rest;

function splitDocument(): [head: string, rest: string] {
  const flags = Array.from({ length: flagsOfOneMegabyte }, (_, index) => [
    `flag-${String(index).padStart(5, "0")}`,
    {
      state: "ENABLED",
      variants: {
        on: `the value of flag ${index}, ${index === 0 ? "in version VERSION" : "as it was"} →`,
        off: "nothing",
      },
      defaultVariant: "off",
      targeting: {
        if: [
          { in: ["@example.com", { var: "email" }] },
          "on",
          { "==": [{ var: "tier" }, "gold"] },
          "on",
          "off",
        ],
      },
      metadata: { owner: `team-${index % 20}` },
    },
  ]);
  return JSON.stringify({ flags: Object.fromEntries(flags) as unknown }).split("VERSION") as [string, string];
}

describe("an agent in a container of 64 MiB with a megabyte of flags", function () {
  let group: MemoryCgroup;
  let directory: TempDirectory;
  let agent: AgentProcess;
  let client: Client;

  before(function () {
    if (!MemoryCgroup.isAvailable) this.skip();
  });
  beforeEach(async () => {
    directory = new TempDirectory();
    group = new MemoryCgroup(limitBytes);
    directory.replace("flags.json", documentOf(0));
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`], { wrapper: group.wrapper });
    client = new Client(agent.sync, credentials.createInsecure(), { "grpc.max_receive_message_length": -1 });
  });
  afterEach(async () => {
    client.close();
    const code = await agent.process.stop();
    directory.remove();
    await group.remove();
    expect(code, agent.process.output).to.equal(0);
  });

  /** The versions that a stream of SyncFlags brings. */
  function versions(): EventQueue<number> {
    const queue = new EventQueue<number>();
    client
      .makeServerStreamRequest(
        "/flagd.sync.v1.FlagSyncService/SyncFlags",
        () => Buffer.from(syncV1.SyncFlagsRequest.encode({ providerId: "", selector: "" }).finish()),
        (bytes: Buffer) => Number(/in version (\d+)/.exec(bytes.toString("latin1", 0, 2_000))?.[1]),
        {},
      )
      .on("data", (version: number) => queue.push(version))
      .on("error", () => undefined);
    return queue;
  }

  it(`has its memory while ${edits} edits go to an in-process client`, async () => {
    const received = versions();
    let peakBytes = 0;
    for (let version = 0; version <= edits; version++) {
      directory.replace("flags.json", documentOf(version));
      await received.nextMatching((each) => each === version, `version ${version}`);
      peakBytes = Math.max(peakBytes, group.anonymousBytes);
    }
    expect(group.kills, "killed for its memory").to.equal(0);
    expect(peakBytes / mebibyte, "MiB at most").to.be.below(mostMebibytes);
  });

  for (const method of scaled(["SyncFlags", "FetchAllFlags"], ["SyncFlags"]))
    it(`is not filled by clients that read nothing of ${method}, each of another version`, async () => {
      const received = versions();
      const peers: HostilePeer[] = [];
      try {
        for (let version = 1; version <= 50; version++) {
          directory.replace("flags.json", documentOf(version));
          await received.nextMatching((each) => each === version, `version ${version}`);
          const peer = await HostilePeer.connect(agent.ports.get("sync") ?? 0, { windowBytes: 0 });
          peers.push(peer);
          await peer.request(`/flagd.sync.v1.FlagSyncService/${method}`, { message: Buffer.alloc(0) });
        }
        await eventually(() => peers.some(({ isClosed }) => isClosed), "some are ended");
        expect(group.kills, "killed for its memory").to.equal(0);
      } finally {
        for (const peer of peers) peer.destroy();
      }
    });
});
