import type { Colours } from "../terminal/colours.js";
import { textTable } from "../terminal/text-table.js";
import type { LateStatus, ReportedStatus } from "./proxy-status.js";
import { span } from "./span.js";
import { asksForLate, limited, type StatusQuery } from "./status-query.js";

const head = ["BEHIND", "ADDRESS", "PROGRAM", "TOPIC", "HOLDS", "MISSING", "FOR", "NOW"];
const isRight = [false, false, false, false, false, true, true, false];

/** The table of subscribers that are behind, or have gone without the newest version; empty if there are none. */
export function lateLines(
  { late, leftBehind }: ReportedStatus,
  query: StatusQuery,
  colours: Colours,
): readonly string[] {
  const { shown, more } = limited(
    [...late.shown, ...leftBehind.shown].filter((one) => asksForLate(one, query)),
    query,
  );
  if (shown.length === 0) return [];
  // With those that the proxy itself does not list, among which some may be asked for.
  const unlisted = [late, leftBehind].reduce(
    (sum, { total = 0, shown: named }) => sum + total - named.length,
    more,
  );
  const [first = "", ...rows] = textTable([head, ...shown.map(cells)], isRight);
  return [
    "",
    colours.dim(first),
    ...rows.map(colours.yellow),
    ...(unlisted > 0 ? [`and ${unlisted} more`] : []),
  ];
}

function cells({
  identity,
  address,
  program = "",
  topic = "?",
  digest,
  versions = 0,
  behindSeconds = 0,
  leftSecondsAgo,
}: LateStatus): readonly string[] {
  return [
    identity ?? "?",
    address ?? "not shown from here",
    program === "" ? "stock client" : program,
    topic,
    digest === undefined ? "?" : digest.slice(0, 8),
    String(versions),
    span(behindSeconds),
    leftSecondsAgo === undefined ? "connected" : `gone for ${span(leftSecondsAgo)}`,
  ];
}
