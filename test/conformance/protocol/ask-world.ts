import type { Answer } from "./answer.js";
import type { Exchange } from "./exchange.js";
import type { GoldenCase, World } from "./golden-case.js";
import { GoldenServer, until } from "./golden-server.js";
import { messageCount, readAnswer } from "./read-answer.js";
import type { TransportName } from "./transport.js";

/** How long a stream may take to get a message that flagd's had. */
const streamMs = 4_000;
/** How long an answer may take. */
const endMs = 9_000;
const atOnce = 8;

interface OpenStream {
  readonly one: GoldenCase;
  readonly exchange: Exchange;
  readonly marks: number[];
}

/** Asks an agent all cases of a world, in the order in which flagd was asked. */
export async function askWorld(
  world: World,
  transport: TransportName,
): Promise<ReadonlyMap<GoldenCase, Answer>> {
  const answers = new Map<GoldenCase, Answer>();
  const server = await GoldenServer.start(world, transport);
  try {
    const ask = async (one: GoldenCase): Promise<void> => {
      for (const before of one.before ?? []) await makeBefore(server, before);
      answers.set(one, readAnswer(await server.ask(one.request), one.request));
    };
    const askAfter = async (edits: number): Promise<void> => {
      const due = world.cases.filter(
        ({ request, edits: made = [] }) => request.stream === undefined && made.length === edits,
      );
      await eachOf(due, world.cases.some(({ before }) => before !== undefined) ? 1 : atOnce, ask);
    };
    await askAfter(0);
    const streams = world.cases
      .filter(({ request }) => request.stream !== undefined)
      .map((one): OpenStream => ({ one, exchange: server.send(one.request), marks: [] }));
    await toTell(streams);
    for (const [at, edit] of world.edits.entries()) {
      await server.edit(edit);
      await toTell(streams);
      await askAfter(at + 1);
    }
    if (world.signal !== undefined) {
      server.kill(world.signal);
      await until(() => streams.every(({ exchange }) => exchange.end !== undefined), endMs);
      for (const { exchange, marks } of streams) marks.push(exchange.bodyBytes);
    }
    for (const { one, exchange, marks } of streams) {
      if (exchange.end === undefined) exchange.drop();
      answers.set(one, readAnswer(exchange, one.request, marks));
    }
  } finally {
    await server.stop();
  }
  return answers;
}

async function makeBefore(server: GoldenServer, request: GoldenCase["request"]): Promise<void> {
  if (request.stream === undefined) {
    await server.ask(request);
    return;
  }
  const exchange = server.send(request);
  await until(() => exchange.end !== undefined || messageCount(exchange) > 0, streamMs);
  exchange.drop();
  await server.hasCounted(request.path ?? "");
}

/** Waits until each stream has said as much as flagd's had by then, and notes how much that is. */
async function toTell(streams: readonly OpenStream[]): Promise<void> {
  await until(
    () => streams.every(hasTold),
    Math.max(streamMs, ...streams.map(({ one }) => 1.5 * (one.request.stream?.ms ?? 0))),
  );
  for (const { exchange, marks } of streams) marks.push(exchange.bodyBytes);
}

function hasTold({ one, exchange, marks }: OpenStream): boolean {
  if (exchange.end !== undefined) return true;
  if (one.request.stream?.until === "end" || exchange.status === undefined) return false;
  const expected = (one.answer.stages ?? [])
    .slice(0, marks.length + 1)
    .reduce((sum, { length }) => sum + length, 0);
  return messageCount(exchange) >= expected;
}

async function eachOf<T>(
  items: readonly T[],
  inParallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: inParallel }, worker));
}
