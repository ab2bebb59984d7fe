import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { CallPacing } from "./call-pacing.js";
import { GrpcServer } from "./grpc-server.js";
import {
  answerOf,
  bytesStreaming,
  bytesUnary,
  eventually,
  grpcHeaders,
  http2Client,
  listen,
  ManualClock,
  recordingLogger,
  releaseAfterEach,
} from "@bunting/test/support/grpc-port.js";
import type { TransportSession, TransportStream } from "@bunting/http2";
import type { PortListener } from "@bunting/server";

const echo = bytesUnary("/t.T/Echo", (request) => request);
const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());
const allowance = 64;
const shared = 1_000;

describe("CallPacing", () => {
  releaseAfterEach();

  let clock: ManualClock;
  let listener: PortListener;
  let delayed: number;
  let waiting: number;

  beforeEach(async () => {
    clock = new ManualClock();
    delayed = waiting = 0;
    listener = await listen({
      grpc: new CallPacing({
        handler: new GrpcServer({ methods: [echo, hold], logger: recordingLogger(), clock }),
        clock,
        onDelayed: () => delayed++,
        onWaiting: (delta) => (waiting += delta),
      }),
    });
  });

  type Session = ReturnType<typeof http2Client>;

  function call(session: Session, path = "/t.T/Echo", headers: Record<string, string> = {}) {
    const stream = session.request({ ...grpcHeaders(path), ...headers });
    stream.end(Buffer.alloc(5));
    return stream;
  }

  /** Makes short calls until they wait; returns how many have not waited. */
  async function exhaust(session: Session): Promise<number> {
    for (let count = 0; ; count += 100) {
      const answers = Array.from({ length: 100 }, () => answerOf(call(session)));
      let answered = 0;
      for (const answer of answers) void answer.then(() => answered++);
      await eventually(() => answered + waiting === 100 && [...listener.sessions].length > 0, "the calls");
      if (waiting > 0) return count + answered;
    }
  }

  it("lets a connection that makes many short calls wait, and others begin at once", async () => {
    const greedy = http2Client(listener);
    expect(await exhaust(greedy)).to.be.equal(allowance + shared);
    expect(delayed).to.equal(waiting);
    const waited = waiting;
    const modest = http2Client(listener);
    for (let index = 0; index < allowance / 2; index++) {
      expect((await answerOf(call(modest))).trailers["grpc-status"]).to.equal("0");
    }
    expect(waiting).to.equal(waited);
    clock.advance(1_000);
    expect(waiting, "500 a second begin").to.equal(0);
    expect(clock.pendingTimers).to.equal(1);
  });

  it("charges streams that stay open nothing", async () => {
    const [session, greedy] = [http2Client(listener), http2Client(listener)];
    let opened = 0;
    for (let round = 1; round <= 10; round++) {
      for (let index = 0; index < allowance; index++)
        call(session, "/t.T/Hold").on("response", () => opened++);
      await eventually(() => opened === round * allowance, "all streams to be open");
      clock.advance(1_000);
    }
    for (let index = 0; index < shared; index++) await answerOf(call(greedy));
    expect((await answerOf(call(session))).trailers["grpc-status"]).to.equal("0");
    expect(delayed).to.equal(0);
  });

  it("forgets a connection that has closed, and its handler does", () => {
    const closed: unknown[] = [];
    const pacing = new CallPacing({
      handler: { onStream: () => undefined, onSessionClosed: (session) => void closed.push(session) },
      clock,
      onDelayed: () => delayed++,
      onWaiting: () => undefined,
    });
    const session = { pauseReading: () => undefined } as unknown as TransportSession;
    const stream = { session, onClose: () => undefined } as unknown as TransportStream;
    const begin = (calls: number): void => {
      for (let index = 0; index < calls; index++) pacing.onStream(stream);
    };
    begin(allowance + shared);
    pacing.onSessionClosed(session);
    expect(closed).to.deep.equal([session]);
    begin(allowance);
    expect(delayed, "as a new one").to.equal(0);
    begin(1);
    expect(delayed).to.equal(1);
  });

  it("reads nothing more from a connection while a call of it waits", async () => {
    const greedy = http2Client(listener);
    await exhaust(greedy);
    const late = answerOf(call(greedy));
    const before = delayed;
    // A round trip of another connection, in which the call would have been noticed.
    await answerOf(call(http2Client(listener)));
    expect(delayed).to.equal(before);
    clock.advance(1_000);
    clock.advance(1_000);
    expect((await late).trailers["grpc-status"]).to.equal("0");
  });

  it("ends a call whose deadline has passed while it waited", async () => {
    await exhaust(http2Client(listener));
    const before = waiting;
    const other = http2Client(listener);
    for (let index = 0; index < allowance; index++) await answerOf(call(other));
    const calls = Array.from({ length: 10 }, () => call(other, "/t.T/Echo", { "grpc-timeout": "5m" }));
    const answers = calls.map((each) => answerOf(each));
    await eventually(() => waiting > before, "calls to wait");
    for (let second = 0; second < 3; second++) {
      clock.advance(1_000);
      // A round trip.
      await answerOf(call(http2Client(listener)));
    }
    const statuses = (await Promise.all(answers)).map(
      ({ headers, trailers }) => trailers["grpc-status"] ?? headers["grpc-status"],
    );
    expect(statuses).to.include(String(status.DEADLINE_EXCEEDED));
  });

  it("forgets the calls of a connection that closes", async () => {
    const greedy = http2Client(listener);
    await exhaust(greedy);
    greedy.destroy();
    for (const session of listener.sessions) session.destroy();
    await eventually(() => waiting === 0, "the queue to be empty");
  });
});
