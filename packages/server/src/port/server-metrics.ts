import { refusals, type RefusalReason } from "@bunting/http2/status";
import { counter, defineMetrics, label, observed } from "@bunting/runtime";
import type { PeerMemory } from "../limits/peer-memory.js";

const reasons = Object.keys(refusals) as RefusalReason[];
const meanings = Object.entries(refusals).map(([reason, meaning]) => `${reason} (${meaning})`);

const nobody = { bytes: 0, budgetBytes: 0, refusesNew: false };

/** The metrics of limits, the same for every service. `prefix` is that of their names; `service` is what the help calls the process. */
export const serverMetrics = (prefix: string, service: string) =>
  defineMetrics({
    peerMemory: observed<Pick<PeerMemory, "bytes" | "budgetBytes" | "refusesNew">>(nobody, [
      {
        name: `${prefix}_peer_memory_bytes`,
        help: `Memory that clients make the ${service} hold, as far as it is charged to their connections.`,
        of: ({ bytes }) => bytes,
      },
      {
        name: `${prefix}_peer_memory_budget_bytes`,
        help: `How much memory clients may make the ${service} hold (--peer-memory).`,
        of: ({ budgetBytes }) => budgetBytes,
      },
      {
        name: `${prefix}_refuses_new_connections`,
        help: "1 if a new connection was refused within the last 30 s, because --peer-memory is used up by clients that are served.",
        of: ({ refusesNew }) => (refusesNew ? 1 : 0),
      },
    ]),
    requestRefused: counter(
      `${prefix}_requests_refused_total`,
      `Requests refused or ended early because of a limit, by reason: ${meanings.join(", ")}.`,
      label("reason", ...reasons),
    ),
    /** All connections may be held in one turn. */
    readingHeld: counter(
      `${prefix}_reading_held_total`,
      "Times that a connection was not read until a later turn of the event loop, because it or all together had made as many requests as are taken in one; none is refused for that.",
    ),
    streamLimitReached: counter(
      `${prefix}_stream_limit_total`,
      `Times that a connection came to have as many streams as it may; its client's further ones wait, unseen by the ${service}.`,
    ),
  });
