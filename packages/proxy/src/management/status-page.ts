import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { chargeAnswer } from "@bunting/rpc";
import type { StatusReport, TopicReport } from "./status-report.js";

/** Who may see it: clients on the same machine or pod (also by `kubectl port-forward`), all, or none. */
export type StatusAudience = "loopback" | "all" | "off";

/** /status: JSON, or HTML for browsers. */
export function statusPage(report: () => StatusReport, audience: StatusAudience): RequestListener {
  return (request, response) => {
    const refusal = refusalOf(request, audience);
    if (refusal !== undefined) answer(response, 403, "text/plain; charset=utf-8", `${refusal}.\n`);
    else if (request.headers.accept?.includes("text/html") === true) {
      answer(response, 200, "text/html; charset=utf-8", page(report()));
    } else answer(response, 200, "application/json", `${JSON.stringify(report(), null, 1)}\n`);
  };
}

/** Why the status is not shown, and what to do. */
function refusalOf({ socket, headers }: IncomingMessage, audience: StatusAudience): string | undefined {
  if (audience === "all") return undefined;
  if (audience === "off") return "The status is off: start the proxy with --status=loopback or --status=all";
  const reason = forwardedReason({ socket, headers });
  return reason === undefined
    ? undefined
    : `${reason}: use kubectl port-forward, or start the proxy with --status=all`;
}

/**
 * Why a request may come from outside of the pod. The sidecar of a service mesh forwards the requests of other pods over loopback, so an address alone proves
 * nothing: `kubectl port-forward` connects from loopback to loopback, asks for localhost, and adds no header.
 */
function forwardedReason({
  socket,
  headers,
}: Pick<IncomingMessage, "socket" | "headers">): string | undefined {
  if (!isLoopback(socket.remoteAddress) || !isLoopback(socket.localAddress))
    return "The status is shown on loopback only";
  const added = Object.keys(headers).find((name) => proxyHeader.test(name));
  if (added !== undefined) return `The status is not shown through a proxy, such as one that adds ${added}`;
  if (!localHost.test(headers.host ?? ""))
    return "The status is shown to requests for localhost or a loopback address only";
  return undefined;
}

/** The addresses from which Istio forwards. */
const istio = /^(127\.0\.0\.6|::6)$/;

function isLoopback(address = ""): boolean {
  const plain = address.replace(/^::ffff:/, "");
  return (plain === "::1" || plain.startsWith("127.")) && !istio.test(plain);
}

/** Headers that Envoy, Linkerd and other proxies add, and clients do not. */
const proxyHeader = /^(?:forwarded|via|x-real-ip|x-request-id|x-forwarded-.*|x-envoy-.*|x-b3-.*|l5d-.*)$/;
const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  const bytes = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": type, "content-length": bytes, "cache-control": "no-store" });
  response.end(response.req.method === "HEAD" ? undefined : body);
  chargeAnswer(response, bytes);
}

function page(report: StatusReport): string {
  const { version, isReady, reason, watches, connections, subscribers, behind, topics } = report;
  const head = [
    "topic",
    "state",
    "version",
    "flags",
    "bytes",
    "age",
    "subscribers",
    "behind",
    "50 / 99 / 100 % after",
  ];
  const rows = topics.map(
    (topic) =>
      `<tr>${cells(topic)
        .map((cell) => `<td>${escaped(cell)}</td>`)
        .join("")}</tr>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>bunting-proxy</title>
<style>body{font:14px system-ui;margin:2em}table{border-collapse:collapse}td,th{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:left}</style>
<h1>bunting-proxy ${escaped(version)}</h1>
<p>${isReady ? "Ready" : "Not ready"}: ${escaped(reason)}. ${connections} connections, ${subscribers} subscribers, ${behind} of them behind.
Watches: ${watches.object} of FeatureFlags, ${watches.namespace} of namespaces, ${watches.cluster} of the cluster.</p>
<table><thead><tr>${head.map((cell) => `<th>${cell}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>
${rejected(topics)}</html>
`;
}

function rejected(topics: readonly TopicReport[]): string {
  const lines = topics.flatMap(({ topic, rejections = [] }) =>
    rejections.map(({ digest, flag, reason, subscribers }) => {
      const what = flag === undefined ? "the whole version" : `the flag ${flag}`;
      return `${topic} ${digest.slice(0, 8)}: ${subscribers} agents refuse ${what}: ${reason}`;
    }),
  );
  if (lines.length === 0) return "";
  return `<h2>Refused by agents</h2><ul>${lines.map((line) => `<li>${escaped(line)}</li>`).join("")}</ul>\n`;
}

function cells({ topic, state, staleReason, subscribers, newest }: TopicReport): string[] {
  const described = staleReason === undefined ? state : `${state}: ${staleReason}`;
  if (newest === undefined) return [topic, described, "", "", "", "", String(subscribers), "", ""];
  const { digest, resourceVersion, sequence, flags, bytes, ageSeconds, behind, afterMs } = newest;
  const version = resourceVersion ?? `${sequence} (${digest.slice(0, 8)})`;
  const after = ["50", "99", "100"].map((share) =>
    afterMs[share] === undefined ? "–" : `${afterMs[share]} ms`,
  );
  return [
    topic,
    described,
    version,
    String(flags),
    String(bytes),
    `${ageSeconds} s`,
    String(subscribers),
    String(behind),
    after.join(" / "),
  ];
}

/** Names of topics can't contain markup; reasons of errors can. */
function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
