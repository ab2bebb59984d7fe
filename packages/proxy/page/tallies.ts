import type {
  LimitsSection,
  SharedSection,
  Tally,
  WatchesSection,
} from "../src/management/status/status-view.js";
import { byId, element, show, type Child } from "./dom.js";
import { count, span } from "./format.js";
import { since } from "./since.js";
import { limitText } from "./limit-text.js";

const maxLines = 8;

export function showWatches(watches: WatchesSection): void {
  show(byId("watches"), watches, () => {
    const { isCluster, object, namespace, cluster, unwatched, waiting, events, relists, errors } = watches;
    const shared = watches.shared === undefined ? [] : sharing(watches.shared);
    const problems =
      errors.length === 0
        ? []
        : [tallies("Errors of the source", errors, ({ what }) => `error: ${words(what)}`)];
    if (!isCluster)
      return [
        element(
          "p",
          { class: "empty" },
          "The flags come from a directory or another proxy, so there are no watches on a cluster.",
        ),
        ...problems,
      ];
    const open = tallyList("Open watches", [
      ["single FeatureFlags", count(object)],
      ["namespaces", count(namespace)],
      ["the cluster", count(cluster)],
      ...(unwatched > 0 ? ([["read in turn, without a watch", count(unwatched)]] as const) : []),
      ...(waiting > 0 ? ([["names waiting to be read", count(waiting)]] as const) : []),
    ]);
    const last = events[0];
    return [
      open,
      ...shared,
      element(
        "p",
        { class: "more" },
        ...(last === undefined
          ? ["No event yet"]
          : ["Last event: ", words(last.what), ", ", since(last.lastMs, "age")]),
      ),
      ...(relists.length === 0
        ? []
        : [tallies("Reads of everything", relists, ({ what }) => `relist: ${words(what)}`)]),
      ...problems,
    ];
  });
}

/** How this replica and the others divide the work. */
function sharing(shared: SharedSection): Child[] {
  const { state, sinceMs, reason, lease, replicas, followed, direct, forOthers, lagMs } = shared;
  const isRelied = state === "connected";
  const line = element(
    "p",
    { class: isRelied ? "more" : "more detail warn" },
    sharedText[state],
    ", for ",
    since(sinceMs, "duration"),
    ...(reason === undefined ? [] : [`: ${reason}`]),
  );
  const list = tallyList("Shared by way of Redis", [
    [isRelied ? "live replicas" : "replicas seen last", replicas === undefined ? "–" : count(replicas)],
    ...(isRelied
      ? ([["topics that another one watches", count(followed)]] as const)
      : ([["topics watched for itself", count(direct)]] as const)),
    ...(isRelied && direct > 0 ? ([["of them watched here, too", count(direct)]] as const) : []),
    ...(forOthers > 0 ? ([["topics watched for others only", count(forOthers)]] as const) : []),
    ...(lagMs === undefined ? [] : ([["last edit, behind its owner", span(lagMs)]] as const)),
  ]);
  const role =
    lease === undefined
      ? [isRelied ? "Follows the owner, which watches for all" : "Alone, without an owner"]
      : [`Owner, which watches for all: lease ${lease.fence}, renewed `, since(lease.renewedMs, "age")];
  return [line, list, element("p", { class: "more" }, ...role)];
}

const sharedText: Readonly<Record<SharedSection["state"], string>> = {
  connected: "Shared with other replicas by way of Redis",
  degraded: "Redis is away: this replica watches for itself",
  recovering: "Redis is back: this replica watches for itself until it has worked for a while",
};

export function showLimits({ hit }: LimitsSection): void {
  show(byId("limits"), hit, () =>
    hit.length === 0
      ? [
          element(
            "p",
            { class: "empty" },
            "None since the start. What is refused, ended or delayed by a limit is counted here.",
          ),
        ]
      : [tallies("Limits that were hit", hit, ({ what }) => limitText(what))],
  );
}

function tallies(label: string, all: readonly Tally[], textOf: (tally: Tally) => string): Child {
  const shown = all.slice(0, maxLines);
  const list = element(
    "dl",
    { class: "tallies", "aria-label": label },
    ...shown.map((tally) =>
      element(
        "div",
        {},
        element("dt", {}, textOf(tally)),
        element("dd", {}, count(tally.count)),
        element("dd", { class: "when" }, since(tally.lastMs, "age")),
      ),
    ),
  );
  const hidden = all.length - shown.length;
  return hidden === 0
    ? list
    : element("div", {}, list, element("p", { class: "more" }, `and ${count(hidden)} more`));
}

function tallyList(label: string, entries: readonly (readonly [string, string])[]): Child {
  const lines = entries.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value), element("dd")),
  );
  return element("dl", { class: "tallies", "aria-label": label }, ...lines);
}

function words(what: string): string {
  return what.replaceAll("_", " ").replaceAll("/", ", ").toLowerCase();
}
