import { frame, frameFlag, frameType } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { AttackedAgent } from "./support/attacked-agent.js";
import { literalHeader, requestFrames, type HostilePeer } from "./support/hostile-peer.js";

const continuation = 0x9;
const priority = 0x2;
const resolveBoolean = "/flagd.evaluation.v1.Service/ResolveBoolean";
const eventStream = "/flagd.evaluation.v1.Service/EventStream";
/** ResolveBooleanRequest of the flag `on`. */
const message = Buffer.of(0x0a, 2, 0x6f, 0x6e);
const connections = 10;
/** What an agent holds of a stream, at least. */
const streamBytes = 2_000;

interface Flood {
  readonly what: string;
  /** What one peer writes at a time. */
  readonly batch: (peer: HostilePeer, index: number) => Uint8Array;
  readonly batches: number;
  /** What an agent would hold of a batch that held all it gets. Without it, the attack is one on its time. */
  readonly heldBytes?: number;
  /** False: the peers don't read what they are sent. */
  readonly reads?: boolean;
  /** Whether its peers are ended, or have asked for nothing that a connection may not have. */
  readonly isEnded: boolean;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const pings = Buffer.concat(times(500, () => frame(frameType.ping, 0, 0, Buffer.alloc(8))));
const settings = Buffer.concat(
  times(500, () => frame(frameType.settings, 0, 0, Buffer.of(0, 4, 0, 0, 255, 255))),
);
const fields = Buffer.concat(times(100, (index) => literalHeader(`x-${index}`, "v".repeat(100))));
const padding = Buffer.concat(
  times(500, () => frame(frameType.data, 0x8, 1, Buffer.concat([Buffer.of(255), Buffer.alloc(255)]))),
);
/** SETTINGS_INITIAL_WINDOW_SIZE: all there is, and none. */
const windows = Buffer.concat(
  times(500, (index) =>
    frame(
      frameType.settings,
      0,
      0,
      Buffer.of(0, 4, ...(index % 2 === 0 ? [127, 255, 255, 255] : [0, 0, 0, 0])),
    ),
  ),
);
const emptyData = frame(frameType.data, 0, 1, Buffer.alloc(0));

const floods: readonly Flood[] = [
  {
    what: "evaluations that are reset at once",
    batch: (peer) =>
      Buffer.concat(
        times(100, () => {
          const streamId = peer.takeStreamId();
          const cancel = frame(frameType.rstStream, 0, streamId, Buffer.of(0, 0, 0, 8));
          return Buffer.concat([requestFrames(streamId, resolveBoolean, { message }), cancel]);
        }),
      ),
    batches: 60,
    heldBytes: 100 * streamBytes,
    isEnded: true,
  },
  {
    what: "a header block that never ends",
    batch: (peer, index) =>
      index === 0
        ? frame(frameType.headers, 0, peer.takeStreamId(), Buffer.of(0x83, 0x86))
        : frame(continuation, 0, 1, fields),
    batches: 900,
    heldBytes: fields.length,
    isEnded: true,
  },
  { what: "PINGs", batch: () => pings, batches: 2_000, heldBytes: pings.length, isEnded: true },
  {
    what: "PINGs whose answers are not read",
    batch: () => pings,
    batches: 1_500,
    heldBytes: pings.length,
    reads: false,
    isEnded: true,
  },
  { what: "SETTINGS", batch: () => settings, batches: 2_000, heldBytes: settings.length, isEnded: true },
  {
    what: "SETTINGS whose acknowledgements are not read",
    batch: () => settings,
    batches: 1_500,
    heldBytes: settings.length,
    reads: false,
    isEnded: true,
  },
  {
    what: "WINDOW_UPDATE, PRIORITY and frames of unknown types",
    batch: () =>
      Buffer.concat([
        ...times(500, () => frame(frameType.windowUpdate, 0, 0, Buffer.of(0, 0, 0, 1))),
        ...times(500, (index) => frame(priority, 0, 2 * index + 1, Buffer.alloc(5))),
        ...times(500, () => frame(0xfa, 0, 0, Buffer.alloc(500))),
      ]),
    batches: 30,
    heldBytes: 260_000,
    isEnded: false,
  },
  {
    what: "DATA frames without data",
    batch: (peer, index) =>
      index === 0
        ? requestFrames(peer.takeStreamId(), resolveBoolean, { endsStream: false })
        : Buffer.concat(times(1_000, () => emptyData)),
    batches: 900,
    heldBytes: 1_000 * emptyData.length,
    isEnded: false,
  },
  {
    what: "evaluations that it resets itself, because of a WINDOW_UPDATE of nothing",
    batch: (peer) =>
      Buffer.concat(
        times(100, () => {
          const streamId = peer.takeStreamId();
          const nothing = frame(frameType.windowUpdate, 0, streamId, Buffer.alloc(4));
          return Buffer.concat([requestFrames(streamId, resolveBoolean, { endsStream: false }), nothing]);
        }),
      ),
    batches: 60,
    heldBytes: 100 * streamBytes,
    isEnded: true,
  },
  {
    what: "evaluations that it resets itself, because they depend on themselves",
    batch: (peer) =>
      Buffer.concat(
        times(100, () => {
          const streamId = peer.takeStreamId();
          const itself = Buffer.alloc(5);
          itself.writeUInt32BE(streamId, 0);
          return Buffer.concat([
            requestFrames(streamId, resolveBoolean, { endsStream: false }),
            frame(priority, 0, streamId, itself),
          ]);
        }),
      ),
    batches: 60,
    heldBytes: 100 * streamBytes,
    isEnded: true,
  },
  {
    what: "trailers without an end",
    batch: (peer) =>
      Buffer.concat(
        times(100, () => {
          const streamId = peer.takeStreamId();
          const trailers = frame(
            frameType.headers,
            frameFlag.endHeaders,
            streamId,
            literalHeader("x-a", "b"),
          );
          return Buffer.concat([requestFrames(streamId, resolveBoolean, { endsStream: false }), trailers]);
        }),
      ),
    batches: 60,
    heldBytes: 100 * streamBytes,
    isEnded: true,
  },
  {
    what: "DATA frames of padding alone",
    batch: (peer, index) =>
      index === 0 ? requestFrames(peer.takeStreamId(), resolveBoolean, { endsStream: false }) : padding,
    batches: 200,
    heldBytes: padding.length,
    isEnded: false,
  },
  {
    what: "SETTINGS that open and close the windows of streams of events, which are not read",
    batch: (peer, index) =>
      index === 0
        ? Buffer.concat(
            times(50, () => requestFrames(peer.takeStreamId(), eventStream, { message: Buffer.alloc(0) })),
          )
        : windows,
    batches: 1_100,
    heldBytes: windows.length,
    reads: false,
    isEnded: true,
  },
  {
    what: "header blocks that are small and say much (an entry of the dynamic table, again and again)",
    batch: (peer, index) => {
      // A field of 4,000 bytes gets into the table with the first block, and each byte of the blocks after it stands for the whole field.
      const block =
        index === 0
          ? Buffer.concat([
              Buffer.of(0x83, 0x86, 0x40),
              literalHeader("x-big", "v".repeat(3_900)).subarray(1),
            ])
          : Buffer.concat([Buffer.of(0x83, 0x86), Buffer.alloc(15_000, 0xbe)]);
      const flags = frameFlag.endHeaders | frameFlag.endStream;
      return frame(frameType.headers, flags, peer.takeStreamId(), block);
    },
    batches: 60,
    heldBytes: 15_000 * 3_900,
    isEnded: false,
  },
];

describe("an agent that is flooded over HTTP/2", () => {
  let agent: AttackedAgent;
  beforeEach(async () => (agent = await AttackedAgent.start()));
  afterEach(() => agent.stop());

  for (const { what, batch, batches, heldBytes, reads = true, isEnded } of floods) {
    it(`answers others, and holds nothing of ${what}`, async () => {
      const peers = await Promise.all(times(connections, () => agent.peer("evaluation", { reads })));
      for (let index = 0; index < batches; index++) {
        const open = peers.filter(({ isClosed }) => !isClosed);
        if (open.length === 0) break;
        await Promise.all(open.map((peer) => peer.send(batch(peer, index))));
        if (index % Math.ceil(batches / 3) === 0) await agent.isWell();
      }
      await agent.isWell(heldBytes === undefined ? undefined : connections * batches * heldBytes);
      if (!isEnded) return;
      for (const { socket } of peers) socket.resume();
      await eventually(
        () => peers.every(({ isClosed, goaway }) => isClosed || goaway !== undefined),
        "the end of the attackers",
      );
    });
  }
});
