import type { StatusView } from "../src/management/status/status-view.js";
import { showConvergence } from "./chart.js";
import { byId, setText } from "./dom.js";
import { clockTime, duration } from "./format.js";
import { LateTable } from "./late.js";
import { showOverview } from "./overview.js";
import { now, setNow, updateSince } from "./since.js";
import { showLimits, showWatches } from "./tallies.js";
import { Topics } from "./topics.js";

/** The proxy sends something every second. */
const silenceMs = 4_000;
const retryMs = 2_000;
/** If another viewer has taken the place of this one. */
const crowdedMs = 15_000;

const address = "An address is that of a Pod: kubectl get pods -A -o wide names it.";
const late = new LateTable("late", `Longest first. ${address}`);
const left = new LateTable(
  "left",
  `They have gone without the newest flags and are not back. Latest first. ${address}`,
);
const topics = new Topics();
let events: EventSource | undefined;
let lastEventMs = -Infinity;
let hasData = false;
let overview: StatusView["overview"] | undefined;
let convergence: StatusView["convergence"] | undefined;

const sections: { readonly [Name in keyof StatusView]: (section: StatusView[Name]) => void } = {
  overview: (section) => {
    overview = section;
    setNow(section.nowMs);
    hasData = true;
    refresh();
    topics.update(section);
  },
  late: (section) => late.show(section),
  left: (section) => left.show(section),
  convergence: (section) => {
    convergence = section;
    showConvergence(section);
  },
  topics: (section) => topics.show(section),
  watches: showWatches,
  limits: showLimits,
};

function connect(): void {
  events?.close();
  const opened = new EventSource(location.pathname);
  events = opened;
  for (const [name, showSection] of Object.entries(sections)) {
    opened.addEventListener(name, (event: MessageEvent<string>) => {
      lastEventMs = performance.now();
      (showSection as (section: unknown) => void)(JSON.parse(event.data));
    });
  }
  opened.addEventListener("crowded", () => {
    opened.close();
    setTimeout(connect, crowdedMs);
  });
  opened.addEventListener("error", () => {
    // Else the browser tries again by itself.
    if (opened.readyState !== EventSource.CLOSED) return;
    setTimeout(() => {
      if (events === opened) connect();
    }, retryMs);
  });
}

function refresh(): void {
  if (overview !== undefined) showOverview(overview);
  updateSince();
}

/** Whether what is shown is what is. */
function showLive(): void {
  const isLive = performance.now() - lastEventMs < silenceMs;
  const line = byId("live");
  line.className = isLive ? "live on" : "live off";
  const lastSeen = hasData ? `, as of ${clockTime(lastSeenMs)}` : "";
  setText(line, isLive ? "Live" : `No connection to the proxy${lastSeen}`);
  if (isLive) lastSeenMs = Date.now();
  else if (hasData) document.title = `No connection · ${overview?.replica ?? ""}`;
  byId("live").title = isLive ? `Updated ${duration(performance.now() - lastEventMs)} ago` : "";
}
let lastSeenMs = Date.now();

connect();
setInterval(() => {
  showLive();
  // Without a connection nothing is known: times do not count up.
  if (performance.now() - lastEventMs < silenceMs && now() > 0) updateSince();
}, 500);
addEventListener("resize", () => {
  if (convergence !== undefined) showConvergence(convergence);
});
