import type { Readable } from "node:stream";
import { GatheredBytes, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";

export interface LineReading {
  /** Called with each line, without its end. What it throws ends the reading. */
  readonly onLine: (line: string) => void;
  /** Called with each chunk, before its lines. */
  readonly onBytes: () => void;
  readonly maxLineBytes: number;
  /** The longest silence allowed at this moment, in ms. It may grow while the body is read, but not shrink. */
  readonly maxSilenceMs: () => number;
  readonly clock: Clock;
}

/**
 * Reads a body of lines to its end. Bytes are split into lines before they are decoded, because a chunk may end within a character.
 *
 * @throws KubeError TIMEOUT after too long a silence, PROTOCOL for a line that is too long, CONNECTION_LOST if the body ends within a line,
 *   and whatever the body fails with. The body is destroyed then.
 */
export function readLines(body: Readable, reading: LineReading): Promise<void> {
  const { onLine, onBytes, maxLineBytes, maxSilenceMs, clock } = reading;
  return new Promise((resolve, reject) => {
    const pending = new GatheredBytes();
    let lastMs = clock.monotonicMs();
    let cancelWatchdog = (): void => undefined;
    let isSettled = false;

    const settle = (error?: Error): void => {
      if (isSettled) return;
      isSettled = true;
      cancelWatchdog();
      if (error === undefined) resolve();
      else {
        body.destroy();
        reject(error);
      }
    };
    // One timer per stream, which checks when it is due whether anything came; not one per chunk.
    const watch = (): void => {
      const leftMs = lastMs + maxSilenceMs() - clock.monotonicMs();
      if (leftMs <= 0) settle(new KubeError("TIMEOUT", `a watch was silent for ${maxSilenceMs() / 1_000} s`));
      else cancelWatchdog = clock.after(leftMs, watch);
    };
    const takeLine = (end: Buffer): void => {
      let line = end;
      if (pending.length > 0) {
        pending.push(end);
        line = pending.take();
      }
      if (line.length > 0) onLine(line.toString("utf8"));
    };
    const take = (chunk: Buffer): void => {
      lastMs = clock.monotonicMs();
      onBytes();
      let from = 0;
      for (let at = chunk.indexOf(0x0a); at >= 0 && !isSettled; at = chunk.indexOf(0x0a, from)) {
        takeLine(chunk.subarray(from, at));
        from = at + 1;
      }
      if (isSettled || from === chunk.length) return;
      pending.push(chunk.subarray(from));
      if (pending.length > maxLineBytes)
        throw new KubeError("PROTOCOL", `a watch sent a line of more than ${maxLineBytes} bytes`);
    };
    watch();
    body.on("data", (chunk: Buffer) => {
      if (isSettled) return;
      try {
        take(chunk);
      } catch (error) {
        settle(error instanceof Error ? error : new Error(String(error)));
      }
    });
    body.once("end", () => {
      if (pending.length === 0) settle();
      else settle(new KubeError("CONNECTION_LOST", "a watch ended in the middle of an event"));
    });
    body.on("error", settle);
    body.once("close", () => settle(new KubeError("CONNECTION_LOST", "the connection of a watch broke")));
  });
}
