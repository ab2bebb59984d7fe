import type {
  HeldVersion,
  ShownReaders,
  TopicRow,
  TopicStateName,
} from "../src/management/status/status-view.js";
import type { RemoteView } from "@bunting/remote";
import { element, type Child } from "./dom.js";
import { bytes, count, counted, span, versionText } from "./format.js";
import { since } from "./since.js";
import { Table } from "./table.js";

/** A state is a word and a shape; colour only repeats it. */
const states: Readonly<Record<TopicStateName, { readonly shape: string; readonly level: string }>> = {
  live: { shape: "●", level: "good" },
  starting: { shape: "◌", level: "" },
  missing: { shape: "○", level: "warn" },
  deleted: { shape: "✕", level: "" },
  stale: { shape: "▲", level: "bad" },
};

function stateWord(state: TopicStateName): Child {
  const { shape, level } = states[state];
  return element(
    "span",
    { class: `word ${level}` },
    element("span", { class: "shape", "aria-hidden": "true" }, shape),
    state,
  );
}

export function topicTable(): Table<TopicRow> {
  return new Table<TopicRow>(
    ({ topic }) => topic,
    [
      {
        name: "Topic",
        cell: ({ topic, reason, refusals, moreRefusals, readers, remote }) => [
          element("span", { class: "mono" }, topic),
          ...(readers === undefined ? [] : readBy(readers)),
          ...(remote === undefined ? [] : remoteLine(remote)),
          ...problems(reason, refusals, moreRefusals),
        ],
      },
      { name: "State", cell: ({ state }) => [stateWord(state)] },
      {
        name: "Newest version",
        cell: ({ newest }) =>
          newest === undefined
            ? []
            : [
                element("span", { class: "mono" }, versionText(newest)),
                element("span", { class: "detail" }, since(newest.publishedMs, "age")),
              ],
      },
      { name: "Subscribers", class: "number", cell: ({ subscribers }) => [count(subscribers)] },
      {
        name: "Behind",
        class: "number",
        cell: ({ late }) => [late === 0 ? "0" : element("span", { class: "word warn" }, `▲ ${count(late)}`)],
      },
      { name: "Agents hold", cell: ({ held, heldOtherwise }) => spread(held, heldOtherwise) },
      {
        name: "Half / 99 % / all after",
        class: "number",
        cell: ({ newest }) => (newest === undefined ? [] : [times(newest.afterMs)]),
      },
      {
        name: "Flags",
        class: "number",
        cell: ({ newest }) =>
          newest === undefined
            ? []
            : [count(newest.flags), element("span", { class: "detail" }, bytes(newest.bytes))],
      },
    ],
  );
}

/** "read by team-a/checkout (12), ops/cron (1), 3 more ServiceAccounts, callers without identity (2)" */
function readBy({ shown, more, anonymous }: ShownReaders): Child[] {
  const names = [
    ...shown.map(({ name, subscriptions }) => `${name} (${count(subscriptions)})`),
    ...(more > 0 ? [counted(more, "more ServiceAccount")] : []),
    ...(anonymous > 0 ? [`callers without identity (${count(anonymous)})`] : []),
  ];
  return names.length === 0 ? [] : [element("span", { class: "detail" }, `read by ${names.join(", ")}`)];
}

/** "12 of 40 flags are of the remote", "the remote is stale: the remote answers 503" */
function remoteLine({ state, message, flags }: RemoteView): Child[] {
  const isGood = state === undefined || state === "synced" || state === "starting";
  const merged =
    flags === undefined
      ? "no flag is of the remote"
      : `${count(flags.remote)} of ${counted(flags.local + flags.remote, "flag")} are of the remote`;
  const why = message === undefined ? "" : `: ${message}`;
  const known =
    state === undefined || (state === "synced" && message === undefined) ? "" : `, which is ${state}${why}`;
  return [element("span", { class: isGood ? "detail" : "detail warn" }, `${merged}${known}`)];
}

function problems(reason: string | undefined, refusals: TopicRow["refusals"], more: number): Child[] {
  return [
    ...(reason === undefined ? [] : [element("span", { class: "detail bad" }, reason)]),
    ...refusals.map((refusal) => {
      const what = refusal.flag === undefined ? "this version" : `the flag ${refusal.flag}`;
      return element(
        "span",
        { class: "detail warn" },
        `${counted(refusal.agents, "agent")} ${refusal.agents === 1 ? "refuses" : "refuse"} ${what}: ${refusal.reason}`,
      );
    }),
    ...(more > 0 ? [element("span", { class: "detail warn" }, `and ${counted(more, "more refusal")}`)] : []),
  ];
}

/** Which versions agents say they hold. */
function spread(held: readonly HeldVersion[], otherwise: number): Child[] {
  if (held.length === 0) return [];
  if (held.length === 1 && held[0]?.isNewest === true)
    return [element("span", { class: "nowrap" }, `the newest: ${count(held[0].agents)}`)];
  return [
    ...held.map((version) =>
      element(
        "span",
        { class: version.isNewest ? "detail" : "detail warn" },
        element("span", { class: "mono" }, version.isNewest ? "the newest" : versionText(version)),
        `: ${count(version.agents)}`,
      ),
    ),
    ...(otherwise > 0
      ? [element("span", { class: "detail warn" }, `other versions: ${count(otherwise)}`)]
      : []),
  ];
}

/** "12 / 84 / 91 ms" */
function times(afterMs: readonly number[]): string {
  if (afterMs.length === 0) return "–";
  const texts = [0, 1, 2].map((index) => (afterMs[index] === undefined ? "–" : span(afterMs[index])));
  if (new Set(texts).size === 1) return texts[0] ?? "–";
  const isInMs = texts.every((text) => text.endsWith(" ms"));
  return isInMs ? `${texts.map((text) => text.slice(0, -3)).join(" / ")} ms` : texts.join(" / ");
}
