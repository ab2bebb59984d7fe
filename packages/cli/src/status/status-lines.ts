import type { Colours } from "../terminal/colours.js";
import { plural } from "../terminal/plural.js";
import { textTable } from "../terminal/text-table.js";
import { lateLines } from "./late-lines.js";
import type { ReportedStatus, TopicStatus } from "./proxy-status.js";
import { remoteLines } from "./remote-lines.js";
import { span } from "./span.js";
import { asksForTopic, limited, type StatusQuery } from "./status-query.js";

const head = [
  "TOPIC",
  "STATE",
  "VERSION",
  "FLAGS",
  "BYTES",
  "AGE",
  "SUBSCRIBERS",
  "BEHIND",
  "50/99/100 % AFTER",
];
const isRight = [false, false, false, true, true, true, true, true, true];
const everything: StatusQuery = { only: "all", search: "", limit: 0 };

/** The status of a proxy as people read it: those who wait for a version first. */
export function statusLines(
  name: string,
  status: ReportedStatus,
  colours: Colours,
  query: StatusQuery = everything,
  nowMs = Date.now(),
): readonly string[] {
  const { version = "?", isReady, reason = "", uptimeSeconds = 0, watches, topics } = status;
  const { connections = 0, subscribers = 0, behind = 0 } = status;
  const ready = isReady ? colours.green("ready") : colours.red("not ready");
  const counted = Object.entries(watches).map(([kind, count]) => `${count} ${kind}`);
  const late = behind === 0 ? "none behind" : colours.yellow(`${behind} behind`);
  const { total: left = 0 } = status.leftBehind;
  const { refusedDocuments } = status;
  const refused =
    refusedDocuments.length === 0
      ? ""
      : `, ${colours.red(`${plural(refusedDocuments.length, "manifest")} refused`)}`;
  const gone = left === 0 ? "" : `, ${colours.yellow(`${left} left behind`)}`;
  const lines = [
    `${colours.bold(name)}: bunting-proxy ${version}, ${ready}${withoutReady(reason)}, up ${span(uptimeSeconds)}`,
    `${plural(connections, "connection")}, ${plural(subscribers, "subscriber")}, ${late}${gone}${refused}; watches: ${counted.join(", ")}`,
  ];
  lines.push(...refusedDocuments.map((reason) => colours.red(`refused: ${reason}`)));
  lines.push(...lateLines(status, query, colours));
  if (topics.length === 0) return [...lines, "No topics: there are no subscribers yet."];
  const asked = topics.filter((topic) => asksForTopic(topic, query));
  const { shown: sorted, more } = limited(
    asked.sort((a, b) => (b.newest?.behind ?? 0) - (a.newest?.behind ?? 0)),
    query,
  );
  if (sorted.length === 0) return lines;
  const [first = "", ...rows] = textTable([head, ...sorted.map(cells)], isRight);
  lines.push("", colours.dim(first));
  rows.forEach((row, index) =>
    lines.push(((sorted[index]?.newest?.behind ?? 0) > 0 ? colours.yellow : plain)(row)),
  );
  if (more > 0) lines.push(`and ${plural(more, "more topic")}`);
  return [
    ...lines,
    ...staleLines(sorted),
    ...sorted.flatMap(refusals),
    ...sorted.flatMap(trialLines).map(colours.yellow),
    ...remoteLines(sorted, colours, nowMs),
  ];
}

function plain(text: string): string {
  return text;
}

function cells({ topic = "?", state = "?", subscribers = 0, newest }: TopicStatus): readonly string[] {
  if (newest === undefined) return [topic, state, "", "", "", "", String(subscribers), "", ""];
  const {
    sequence = 0,
    digest = "",
    bytes = 0,
    flags = 0,
    resourceVersion,
    ageSeconds = 0,
    behind = 0,
    afterMs,
  } = newest;
  const after = ["50", "99", "100"].map((share) => afterMs[share] ?? "-").join("/");
  return [
    topic,
    state,
    resourceVersion ?? `${sequence} (${digest.slice(0, 8)})`,
    String(flags),
    String(bytes),
    span(ageSeconds),
    String(subscribers),
    String(behind),
    `${after} ms`,
  ];
}

/** A reason is a sentence, too long for a column, and mostly one that many topics share. */
function staleLines(topics: readonly TopicStatus[]): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const { topic = "?", staleReason } of topics) {
    if (staleReason === undefined) continue;
    const named = byReason.get(staleReason);
    if (named === undefined) byReason.set(staleReason, [topic]);
    else named.push(topic);
  }
  return [...byReason].map(([reason, [first = "?", ...more]]) =>
    more.length === 0
      ? `${first} is stale: ${reason}`
      : `${first} and ${plural(more.length, "more topic")} are stale: ${reason}`,
  );
}

function refusals({ topic = "?", rejections }: TopicStatus): readonly string[] {
  return rejections.map(({ digest = "", flag, reason = "", subscribers = 0 }) => {
    const what = flag === undefined ? "the whole version" : `the flag ${flag}`;
    return `${topic} ${digest.slice(0, 8)}: ${plural(subscribers, "agent refuses", "agents refuse")} ${what}: ${reason}`;
  });
}

/** A version of a rollout, and how it fares with the agents of this proxy. */
function trialLines({ topic = "?", trial }: TopicStatus): readonly string[] {
  if (trial === undefined) return [];
  const { digest = "", agents = 0, wave = 0, current = 0, refusals: refused = 0, reason } = trial;
  const why = reason === undefined ? "" : ` (${reason})`;
  const said = refused === 0 ? "" : `, ${plural(refused, "refusal")}${why}`;
  return [
    `${topic} ${digest.slice(0, 8)} goes to ${wave} of ${agents} agents here, and ${current} have it${said}`,
  ];
}

/** What a reason says beside that the proxy is ready, which the line says already. */
function withoutReady(reason: string): string {
  if (reason === "") return "";
  return /^ready(?:,.*)?$/.test(reason) ? reason.slice("ready".length) : ` (${reason})`;
}
