import { readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { Answer } from "./answer.js";

export const portNames = ["evaluation", "management", "sync", "ofrep"] as const;
export type PortName = (typeof portNames)[number];

export interface GoldenRequest {
  readonly port: PortName;
  /** "2" is HTTP/2 by prior knowledge; with "raw", the body is all that is sent. */
  readonly http: "1.1" | "2" | "h2c-upgrade" | "raw";
  readonly method?: string;
  readonly path?: string;
  readonly authority?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly chunked?: boolean;
  /** The answer does not end by itself. */
  readonly stream?: { readonly until?: "end"; readonly ms?: number; readonly halfOpen?: boolean };
  /** The body is read as metrics. */
  readonly scrape?: boolean;
  /** The body is not read. */
  readonly onlyHead?: boolean;
}

export interface SourceFile {
  readonly uri: string;
  readonly text?: string;
  readonly base64?: string;
  readonly gone?: boolean;
}

export interface Edit {
  readonly set: readonly SourceFile[];
  /** What a request for a flag answers once the edit is served, or for how long to wait where nothing can be seen. */
  readonly settle:
    { readonly flag: string; readonly source: string; readonly variant?: string } | { readonly ms: number };
}

/** A request to the real flagd, and its answer. */
export interface GoldenCase {
  readonly id: string;
  readonly class: string;
  readonly about: string;
  readonly world: number;
  readonly server: { readonly sources: readonly SourceFile[]; readonly args: readonly string[] };
  /** What is wrong with a document on purpose. */
  readonly breaks?: string;
  readonly edits?: readonly Edit[];
  readonly before?: readonly GoldenRequest[];
  readonly signal?: NodeJS.Signals;
  readonly request: GoldenRequest;
  readonly answer: Answer;
}

/** Cases that one process can serve. */
export interface World {
  readonly id: number;
  readonly server: GoldenCase["server"];
  readonly edits: readonly Edit[];
  readonly signal: NodeJS.Signals | undefined;
  readonly cases: readonly GoldenCase[];
}

const file = path.join(import.meta.dirname, "../../fixtures/protocol/golden.jsonl.gz");

export function readGoldenCases(): readonly GoldenCase[] {
  const lines = gunzipSync(readFileSync(file)).toString("utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as GoldenCase);
}

export function worldsOf(cases: readonly GoldenCase[]): readonly World[] {
  const worlds = new Map<number, GoldenCase[]>();
  for (const one of cases) worlds.set(one.world, [...(worlds.get(one.world) ?? []), one]);
  return [...worlds].flatMap(([id, inWorld]) => {
    const [first] = inWorld;
    if (first === undefined) return [];
    // The edits of the cases of one world are prefixes of each other.
    const edits = inWorld.map((one) => one.edits ?? []).reduce((a, b) => (b.length > a.length ? b : a));
    const signal = inWorld.find((one) => one.signal !== undefined)?.signal;
    return [{ id, server: first.server, edits, signal, cases: inWorld }];
  });
}

export function bodyOf({ body, bodyBase64 }: GoldenRequest): Buffer {
  return bodyBase64 === undefined ? Buffer.from(body ?? "") : Buffer.from(bodyBase64, "base64");
}
