import { createServer, type AddressInfo, type Server } from "node:net";
import { connect } from "node:http2";
import { once } from "node:events";
import { expect } from "chai";
import fc from "fast-check";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { frameHeaderBytes } from "../load/http2-frames.js";
import { SubscriberConnection } from "../load/subscriber-connection.js";
import { subscriberProtocol } from "../load/subscriber-protocol.js";
import { FloorConnection } from "./floor-connection.js";
import { FramedVersion } from "./framed-version.js";
import { syncFrame } from "./sync-frame.js";

function version(sequence: number, bytes: number): FramedVersion {
  return new FramedVersion(syncFrame(sequencedDocument({ sequence, bytes })));
}

describe("bench: a version laid out in DATA frames", () => {
  it("is sent whole and in order whatever the windows, and never exceeds one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200_000 }),
        fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1 }),
        (length, windows) => {
          const message = Buffer.alloc(length);
          for (let at = 0; at < length; at++) message[at] = at % 251;
          const laidOut = new FramedVersion(message);
          const sent: Buffer[] = [];
          for (let from = 0, turn = 0; from < laidOut.frames; turn++) {
            // A turn in which nothing fits is followed by one in which a frame does.
            const windowBytes = (windows[turn % windows.length] ?? 0) + (turn % 2) * 20_000;
            const until = laidOut.lastFrameWithin(from, windowBytes);
            if (until === from) continue;
            expect(laidOut.dataBytes(from, until)).to.be.at.most(windowBytes);
            let bytes = laidOut.bytesOf(5, from, until);
            while (bytes.length > 0) {
              const end = frameHeaderBytes + bytes.readUIntBE(0, 3);
              expect(bytes.readUInt32BE(5)).to.equal(5);
              sent.push(bytes.subarray(frameHeaderBytes, end));
              bytes = bytes.subarray(end);
            }
            from = until;
          }
          expect(Buffer.concat(sent).equals(message)).to.equal(true);
        },
      ),
    );
  });
});

describe("bench: the floor server", () => {
  let server: Server;
  let newest = version(firstSequence, 1024);
  const connections: FloorConnection[] = [];

  beforeEach(async () => {
    newest = version(firstSequence, 1024);
    connections.length = 0;
    server = createServer({ highWaterMark: 1 }, (socket) => {
      socket.on("error", () => undefined);
      connections.push(new FloorConnection(socket, () => newest));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(async () => {
    server.close();
    await once(server, "close");
  });

  function publish(next: FramedVersion): void {
    newest = next;
    for (const connection of connections) connection.sendNewest();
  }

  for (const streams of [1, 7]) {
    it(`sends every subscriber, ${streams} per connection, what is published, the newest last`, async () => {
      const received: number[][] = Array.from({ length: streams }, () => []);
      const last = firstSequence + 9;
      await new Promise<void>((resolve, reject) => {
        let started = 0;
        let done = 0;
        const connection = new SubscriberConnection({
          host: "127.0.0.1",
          port: (server.address() as AddressInfo).port,
          protocol: subscriberProtocol("flagd", "default/bench"),
          streams,
          onMessage: (stream, { sequence }) => {
            received[stream]?.push(sequence);
            if (sequence === firstSequence && ++started === streams) {
              for (let next = firstSequence + 1; next <= last; next++)
                setImmediate(() => publish(version(next, 300_000)));
            }
            if (sequence === last && ++done === streams) {
              connection.close();
              resolve();
            }
          },
          onEnd: reject,
        });
      });
      for (const sequences of received) {
        expect(sequences[0]).to.equal(firstSequence);
        expect(sequences).to.deep.equal([...new Set(sequences)].sort());
      }
    });
  }

  it("speaks HTTP/2 as node:http2 does, and keeps to its windows", async () => {
    newest = version(firstSequence, 500_000);
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = session.request({ ":method": "POST", ":path": "/any" }, { endStream: false });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(headers).to.include({ ":status": 200, "content-type": "application/grpc" });
    const wanted = syncFrame(sequencedDocument({ sequence: firstSequence, bytes: 500_000 }));
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= wanted.length) break;
    }
    session.destroy();
    expect(Buffer.concat(chunks).equals(wanted)).to.equal(true);
  });
});
