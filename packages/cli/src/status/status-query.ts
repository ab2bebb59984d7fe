import { asProxyStatus, type LateStatus, type TopicStatus } from "./proxy-status.js";

export const onlyChoices = [
  "all",
  "late",
  "left",
  "stale",
  "refused",
  "missing",
  "starting",
  "deleted",
  "live",
] as const;

/** The part of a status that is to be shown. */
export interface StatusQuery {
  readonly only: (typeof onlyChoices)[number];
  /** A part of the name of a topic, or of what a subscriber is called. */
  readonly search: string;
  /** Rows of each table; 0: all. */
  readonly limit: number;
}

export function asksForTopic(
  { topic = "", state, newest, rejections }: TopicStatus,
  query: StatusQuery,
): boolean {
  if (!contains(query, topic)) return false;
  switch (query.only) {
    case "all":
      return true;
    case "late":
      return (newest?.behind ?? 0) > 0;
    case "left":
      return false;
    case "refused":
      return rejections.length > 0;
    default:
      return state === query.only;
  }
}

export function asksForLate(
  { topic = "", address = "", identity = "", program = "", leftSecondsAgo }: LateStatus,
  query: StatusQuery,
): boolean {
  const wanted = leftSecondsAgo === undefined ? "late" : "left";
  return ["all", wanted].includes(query.only) && contains(query, topic, address, identity, program);
}

/** The first rows, and how many there are beyond. */
export function limited<Row>(
  rows: readonly Row[],
  { limit }: StatusQuery,
): { shown: readonly Row[]; more: number } {
  const shown = limit === 0 ? rows : rows.slice(0, limit);
  return { shown, more: rows.length - shown.length };
}

/** A status as it came, with those of its topics that are asked for. */
export function askedFor(status: object, query: StatusQuery): object {
  if (!("topics" in status) || !Array.isArray(status.topics)) return status;
  const { topics } = asProxyStatus(status);
  const asked = status.topics.filter((_, index) => {
    const topic = topics[index];
    return topic !== undefined && asksForTopic(topic, query);
  });
  return { ...status, topics: limited(asked, query).shown };
}

function contains({ search }: StatusQuery, ...texts: readonly string[]): boolean {
  return texts.some((text) => text.toLowerCase().includes(search.toLowerCase()));
}
