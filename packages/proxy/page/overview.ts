import type { Overview } from "../src/management/status/status-view.js";
import { byId, element, setText, show, type Child } from "./dom.js";
import { bytes, count, counted, duration } from "./format.js";
import { now } from "./since.js";

/** The header, the sentence that answers the first question, and the figures below it. */
export function showOverview(overview: Overview): void {
  document.title =
    overview.late > 0 ? `${count(overview.late)} behind · ${overview.replica}` : overview.replica;
  setText(byId("replica"), overview.replica);
  setText(byId("replica-again"), overview.replica);
  setText(byId("version"), overview.version);
  const facts: [string, string][] = [
    ["up", duration(now() - overview.startedMs)],
    ["memory", bytes(overview.residentBytes)],
    ["Node", overview.node.replace(/^v/, "")],
  ];
  show(byId("facts"), facts, () =>
    facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
  showVerdict(overview);
  showFigures(overview);
}

interface Verdict {
  readonly level: "" | "warn" | "bad";
  readonly text: string;
  readonly detail: readonly Child[];
  /** What a screen reader says when it changes: without the time that counts up. */
  readonly spoken: string;
}

function showVerdict(overview: Overview): void {
  const { level, text, detail, spoken } = verdictOf(overview);
  const heading = byId("verdict");
  setText(heading, text);
  heading.className = `verdict ${level}`;
  show(
    byId("verdict-detail"),
    detail.map((child) => (child instanceof Node ? child.textContent : child)),
    () => detail,
  );
  setText(byId("announcement"), spoken);
}

function verdictOf(overview: Overview): Verdict {
  const {
    isReady,
    reason,
    late,
    lateSinceMs,
    left,
    subscribers,
    topics,
    held,
    invalid,
    invalidReason,
    refused,
  } = overview;
  if (!isReady) {
    const text = `Not ready: ${reason}`;
    return {
      level: "bad",
      text,
      spoken: text,
      detail: ["/readyz answers 412; subscribers that are connected are still served."],
    };
  }
  if (late > 0) {
    const who = `${count(late)} of ${counted(subscribers, "subscriber")}`;
    const text = `${who} ${late === 1 ? "is" : "are"} behind`;
    const longest =
      lateSinceMs === undefined
        ? ""
        : `, ${late === 1 ? "" : "the first "}for ${duration(now() - lateSinceMs)}`;
    const option = (name: string): Child => element("code", { class: "nowrap" }, name);
    const detail = [
      "The others have the newest flags. A peer that stays silent is disconnected after ",
      option("--keepalive-interval"),
      " and ",
      option("--keepalive-timeout"),
      ".",
    ];
    return { level: "warn", text: `${text}${longest}`, spoken: text, detail };
  }
  if (left > 0) {
    const text = `${counted(left, "subscriber")} ${left === 1 ? "was" : "were"} left behind`;
    const detail = [
      "Disconnected without the newest flags within the last ten minutes, and not back: see below.",
    ];
    return { level: "warn", text, spoken: text, detail };
  }
  if (invalid > 0) {
    const text = `${counted(invalid, "manifest")} ${invalid === 1 ? "is" : "are"} refused`;
    return {
      level: "warn",
      text,
      spoken: text,
      detail: [`${invalidReason ?? ""}. The version before, if any, is served.`],
    };
  }
  if (topics.stale > 0) {
    const text = `${counted(topics.stale, "topic")} can't be read now`;
    return {
      level: "warn",
      text,
      spoken: text,
      detail: ["Subscribers keep the flags they have, and new ones get the last that were read."],
    };
  }
  if (subscribers === 0)
    return { level: "", text: "No subscribers yet", spoken: "No subscribers yet", detail: howToSubscribe() };
  if (held === subscribers) {
    const text = "All subscribers wait for a FeatureFlag that does not exist";
    return {
      level: "warn",
      text,
      spoken: text,
      detail: ["Create it, or correct the selectors: the topics below name what is asked for."],
    };
  }
  const served = subscribers - held;
  const text =
    held > 0
      ? `${count(served)} of ${counted(subscribers, "subscriber")} have the newest flags`
      : subscribers === 1
        ? "The only subscriber has the newest flags"
        : `All ${count(subscribers)} subscribers have the newest flags`;
  const notes = [
    ...(held > 0
      ? [
          `${count(held)} ${held === 1 ? "waits" : "wait"} for a FeatureFlag that does not exist or is not read yet.`,
        ]
      : []),
    ...(refused > 0 ? [`Agents refuse parts of ${counted(refused, "topic")}: see below.`] : []),
  ];
  return {
    level: "",
    text,
    spoken: text,
    detail: [notes.length > 0 ? notes.join(" ") : "Nothing is late, missing, stale or refused."],
  };
}

function howToSubscribe(): Child[] {
  const source = `[{"uri":"HOST:8015","provider":"grpc","selector":"NAMESPACE/NAME"}]`;
  return [
    "Point an agent at this proxy, and it appears here: ",
    element("code", {}, `bunting-agent start --sources '${source}'`),
    ". In a cluster with the OpenFeature operator, a FeatureFlagSource with the provider ",
    element("code", {}, "flagd-proxy"),
    " and the Pod annotations ",
    element("code", {}, `openfeature.dev/enabled: "true"`),
    " and ",
    element("code", {}, "openfeature.dev/featureflagsource: NAME"),
    " do the same.",
  ];
}

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly level?: "warn" | "bad";
}

function showFigures(overview: Overview): void {
  const { subscribers, agents, late, connections, topics, held, queued, refused, programs, morePrograms } =
    overview;
  const topicCount = Object.values(topics).reduce((sum, each) => sum + each, 0);
  const stock = Math.max(0, subscribers - agents);
  const waiting = [
    ...(held > 0 ? [`${count(held)} for a FeatureFlag`] : []),
    ...(queued > 0 ? [`${count(queued)} for a turn`] : []),
  ];
  const figures: Figure[] = [
    {
      name: "Subscribers",
      value: count(subscribers),
      note: `${count(agents)} by agents, ${count(stock)} by stock clients`,
    },
    {
      name: "Behind",
      value: count(late),
      note: "for more than a second",
      ...(late > 0 ? { level: "warn" } : {}),
    },
    {
      name: "Waiting",
      value: count(held + queued),
      note: waiting.length > 0 ? waiting.join(", ") : "each has been served",
    },
    {
      name: "Topics",
      value: count(topicCount),
      note: refused > 0 ? `${count(refused)} with refusals` : "none with refusals",
      ...(refused > 0 ? { level: "warn" } : {}),
    },
    {
      name: "Agents",
      value: count(programs.reduce((sum, { streams }) => sum + streams, 0)),
      note:
        programs.map(({ name, streams }) => `${count(streams)}\u00a0×\u00a0${name}`).join(", ") +
        (morePrograms > 0 ? `, and ${counted(morePrograms, "other version")}` : ""),
    },
    {
      name: "Connections",
      value: count(connections),
      note: `hold ${bytes(overview.peerBytes)} of ${bytes(overview.peerBudgetBytes)}`,
      ...(overview.peerBytes > 0.8 * overview.peerBudgetBytes ? { level: "warn" } : {}),
    },
  ];
  show(byId("figures"), figures, () =>
    figures.map(({ name, value, note, level }) =>
      element(
        "div",
        { class: level ?? "" },
        element("dt", {}, name),
        element("dd", { class: "value" }, value),
        element("dd", { class: "note" }, note),
      ),
    ),
  );
}
