import type { Readable } from "node:stream";
import { GatheredBytes, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";

export interface BodyLimits {
  readonly silenceMs: number;
  readonly clock: Clock;
}

/** Reads a whole body. Rejects with TIMEOUT after a pause of `silenceMs`, with PROTOCOL after `maxBytes`. */
export async function readResponseBody(
  body: Readable,
  limits: BodyLimits & { readonly maxBytes: number },
): Promise<string> {
  const { maxBytes } = limits;
  const gathered = new GatheredBytes();
  for await (const chunk of chunksOf(body, limits)) {
    gathered.push(chunk);
    if (gathered.length > maxBytes)
      throw new KubeError("PROTOCOL", `the API server's answer has more than ${maxBytes} bytes`);
  }
  return gathered.take().toString("utf8");
}

/** The chunks of a body. Rejects with TIMEOUT after a pause of `silenceMs`. */
export async function* chunksOf(body: Readable, { silenceMs, clock }: BodyLimits): AsyncIterable<Buffer> {
  let size = 0;
  let sizeBefore = -1;
  let stopTimer = (): void => undefined;
  const look = (): void => {
    if (size === sizeBefore) {
      body.destroy(new KubeError("TIMEOUT", `the API server stopped sending an answer after ${size} bytes`));
      return;
    }
    sizeBefore = size;
    stopTimer = clock.after(silenceMs, look);
  };
  look();
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      yield chunk;
    }
  } finally {
    stopTimer();
  }
}

/** Reads the beginning of a body that explains an error; never throws. */
export async function readBeginning(
  body: Readable,
  limits: { readonly maxBytes: number; readonly withinMs: number; readonly clock: Clock },
): Promise<string> {
  const { maxBytes, withinMs, clock } = limits;
  const gathered = new GatheredBytes();
  const stopTimer = clock.after(withinMs, () =>
    body.destroy(new KubeError("TIMEOUT", "the rest did not come")),
  );
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      gathered.push(chunk);
      if (gathered.length >= maxBytes) break;
    }
  } catch {
    // The part that has arrived is enough.
  } finally {
    stopTimer();
    body.destroy();
  }
  return gathered.take().subarray(0, maxBytes).toString("utf8");
}
