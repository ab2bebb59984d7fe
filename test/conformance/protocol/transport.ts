import { readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import tls from "node:tls";
import type { GoldenCase, PortName } from "./golden-case.js";

/** How clients reach the ports for evaluation and flagd.sync.v1. The other ports are plain TCP, as in flagd. */
export type TransportName = "TCP" | "unix sockets" | "TLS";

export type Alpn = "h2" | "http/1.1";

/** Opens a connection to a port of an agent; what is written before it is open waits. */
export type Connect = (alpn: Alpn) => net.Socket;

const certificates = path.join(import.meta.dirname, "../../fixtures/tls");
const inCertificates = (name: string): string => path.join(certificates, name);

/** The ports that `--socket-path`, `--sync-socket-path` and TLS concern. */
const socketNames: Partial<Record<PortName, string>> = { evaluation: "evaluation.sock", sync: "sync.sock" };

/** The options of an agent that is started in this directory. */
export function transportArgs(transport: TransportName, directory: string): readonly string[] {
  switch (transport) {
    case "TCP":
      return [];
    case "unix sockets":
      return [
        ["--socket-path", path.join(directory, "evaluation.sock")],
        ["--sync-socket-path", path.join(directory, "sync.sock")],
      ].flat();
    case "TLS":
      return ["-c", inCertificates("server1.crt"), "-k", inCertificates("server1.key")];
  }
}

export function connectTo(
  transport: TransportName,
  name: PortName,
  { port, directory }: { readonly port: number; readonly directory: string },
): Connect {
  const socketName = socketNames[name];
  const tcp = { port, host: "127.0.0.1", noDelay: true };
  if (transport === "TCP" || socketName === undefined) return () => net.connect(tcp);
  if (transport === "unix sockets") return () => net.connect(path.join(directory, socketName));
  const ca = readFileSync(inCertificates("ca1.crt"));
  return (alpn) => tls.connect({ ...tcp, ca, ALPNProtocols: [alpn] });
}

/** The cases that go over a transport, of which one world in six has all classes, each over all versions of HTTP that it has. */
export function casesOver(transport: TransportName, cases: readonly GoldenCase[]): readonly GoldenCase[] {
  if (transport === "TCP") return cases;
  const over = cases.filter((one) => goesOver(transport, one));
  return process.env["BUNTING_WHOLE_CORPUS"] === "1" ? over : representatives(over);
}

function goesOver(transport: TransportName, { request, before = [] }: GoldenCase): boolean {
  if (transport === "TLS" && request.http === "h2c-upgrade") return false;
  // When keep-alives are sent depends on the clock, not on the connection: they take 20 s over any.
  if (request.stream?.ms !== undefined) return false;
  return [request, ...before].some(({ port }) => socketNames[port] !== undefined);
}

/** The cases of few worlds: a world costs a process, and time for edits. */
function representatives(cases: readonly GoldenCase[]): readonly GoldenCase[] {
  const kindOf = (one: GoldenCase): string => `${one.class} ${one.request.http}`;
  const missing = new Set(cases.map(kindOf));
  const inWorlds = new Map<number, GoldenCase[]>();
  for (const one of cases) inWorlds.set(one.world, [...(inWorlds.get(one.world) ?? []), one]);
  const missingIn = (world: readonly GoldenCase[]): number =>
    new Set(world.map(kindOf).filter((kind) => missing.has(kind))).size;
  const chosen: GoldenCase[] = [];
  while (missing.size > 0) {
    const next = [...inWorlds.values()].reduce((a, b) => (missingIn(b) > missingIn(a) ? b : a));
    for (const one of next) missing.delete(kindOf(one));
    chosen.push(...next);
  }
  return chosen;
}
