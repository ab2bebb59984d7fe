import { PassThrough } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { readLines } from "./read-lines.js";

describe("readLines", () => {
  interface Reading {
    readonly body: PassThrough;
    readonly lines: string[];
    readonly ended: Promise<unknown>;
    readonly clock: ManualClock;
  }

  function read(onLine: (line: string) => void = () => undefined): Reading {
    const body = new PassThrough();
    const clock = new ManualClock();
    const lines: string[] = [];
    const ended = readLines(body, {
      clock,
      maxLineBytes: 1_000,
      maxSilenceMs: () => 200_000,
      onBytes: () => undefined,
      onLine: (line) => {
        lines.push(line);
        onLine(line);
      },
    }).then(
      () => "ended",
      (error: unknown) => error,
    );
    return { body, lines, ended, clock };
  }

  it("finds the same lines however the bytes are split, also within characters", async () => {
    const texts = fc.array(fc.string({ unit: "binary" }).map((text) => text.replaceAll("\n", "") + "é✓😀"));
    await fc.assert(
      fc.asyncProperty(
        texts,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (expected, sizes) => {
          const { body, lines, ended, clock } = read();
          const bytes = Buffer.from(expected.map((text) => `${text}\n`).join(""));
          for (let from = 0, turn = 0; from < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1;
            body.write(bytes.subarray(from, from + size));
            from += size;
          }
          body.end();
          expect(await ended).to.equal("ended");
          expect(lines).to.deep.equal(expected.map((text) => Buffer.from(text).toString()));
          expect(clock.pendingTimers).to.equal(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  const faults: Readonly<Record<string, readonly [act: (reading: Reading) => void, code: string]>> = {
    "ends inside of an event": [({ body }) => body.end('{"type"'), "CONNECTION_LOST"],
    "is destroyed": [({ body }) => void body.destroy(), "CONNECTION_LOST"],
    "brings a line without end": [({ body }) => body.write("x".repeat(1_001)), "PROTOCOL"],
    "is silent for 200 s": [({ clock }) => clock.advance(200_000), "TIMEOUT"],
  };
  for (const [what, [act, code]] of Object.entries(faults)) {
    it(`fails with ${code} when the body ${what}, and destroys it`, async () => {
      const reading = read();
      reading.body.write("a\n");
      act(reading);
      expect(await reading.ended).to.have.property("code", code);
      expect(reading.body.destroyed).to.equal(true);
      expect(reading.clock.pendingTimers).to.equal(0);
    });
  }

  it("waits on while bytes come now and then", async () => {
    const { body, clock, ended } = read();
    for (let turn = 0; turn < 5; turn++) {
      clock.advance(199_999);
      body.write("\n");
      await new Promise(setImmediate);
    }
    body.end();
    expect(await ended).to.equal("ended");
  });

  it("ends with what onLine throws, and does not call it again", async () => {
    const mistake = new Error("a mistake");
    const { body, lines, ended } = read(() => {
      throw mistake;
    });
    body.write("1\n2\n3\n");
    expect(await ended).to.equal(mistake);
    expect(lines).to.deep.equal(["1"]);
    expect(body.destroyed).to.equal(true);
  });
});
