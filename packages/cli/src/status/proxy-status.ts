import { cut } from "@bunting/runtime/options";
import { printableLine } from "../terminal/escaped-controls.js";

/** What is shown of the JSON of /status. */
export interface ReportedStatus {
  readonly version: string | undefined;
  readonly uptimeSeconds: number | undefined;
  readonly isReady: boolean;
  readonly reason: string | undefined;
  readonly watches: Readonly<Record<string, number>>;
  readonly connections: number | undefined;
  readonly subscribers: number | undefined;
  readonly behind: number | undefined;
  readonly topics: readonly TopicStatus[];
}

export interface TopicStatus {
  readonly topic: string | undefined;
  readonly state: string | undefined;
  readonly staleReason: string | undefined;
  readonly subscribers: number | undefined;
  readonly newest: VersionStatus | undefined;
  readonly rejections: readonly ReportedRejection[];
}

export interface VersionStatus {
  readonly sequence: number | undefined;
  readonly digest: string | undefined;
  readonly bytes: number | undefined;
  readonly flags: number | undefined;
  readonly resourceVersion: string | undefined;
  readonly ageSeconds: number | undefined;
  readonly behind: number | undefined;
  readonly afterMs: Readonly<Record<string, number>>;
}

export interface ReportedRejection {
  readonly digest: string | undefined;
  readonly flag: string | undefined;
  readonly reason: string | undefined;
  readonly subscribers: number | undefined;
}

const maxTextCharacters = 500;

/**
 * A status as a server sent it, whatever that is: a proxy of another version may have more fields, or less, and agents choose the texts that
 * name them and their reasons. What has another type is left out, and so is what a terminal would obey.
 */
export function asProxyStatus(value: unknown): ReportedStatus {
  const fields = fieldsOf(value);
  return {
    version: textOf(fields["version"]),
    uptimeSeconds: numberOf(fields["uptimeSeconds"]),
    isReady: fields["isReady"] === true,
    reason: textOf(fields["reason"]),
    watches: countsOf(fields["watches"]),
    connections: numberOf(fields["connections"]),
    subscribers: numberOf(fields["subscribers"]),
    behind: numberOf(fields["behind"]),
    topics: listOf(fields["topics"]).map(asTopicStatus),
  };
}

function asTopicStatus(value: unknown): TopicStatus {
  const fields = fieldsOf(value);
  return {
    topic: textOf(fields["topic"]),
    state: textOf(fields["state"]),
    staleReason: textOf(fields["staleReason"]),
    subscribers: numberOf(fields["subscribers"]),
    newest: fields["newest"] === undefined ? undefined : asVersion(fields["newest"]),
    rejections: listOf(fields["rejections"]).map(asRejection),
  };
}

function asVersion(value: unknown): VersionStatus {
  const fields = fieldsOf(value);
  return {
    sequence: numberOf(fields["sequence"]),
    digest: textOf(fields["digest"]),
    bytes: numberOf(fields["bytes"]),
    flags: numberOf(fields["flags"]),
    resourceVersion: textOf(fields["resourceVersion"]),
    ageSeconds: numberOf(fields["ageSeconds"]),
    behind: numberOf(fields["behind"]),
    afterMs: countsOf(fields["afterMs"]),
  };
}

function asRejection(value: unknown): ReportedRejection {
  const fields = fieldsOf(value);
  return {
    digest: textOf(fields["digest"]),
    flag: textOf(fields["flag"]),
    reason: textOf(fields["reason"]),
    subscribers: numberOf(fields["subscribers"]),
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function countsOf(value: unknown): Readonly<Record<string, number>> {
  const counts = Object.entries(fieldsOf(value)).flatMap(([name, given]) => {
    const count = numberOf(given);
    return count === undefined ? [] : [[shown(name), count] as const];
  });
  return Object.fromEntries(counts);
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
