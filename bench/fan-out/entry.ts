import type { MessageKind } from "../load/message-head.js";
import type { ProtocolName } from "../load/subscriber-protocol.js";
import type { ContenderName } from "../servers/contender.js";

/** A server, and the subscribers with which it is measured. */
export interface Entry {
  /** Its name in the tables. */
  readonly name: string;
  readonly server: ContenderName;
  readonly protocol: ProtocolName;
  readonly windowBytes?: number;
  /** Its subscribers connect by TLS. */
  readonly usesTls?: boolean;
  /** They resume a session that another connection has begun. */
  readonly resumesTls?: boolean;
  /** The form that every payload of a round must have for the run to count. */
  readonly form: MessageKind;
}

const document = { protocol: "flagd", form: "document" } as const;
const wideWindowBytes = 2 ** 30;

/** By the names that `--servers` takes. */
export const entries = {
  floor: { ...document, name: "floor: node:net", server: "floor" },
  "wide-floor": {
    ...document,
    name: "floor without flow control",
    server: "floor",
    windowBytes: wideWindowBytes,
  },
  plain: { ...document, name: "plain node:http2", server: "plain" },
  yielding: { ...document, name: "plain node:http2, yield every 256", server: "yielding" },
  naive: { ...document, name: "naive grpc-js", server: "naive" },
  publish: { ...document, name: "bunting-proxy, from publish", server: "publish" },
  rename: { ...document, name: "bunting-proxy, from rename", server: "rename" },
  "rename-tls": {
    ...document,
    name: "bunting-proxy, from rename, TLS",
    server: "rename-tls",
    usesTls: true,
  },
  "rename-tls-resumed": {
    ...document,
    name: "bunting-proxy, from rename, TLS, resumed",
    server: "rename-tls",
    usesTls: true,
    resumesTls: true,
  },
  "rename-rsa": {
    ...document,
    name: "bunting-proxy, from rename, TLS with RSA-2048",
    server: "rename-rsa",
    usesTls: true,
  },
  "rename-mutual": {
    ...document,
    name: "bunting-proxy, from rename, TLS with client certificates",
    server: "rename-mutual",
    usesTls: true,
  },
  gzip: {
    name: "bunting-proxy, from publish, gzip",
    server: "publish",
    protocol: "flagd+gzip",
    form: "gzip",
  },
  "rename-bunting": {
    name: "bunting-proxy, from rename, bunting.sync.v1",
    server: "rename",
    protocol: "bunting",
    form: "delta",
  },
  bunting: {
    name: "bunting-proxy, from publish, bunting.sync.v1",
    server: "publish",
    protocol: "bunting",
    form: "delta",
  },
} as const satisfies Record<string, Entry>;

export type EntryName = keyof typeof entries;
