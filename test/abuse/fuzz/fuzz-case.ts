/** The ports that a connection may go to. */
export const portNames = [
  "proxy-sync",
  "proxy-management",
  "agent-evaluation",
  "agent-sync",
  "agent-ofrep",
  "agent-management",
] as const;
export type PortName = (typeof portNames)[number];

/** How a document reaches a process: the proxy's directory, files of the agent, or the agent's connection to a hostile proxy. */
export const documentRoutes = [
  "directory-json",
  "directory-yaml",
  "file-json",
  "file-yaml",
  "flagd",
  "bunting",
] as const;
export type DocumentRoute = (typeof documentRoutes)[number];

/** One thing that the fuzzer does. */
export type FuzzCase =
  /** One connection and the bytes it sends; HTTP/1.1 or HTTP/2, as the bytes say. */
  | {
      readonly kind: "bytes";
      readonly port: PortName;
      readonly writes: readonly Buffer[];
      readonly endsAbruptly: boolean;
    }
  /** A valid HTTP/2 request, whose gRPC status is read. */
  | {
      readonly kind: "call";
      readonly port: PortName;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** A valid HTTP/1.1 request, whose status is read. */
  | {
      readonly kind: "http";
      readonly port: PortName;
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** A file, or a message of a stream. */
  | { readonly kind: "document"; readonly route: DocumentRoute; readonly bytes: Buffer };

/** A text for a file, from which `parseCases` makes the same cases; bytes are in hex. */
export function formatCases(cases: readonly FuzzCase[]): string {
  return `${JSON.stringify(cases, (_, value: unknown) => (isBufferJson(value) ? { hex: Buffer.from(value.data).toString("hex") } : value), 1)}\n`;
}

/** @param text what `formatCases` returned: it is trusted. */
export function parseCases(text: string): FuzzCase[] {
  return JSON.parse(text, (_, value: unknown) =>
    typeof value === "object" && value !== null && "hex" in value
      ? Buffer.from(String(value.hex), "hex")
      : value,
  ) as FuzzCase[];
}

/** What `JSON.stringify` makes of a Buffer before the replacer sees it. */
function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  return typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
}
