import { cut } from "@bunting/runtime/options";
import { printableLine } from "../terminal/escaped-controls.js";

const maxTextCharacters = 500;

/** Proxies of 0.1.0 do not tell who is behind. */
const lateOf = fields({
  total: numberOf,
  shown: list(
    fields({
      topic: textOf,
      address: textOf,
      identity: textOf,
      program: textOf,
      digest: textOf,
      versions: numberOf,
      behindSeconds: numberOf,
      leftSecondsAgo: numberOf,
    }),
  ),
});

const remoteOf = fields({
  state: textOf,
  reason: textOf,
  message: textOf,
  sinceMs: numberOf,
  flags: optional(fields({ local: numberOf, remote: numberOf })),
  remoteFlags: textsOf,
});

/**
 * A status as a server sent it, whatever that is: a proxy of another version may have more fields, or less, and agents choose the texts that
 * name them and their reasons. What has another type is left out, and so is what a terminal would obey.
 */
export const asProxyStatus = fields({
  version: textOf,
  uptimeSeconds: numberOf,
  isReady: (value) => value === true,
  reason: textOf,
  watches: countsOf,
  connections: numberOf,
  subscribers: numberOf,
  behind: numberOf,
  late: lateOf,
  leftBehind: lateOf,
  refusedDocuments: textsOf,
  topics: list(
    fields({
      topic: textOf,
      state: textOf,
      staleReason: textOf,
      remote: optional(remoteOf),
      subscribers: numberOf,
      newest: optional(
        fields({
          sequence: numberOf,
          digest: textOf,
          bytes: numberOf,
          flags: numberOf,
          resourceVersion: textOf,
          ageSeconds: numberOf,
          behind: numberOf,
          afterMs: countsOf,
        }),
      ),
      rejections: list(fields({ digest: textOf, flag: textOf, reason: textOf, subscribers: numberOf })),
      trial: optional(
        fields({
          digest: textOf,
          agents: numberOf,
          wave: numberOf,
          current: numberOf,
          refusals: numberOf,
          reason: textOf,
        }),
      ),
    }),
  ),
});

/** That of an agent, likewise. */
export const asAgentStatus = fields({
  sources: list(
    fields({
      source: numberOf,
      uri: textOf,
      selector: optional(textOf),
      state: textOf,
      protocol: optional(textOf),
      remote: optional(remoteOf),
    }),
  ),
});

/** Fields of the JSON of /status that are shown. */
export type ReportedStatus = ReturnType<typeof asProxyStatus>;
export type TopicStatus = ReportedStatus["topics"][number];
export type RemoteStatus = NonNullable<TopicStatus["remote"]>;
export type LateStatus = ReportedStatus["late"]["shown"][number];

type Read<Value> = (value: unknown) => Value;

function fields<Readers extends Readonly<Record<string, Read<unknown>>>>(
  readers: Readers,
): Read<{ readonly [Name in keyof Readers]: ReturnType<Readers[Name]> }> {
  return (value) => {
    const given = membersOf(value);
    const read = Object.entries(readers).map(([name, readOne]) => [name, readOne(given[name])]);
    return Object.fromEntries(read) as { readonly [Name in keyof Readers]: ReturnType<Readers[Name]> };
  };
}

function list<Item>(read: Read<Item>): Read<readonly Item[]> {
  return (value) => (Array.isArray(value) ? value.map(read) : []);
}

function optional<Value>(read: Read<Value>): Read<Value | undefined> {
  return (value) => (value === undefined ? undefined : read(value));
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function countsOf(value: unknown): Readonly<Record<string, number>> {
  const counts = Object.entries(membersOf(value)).flatMap(([name, given]) =>
    typeof given === "number" ? [[shown(name), given] as const] : [],
  );
  return Object.fromEntries(counts);
}

function textsOf(value: unknown): readonly string[] {
  return Object.values(membersOf(value)).flatMap((text) => textOf(text) ?? []);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? shown(value) : undefined;
}

function shown(text: string): string {
  return printableLine(cut(text, maxTextCharacters));
}
